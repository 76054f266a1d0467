"""Low-rank adaptation of a pretrained MLP and its attention; merged at the end."""
import math
import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrize


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 4, alpha: int = 8, dropout: float = 0.05):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scaling = alpha / r
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.base(x) + (self.dropout(x) @ self.A.T @ self.B.T) * self.scaling

    @torch.no_grad()
    def merge(self):
        self.base.weight += self.B @ self.A * self.scaling
        return self.base


class LoRAParametrization(nn.Module):
    def __init__(self, shape, rank=2):
        super().__init__()
        self.a = nn.Parameter(nn.init.normal_(torch.empty(rank, shape[1]), std=0.02))
        self.b = nn.Parameter(torch.zeros(shape[0], rank))

    def forward(self, W):
        return W + self.b @ self.a


def replace_linear(module, names):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear) and name in names:
            setattr(module, name, LoRALinear(child))
        else:
            replace_linear(child, names)


class Model(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d, d) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.head = nn.Linear(d, 1)

    def forward(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        x = x + self.o_proj(nn.functional.scaled_dot_product_attention(q, k, v))
        return self.head((x + self.mlp(x)).mean(1)).squeeze(-1)


def run(model, x, y, params, steps, lr, tag):
    optimizer = torch.optim.AdamW(params, lr=lr)
    for _ in range(steps):
        loss = nn.functional.huber_loss(model(x), y, delta=0.5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{tag} {loss.item():.6f}")


if __name__ == "__main__":
    torch.manual_seed(10)
    rng = np.random.default_rng(10)
    x = torch.from_numpy(rng.standard_normal((32, 6, 24), dtype=np.float32))
    w = torch.from_numpy(rng.standard_normal(24, dtype=np.float32))
    y1, y2 = torch.tanh(x.mean(1) @ w), torch.tanh(x.max(1).values @ w.flip(0))
    model = Model()
    run(model, x, y1, model.parameters(), 5, 1e-3, "pretrain")
    model.requires_grad_(False)
    replace_linear(model, {"q_proj", "v_proj"})
    parametrize.register_parametrization(model.mlp[0], "weight", LoRAParametrization(model.mlp[0].weight.shape))
    trainable = [p for p in model.parameters() if p.requires_grad]
    print(sum(p.numel() for p in trainable), "of", sum(p.numel() for p in model.parameters()), "parameters")
    run(model, x, y2, trainable, 20, 1e-2, "loss")
    model.eval()
    before = model(x)
    model.q_proj, model.v_proj = model.q_proj.merge(), model.v_proj.merge()
    parametrize.remove_parametrizations(model.mlp[0], "weight")
    print(torch.allclose(before, model(x), atol=1e-4), len(list(model.state_dict())))
