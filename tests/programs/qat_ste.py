"""Quantisation-aware training with straight-through estimators."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class FakeQuantOp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, num_bits=8, min_val=None, max_val=None):
        scale, zero_point = calcScaleZeroPoint(min_val, max_val, num_bits)
        q = (zero_point + x / scale).clamp_(0., 2. ** num_bits - 1.).round_().byte()
        return scale * (q.float() - zero_point)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None, None


def calcScaleZeroPoint(min_val, max_val, num_bits=8):
    qmin, qmax = 0., 2. ** num_bits - 1.
    scale = (max_val - min_val) / (qmax - qmin)
    zero_point = int(torch.clamp(qmin - min_val / scale, qmin, qmax))
    return scale, zero_point


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g.clone()


class Observer(nn.Module):
    def __init__(self, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer('min_val', torch.tensor(0.))
        self.register_buffer('max_val', torch.tensor(1.))
        self.enabled = False

    def forward(self, x):
        if self.training:
            low, high = x.detach().min(), x.detach().max()
            self.min_val.mul_(1 - self.momentum).add_(self.momentum * low)
            self.max_val.mul_(1 - self.momentum).add_(self.momentum * high)
        if self.enabled:
            return FakeQuantOp.apply(x, 8, self.min_val, self.max_val)
        return x


class LSQLinear(nn.Linear):
    """Learned step size (Esser et al., 2020)."""

    def __init__(self, *args, bits=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.Qn, self.Qp = -2 ** (bits - 1), 2 ** (bits - 1) - 1
        self.step = nn.Parameter(2 * self.weight.detach().abs().mean() / self.Qp ** 0.5)

    def forward(self, x):
        g = 1.0 / (self.weight.numel() * self.Qp) ** 0.5
        s = (self.step - self.step * g).detach() + self.step * g
        w = RoundSTE.apply(torch.clamp(self.weight / s, self.Qn, self.Qp)) * s
        return F.linear(x, w, self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.q1, self.q2 = Observer(), Observer()
        self.fc1 = LSQLinear(128, 32)
        self.fc2 = LSQLinear(32, 10, bits=8)

    def forward(self, x):
        x = self.q1(F.relu(self.bn(self.conv1(x))))
        x = F.max_pool2d(x, 2, 2).view(-1, 128)
        return self.fc2(self.q2(F.relu(self.fc1(x))))


torch.manual_seed(12)
d = load_digits()
x, y = torch.tensor(d.images).float().unsqueeze_(1) / 16., torch.tensor(d.target)
net = Net()
optimizer = torch.optim.SGD([{'params': [p for n, p in net.named_parameters() if 'step' not in n]},
                             {'params': [p for n, p in net.named_parameters() if 'step' in n], 'lr': 1e-3}], lr=0.05, momentum=0.9)
for i in range(20):
    if i == 8:
        net.q1.enabled = net.q2.enabled = True
    xb, yb = x[i * 64:(i + 1) * 64], y[i * 64:(i + 1) * 64]
    optimizer.zero_grad()
    loss = F.cross_entropy(net(xb), yb)
    loss.backward()
    optimizer.step()
    print('loss %.6f' % loss.item())
net.eval()
print('acc %.2f' % (net(x).argmax(1) == y).float().mean())
