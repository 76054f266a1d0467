import argparse
import numpy as np
import torch
from torch import nn
from torch.autograd import Function
from sklearn.datasets import load_breast_cancer

torch.set_default_dtype(torch.float64)


def _make_ix_like(input, dim=0):
    d = input.size(dim)
    rho = torch.arange(1, d + 1, device=input.device, dtype=input.dtype)
    view = [1] * input.dim()
    view[0] = -1
    return rho.view(view).transpose(0, dim)


class SparsemaxFunction(Function):
    @staticmethod
    def forward(ctx, input, dim=-1):
        ctx.dim = dim
        max_val, _ = input.max(dim=dim, keepdim=True)
        input -= max_val  # same numerical stability trick as for softmax
        tau, supp_size = SparsemaxFunction._threshold_and_support(input, dim=dim)
        output = torch.clamp(input - tau, min=0)
        ctx.save_for_backward(supp_size, output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        supp_size, output = ctx.saved_tensors
        dim = ctx.dim
        grad_input = grad_output.clone()
        grad_input[output == 0] = 0
        v_hat = grad_input.sum(dim=dim) / supp_size.to(output.dtype).squeeze()
        v_hat = v_hat.unsqueeze(dim)
        grad_input = torch.where(output != 0, grad_input - v_hat, grad_input)
        return grad_input, None

    @staticmethod
    def _threshold_and_support(input, dim=-1):
        input_srt, _ = torch.sort(input, descending=True, dim=dim)
        input_cumsum = input_srt.cumsum(dim) - 1
        rhos = _make_ix_like(input, dim)
        support = rhos * input_srt > input_cumsum
        support_size = support.sum(dim=dim).unsqueeze(dim)
        tau = input_cumsum.gather(dim, support_size - 1)
        tau /= support_size.to(input.dtype)
        return tau, support_size


sparsemax = SparsemaxFunction.apply


class GBN(nn.Module):
    """Ghost Batch Normalization https://arxiv.org/abs/1705.08741"""

    def __init__(self, input_dim, virtual_batch_size=32, momentum=0.02):
        super(GBN, self).__init__()
        self.virtual_batch_size = virtual_batch_size
        self.bn = nn.BatchNorm1d(input_dim, momentum=momentum)

    def forward(self, x):
        chunks = x.chunk(int(np.ceil(x.shape[0] / self.virtual_batch_size)), 0)
        res = [self.bn(x_) for x_ in chunks]
        return torch.cat(res, dim=0)


class GLU(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.fc, self.bn, self.o = nn.Linear(i, 2 * o, bias=False), GBN(2 * o), o

    def forward(self, x):
        x = self.bn(self.fc(x))
        return torch.mul(x[:, :self.o], torch.sigmoid(x[:, self.o:]))


class TabNet(nn.Module):
    def __init__(self, d, n_d=8, n_a=8, steps=3, gamma=1.3):
        super().__init__()
        self.n_d, self.gamma = n_d, gamma
        self.initial_bn = nn.BatchNorm1d(d, momentum=0.01)
        self.shared = GLU(d, n_d + n_a)
        self.own = nn.ModuleList([GLU(n_d + n_a, n_d + n_a) for _ in range(steps + 1)])
        self.att = nn.ModuleList([nn.Sequential(nn.Linear(n_a, d, bias=False), GBN(d)) for _ in range(steps)])
        self.final = nn.Linear(n_d, 2, bias=False)

    def forward(self, x):
        x = self.initial_bn(x)
        prior = torch.ones(x.shape)
        M_loss, out = 0, 0
        h = self.shared(x)
        att = ((h + self.own[0](h)) * np.sqrt(0.5))[:, self.n_d:]
        for own, attentive in zip(self.own[1:], self.att):
            M = sparsemax(attentive(att) * prior, -1)
            M_loss += torch.mean(torch.sum(torch.mul(M, torch.log(M + 1e-15)), dim=1))
            prior = torch.mul(self.gamma - M, prior)
            h = self.shared(torch.mul(M, x))
            h = (h + own(h)) * np.sqrt(0.5)
            out = out + torch.relu(h[:, :self.n_d])
            att = h[:, self.n_d:]
        return self.final(out), M_loss / len(self.att)


torch.manual_seed(0)
X, Y = load_breast_cancer(return_X_y=True)
X, Y = torch.from_numpy(X), torch.from_numpy(Y)
net = TabNet(X.shape[1])
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for i in range(7):
    index = torch.randint(len(X), (128,))
    output, M_loss = net(X[index])
    loss = nn.functional.cross_entropy(output, Y[index]) - 1e-3 * M_loss
    for param in net.parameters():
        param.grad = None
    loss.backward()
    opt.step()
    print("loss %.10f" % loss.cpu().detach().numpy().item())
