"""Distil a small MobileNet from a wide teacher: soft targets, and features that forward hooks collect."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Subset, TensorDataset, WeightedRandomSampler


def _make_divisible(v, divisor, min_value=None):
    if min_value is None:
        min_value = divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    return new_v + divisor if new_v < 0.9 * v else new_v


class SELayer(nn.Module):
    def __init__(self, channel, reduction=4):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(nn.Linear(channel, _make_divisible(channel // reduction, 8)), nn.ReLU(inplace=True),
                                nn.Linear(_make_divisible(channel // reduction, 8), channel), nn.Hardsigmoid())

    def forward(self, x):
        b, c, _, _ = x.size()
        y = self.avg_pool(x).view(b, c)
        return x * self.fc(y).view(b, c, 1, 1)


class InvertedResidual(nn.Module):
    def __init__(self, inp, oup, stride, expand, use_se):
        super().__init__()
        hidden = int(round(inp * expand))
        self.identity = stride == 1 and inp == oup
        self.conv = nn.Sequential(
            nn.Conv2d(inp, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.Hardswish(),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden),
            SELayer(hidden) if use_se else nn.Identity(), nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, oup, 1, bias=False), nn.BatchNorm2d(oup))

    def forward(self, x):
        return x + self.conv(x) if self.identity else self.conv(x)


def student():
    return nn.Sequential(nn.Conv2d(1, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(), InvertedResidual(8, 8, 1, 2, True),
                         InvertedResidual(8, 16, 2, 2, False), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def teacher():
    return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.PReLU(32), nn.Conv2d(32, 16, 3, 2, 1), nn.PReLU(), nn.Flatten(), nn.Dropout(), nn.Linear(256, 10))


features = {}


def keep(name):
    def hook(module, inputs, output):
        features[name] = output
    return hook


torch.manual_seed(6)
digits = load_digits()
full = TensorDataset(torch.from_numpy((digits.images / 16).astype(np.float32))[:, None], torch.from_numpy(digits.target))
train = Subset(full, range(1000))
weights = 1.0 / np.bincount(digits.target[:1000])[digits.target[:1000]]
loader = DataLoader(train, batch_size=50, sampler=WeightedRandomSampler(weights, 600))
T, S = teacher(), student()
opt_t = torch.optim.SGD(T.parameters(), lr=0.1, momentum=0.9)
for x, y in loader:
    opt_t.zero_grad()
    loss = F.cross_entropy(T(x), y)
    loss.backward()
    opt_t.step()
    print('teacher %.4f' % loss.item())
T.eval()
for p in T.parameters():
    p.requires_grad = False
handles = [T[2].register_forward_hook(keep('t')), S[4].register_forward_hook(keep('s'))]
norms = []
S[0].register_full_backward_hook(lambda m, gi, go: norms.append(go[0].norm().item()))
optimizer = torch.optim.Adagrad(S.parameters(), lr=0.02)
temperature, alpha = 4.0, 0.7
for x, y in loader:
    soft = F.log_softmax(S(x) / temperature, dim=1)
    with torch.no_grad():
        target = F.softmax(T(x) / temperature, dim=1)
    kd = nn.KLDivLoss(reduction='batchmean')(soft, target) * temperature ** 2
    attention = [F.normalize(features[k].pow(2).mean(1).flatten(1)) for k in 'ts']
    loss = alpha * kd + (1 - alpha) * F.cross_entropy(soft * temperature, y) + 10 * (attention[0] - attention[1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('loss %.6f' % loss.item())
for h in handles:
    h.remove()
print(len(norms), np.isfinite(norms).all())
