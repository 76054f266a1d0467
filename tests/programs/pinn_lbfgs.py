import numpy as np
import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(1234)
np.random.seed(1234)


class PINN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(layers[i], layers[i + 1]) for i in range(len(layers) - 1)])
        self.activation = nn.Tanh()
        self.loss_function = nn.MSELoss(reduction='mean')
        self.nu = nn.Parameter(torch.tensor([0.05]))
        for lin in self.linears:
            nn.init.xavier_normal_(lin.weight.data, gain=1.0)
            nn.init.zeros_(lin.bias.data)

    def forward(self, x, t):
        a = torch.cat([x, t], dim=1)
        for lin in self.linears[:-1]:
            a = self.activation(lin(a))
        return self.linears[-1](a)

    def residual(self, x, t):
        """u_t + u u_x - nu u_xx"""
        x = x.clone().requires_grad_(True)
        t = t.clone().requires_grad_(True)
        u = self.forward(x, t)
        u_t = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, torch.ones_like(u), retain_graph=True, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
        return u_t + u * u_x - self.nu * u_xx


x0 = torch.linspace(-1, 1, 40).view(-1, 1)
t0 = torch.zeros_like(x0)
u0 = -torch.sin(np.pi * x0)
tb = torch.rand(40, 1)
xb = torch.where(torch.rand(40, 1) > 0.5, 1.0, -1.0)
xf = torch.from_numpy(np.random.uniform(-1, 1, (200, 1)))
tf = torch.from_numpy(np.random.uniform(0, 1, (200, 1)))

model = PINN([2, 20, 20, 1])


def loss_fn():
    loss_u = model.loss_function(model(x0, t0), u0) + (model(xb, tb) ** 2).mean()
    loss_f = (model.residual(xf, tf) ** 2).mean()
    return loss_u + loss_f


adam = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(8):
    adam.zero_grad()
    loss = loss_fn()
    loss.backward()
    adam.step()
    print('loss %.12f' % loss.item())

lbfgs = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=3, history_size=10, line_search_fn='strong_wolfe')


def closure():
    lbfgs.zero_grad()
    loss = loss_fn()
    loss.backward()
    return loss


for it in range(5):
    loss = lbfgs.step(closure)
    print('loss %.12f' % loss.item())
