import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

torch.manual_seed(42)
rng = np.random.default_rng(42)
num_models, n = 5, 128
x = torch.from_numpy(rng.normal(size=(n, 6)).astype(np.float32))
w = torch.from_numpy(rng.normal(size=(6, 3)).astype(np.float32))
y = (x @ w + 0.1 * torch.from_numpy(rng.normal(size=(n, 3)).astype(np.float32))).argmax(-1)


class SimpleMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 3)

    def forward(self, x):
        x = x.flatten(1)
        x = F.relu(self.fc1(x))
        x = F.silu(self.fc2(x))
        return self.fc3(x)


models = [SimpleMLP() for _ in range(num_models)]
params, buffers = stack_module_state(models)
base_model = copy.deepcopy(models[0]).to("meta")


def compute_loss(params, buffers, batch, targets):
    logits = functional_call(base_model, (params, buffers), (batch,))
    return F.cross_entropy(logits, targets)


step_fn = vmap(grad_and_value(compute_loss), in_dims=(0, 0, 0, 0))
velocity = {k: torch.zeros_like(v) for k, v in params.items()}
minibatches = torch.stack([torch.from_numpy(rng.permutation(n)[:64]) for _ in range(num_models)])

for step in range(20):
    grads, losses = step_fn(params, buffers, x[minibatches], y[minibatches])
    with torch.no_grad():
        for k in params:
            velocity[k] = 0.9 * velocity[k] + grads[k]
            params[k] = params[k].detach() - 0.05 * velocity[k]
    print("loss %.6f" % losses.mean().item())

with torch.no_grad():
    votes = vmap(lambda p, b: functional_call(base_model, (p, b), (x,)), in_dims=(0, 0))(params, buffers)
print("ensemble accuracy", (votes.softmax(-1).mean(0).argmax(-1) == y).float().mean().item())
