# -*- coding: utf-8 -*-
# two layer net, 2017 edition
import numpy as np
import torch
from torch.autograd import Variable

torch.manual_seed(1234)
np.random.seed(1234)
dtype = torch.FloatTensor
# dtype = torch.cuda.FloatTensor # Uncomment this to run on GPU

N, D_in, H, D_out = 64, 100, 50, 10

x = Variable(torch.from_numpy(np.random.randn(N, D_in)).type(dtype), requires_grad=False)
y = Variable(torch.from_numpy(np.random.randn(N, D_out)).type(dtype), requires_grad=False)

w1 = Variable(torch.randn(D_in, H).type(dtype), requires_grad=True)
w2 = Variable(torch.randn(H, D_out).type(dtype), requires_grad=True)
momentum = {}

learning_rate = 1e-6
for t in range(30):
    y_pred = x.mm(w1).clamp(min=0).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    print("loss %.6f" % loss.data.item())

    for name, w in (("w1", w1), ("w2", w2)):
        if name not in momentum:
            momentum[name] = torch.zeros(w.size())
        momentum[name].mul_(0.9).add_(w.grad.data)
        w.data -= learning_rate * momentum[name]
        w.grad.data.zero_()

print(type(w1), w1.data.type(), w1.size(), w1.is_leaf)
print(torch.norm(w1.data).item() > 0, w2.grad.data.sum())
