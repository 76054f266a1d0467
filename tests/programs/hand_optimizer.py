import math
import numpy as np
import torch
from torch.optim.optimizer import Optimizer


class AdaBound(Optimizer):
    """AdaBound, as in https://openreview.net/forum?id=Bkg3g2R9FX"""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), final_lr=0.1, gamma=1e-3, eps=1e-8, weight_decay=0):
        if not 0.0 <= lr:
            raise ValueError("Invalid learning rate: {}".format(lr))
        defaults = dict(lr=lr, betas=betas, final_lr=final_lr, gamma=gamma, eps=eps, weight_decay=weight_decay)
        super(AdaBound, self).__init__(params, defaults)
        self.base_lrs = list(map(lambda group: group['lr'], self.param_groups))

    def step(self, closure=None):
        loss = None
        if closure is not None:
            loss = closure()
        for group, base_lr in zip(self.param_groups, self.base_lrs):
            for p in group['params']:
                if p.grad is None:
                    continue
                grad = p.grad.data
                if grad.is_sparse:
                    raise RuntimeError('no sparse gradients')
                state = self.state[p]
                if len(state) == 0:
                    state['step'] = 0
                    state['exp_avg'] = torch.zeros_like(p.data)
                    state['exp_avg_sq'] = torch.zeros_like(p.data)
                exp_avg, exp_avg_sq = state['exp_avg'], state['exp_avg_sq']
                beta1, beta2 = group['betas']
                state['step'] += 1
                if group['weight_decay'] != 0:
                    grad = grad.add(p.data, alpha=group['weight_decay'])
                exp_avg.mul_(beta1).add_(grad, alpha=1 - beta1)
                exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                denom = exp_avg_sq.sqrt().add_(group['eps'])
                bias_correction1 = 1 - beta1 ** state['step']
                bias_correction2 = 1 - beta2 ** state['step']
                step_size = group['lr'] * math.sqrt(bias_correction2) / bias_correction1
                final_lr = group['final_lr'] * group['lr'] / base_lr
                lower_bound = final_lr * (1 - 1 / (group['gamma'] * state['step'] + 1))
                upper_bound = final_lr * (1 + 1 / (group['gamma'] * state['step']))
                step_size = torch.full_like(denom, step_size)
                step_size.div_(denom).clamp_(lower_bound, upper_bound).mul_(exp_avg)
                p.data.add_(-step_size)
        return loss


torch.manual_seed(7)
np.random.seed(7)
X = torch.Tensor(np.random.uniform(-3, 3, (256, 1)))
Y = torch.sin(2 * X) + 0.1 * torch.Tensor(np.random.randn(256, 1))
net = torch.nn.Sequential(torch.nn.Linear(1, 40), torch.nn.Tanh(), torch.nn.Linear(40, 40), torch.nn.Tanh(), torch.nn.Linear(40, 1))
opt = AdaBound([{'params': net[0].parameters(), 'lr': 5e-3}, {'params': list(net[2].parameters()) + list(net[4].parameters())}], lr=1e-2, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.97)
crit = torch.nn.MSELoss()


def closure():
    opt.zero_grad()
    loss = crit(net(X), Y)
    loss.backward()
    return loss


for it in range(30):
    loss = opt.step(closure)
    sched.step()
    print('loss {:.6f}'.format(float(loss)))
print(len(opt.state), sorted(opt.state[net[0].weight]))
