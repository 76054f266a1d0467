"""Fourier neural operator in one dimension: the antiderivative of random functions."""
import operator
from functools import reduce
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)


class SpectralConv1d(nn.Module):
    def __init__(self, in_channels, out_channels, modes1):
        super(SpectralConv1d, self).__init__()
        """
        1D Fourier layer. It does FFT, linear transform, and Inverse FFT.
        """
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.modes1 = modes1  # Number of Fourier modes to multiply, at most floor(N/2) + 1
        self.scale = (1 / (in_channels*out_channels))
        self.weights1 = nn.Parameter(self.scale * torch.rand(in_channels, out_channels, self.modes1, dtype=torch.cfloat))

    # Complex multiplication
    def compl_mul1d(self, input, weights):
        # (batch, in_channel, x ), (in_channel, out_channel, x) -> (batch, out_channel, x)
        return torch.einsum("bix,iox->box", input, weights)

    def forward(self, x):
        batchsize = x.shape[0]
        # Compute Fourier coeffcients up to factor of e^(- something constant)
        x_ft = torch.fft.rfft(x)
        # Multiply relevant Fourier modes
        out_ft = torch.zeros(batchsize, self.out_channels, x.size(-1)//2 + 1, device=x.device, dtype=torch.cfloat)
        out_ft[:, :, :self.modes1] = self.compl_mul1d(x_ft[:, :, :self.modes1], self.weights1)
        # Return to physical space
        x = torch.fft.irfft(out_ft, n=x.size(-1))
        return x


class FNO1d(nn.Module):
    def __init__(self, modes, width):
        super(FNO1d, self).__init__()
        self.fc0 = nn.Linear(2, width)
        self.conv0, self.conv1 = SpectralConv1d(width, width, modes), SpectralConv1d(width, width, modes)
        self.w0, self.w1 = nn.Conv1d(width, width, 1), nn.Conv1d(width, width, 1)
        self.fc1, self.fc2 = nn.Linear(width, 32), nn.Linear(32, 1)

    def forward(self, x):
        grid = self.get_grid(x.shape, x.device)
        x = torch.cat((x, grid), dim=-1)
        x = self.fc0(x).permute(0, 2, 1)
        x = F.gelu(self.conv0(x) + self.w0(x))
        x = self.conv1(x) + self.w1(x)
        x = x.permute(0, 2, 1)
        return self.fc2(F.gelu(self.fc1(x)))

    def get_grid(self, shape, device):
        batchsize, size_x = shape[0], shape[1]
        gridx = torch.tensor(np.linspace(0, 1, size_x), dtype=torch.float)
        return gridx.reshape(1, size_x, 1).repeat([batchsize, 1, 1]).to(device)


class LpLoss(object):
    def __init__(self, p=2):
        self.p = p

    def __call__(self, x, y):
        n = x.size()[0]
        diff_norms = torch.norm(x.reshape(n, -1) - y.reshape(n, -1), self.p, 1)
        return torch.sum(diff_norms/torch.norm(y.reshape(n, -1), self.p, 1))


def count_params(model):
    c = 0
    for p in list(model.parameters()):
        c += reduce(operator.mul, list(p.size() + (2,) if p.is_complex() else p.size()))
    return c


s, n = 64, 80
k = np.arange(1, 6)
coef = np.random.randn(n, 2, 5) / k
t = np.linspace(0, 1, s, endpoint=False)
u = coef[:, 0] @ np.sin(2 * np.pi * k[:, None] * t) + coef[:, 1] @ np.cos(2 * np.pi * k[:, None] * t)
v = np.cumsum(u, 1) / s * 4
x_train, y_train = torch.from_numpy(u).float().unsqueeze(-1), torch.from_numpy(v).float()
model = FNO1d(8, 12)
print(count_params(model))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
myloss = LpLoss()
for ep in range(4):
    for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_train, y_train), batch_size=20, shuffle=True):
        optimizer.zero_grad()
        out = model(x)
        loss = myloss(out.view(20, -1), y.view(20, -1))
        loss.backward()
        optimizer.step()
        print('loss %.6f' % (loss.item() / 20))
    scheduler.step()
with torch.no_grad():
    power = torch.fft.rfft(model(x_train).squeeze(-1)).abs().pow(2).mean(0)
    print(power.dtype, torch.view_as_real(model.conv0.weights1).shape, power.shape)
