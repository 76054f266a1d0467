"""Neural ODE on a spiral: Runge-Kutta of order four, gradients by the adjoint method."""
import numpy as np
import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


def rk4(f, y, t0, t1, steps=4):
    h = (t1 - t0) / steps
    t = t0
    for _ in range(steps):
        k1 = f(t, y)
        k2 = f(t + h / 2, tuple(a + h / 2 * b for a, b in zip(y, k1)))
        k3 = f(t + h / 2, tuple(a + h / 2 * b for a, b in zip(y, k2)))
        k4 = f(t + h, tuple(a + h * b for a, b in zip(y, k3)))
        y = tuple(a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4))
        t = t + h
    return y


class ODEAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, ts, flat_params):
        with torch.no_grad():
            ys = [y0]
            for a, b in zip(ts[:-1], ts[1:]):
                ys.append(rk4(lambda t, y: (func(t, y[0]),), (ys[-1],), a, b)[0])
            ys = torch.stack(ys)
        ctx.func = func
        ctx.save_for_backward(ts, ys, flat_params)
        return ys

    @staticmethod
    def backward(ctx, grad_ys):
        ts, ys, flat_params = ctx.saved_tensors
        func = ctx.func
        params = tuple(func.parameters())

        def augmented(t, state):
            y, a, _ = state
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                f = func(t, y)
                vjp_y, *vjp_p = torch.autograd.grad(f, (y,) + params, -a, allow_unused=True, retain_graph=True)
            vjp_p = torch.cat([torch.zeros_like(p).flatten() if g is None else g.flatten() for g, p in zip(vjp_p, params)])
            return f.detach(), vjp_y, vjp_p

        a = grad_ys[-1]
        ap = torch.zeros_like(flat_params)
        for i in range(len(ts) - 1, 0, -1):
            _, a, ap = rk4(augmented, (ys[i], a, ap), ts[i], ts[i - 1])
            a = a + grad_ys[i - 1]
        return None, a, None, ap


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 30), nn.Tanh(), nn.Linear(30, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y ** 3)


true_A = np.array([[-0.1, 2.0], [-2.0, -0.1]])
t = torch.linspace(0.0, 1.0, 6)
true_y = [np.array([[2.0, 0.0], [1.0, 1.0], [0.5, -1.5]])]
for dt in np.diff(t.numpy()):
    y = true_y[-1]
    for _ in range(50):
        y = y + dt / 50 * (y ** 3) @ true_A
    true_y.append(y)
true_y = torch.tensor(np.stack(true_y))

func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
for itr in range(12):
    optimizer.zero_grad()
    flat = torch.cat([p.flatten() for p in func.parameters()])
    pred_y = ODEAdjoint.apply(func, true_y[0], t, flat)
    loss = torch.mean(torch.abs(pred_y - true_y))
    loss.backward()
    optimizer.step()
    print("loss {:.12f}".format(loss.item()))
