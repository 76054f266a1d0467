import math

import torch
from sklearn.datasets import load_digits
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, img=8, patch=2, dim=32):
        super().__init__()
        self.num = (img // patch) ** 2
        self.proj = nn.Conv2d(1, dim, patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self, dim=32, depth=2, heads=4, classes=10):
        super().__init__()
        self.patch = PatchEmbed(dim=dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.zeros(1, self.patch.num + 1, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)
        nn.init.trunc_normal_(self.pos, std=0.02)
        nn.init.trunc_normal_(self.cls, std=0.02)
        self.apply(self._init)

    @staticmethod
    def _init(m):
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.02)
            if m.bias is not None:
                nn.init.zeros_(m.bias)

    @torch.jit.ignore
    def no_weight_decay(self):
        return {"pos", "cls"}

    def forward(self, x):
        x = self.patch(x)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.pos
        return self.head(self.encoder(x)[:, 0])


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {k: v.clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)


def main(steps=16, batch=64, warmup=4):
    torch.manual_seed(0)
    digits = load_digits()
    x = torch.from_numpy(digits.images).to(torch.float32).unsqueeze(1) / 16 - 0.5
    y = torch.from_numpy(digits.target)
    model = ViT()
    skip = model.no_weight_decay()
    groups = [
        {"params": [p for n, p in model.named_parameters() if p.ndim > 1 and n not in skip], "weight_decay": 0.05},
        {"params": [p for n, p in model.named_parameters() if not (p.ndim > 1 and n not in skip)], "weight_decay": 0.0},
    ]
    optim = torch.optim.AdamW(groups, lr=3e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(
        optim, lambda s: (s + 1) / warmup if s < warmup else 0.5 * (1 + math.cos(math.pi * (s - warmup) / (steps - warmup))))
    ema = EMA(model)
    for step in range(steps):
        idx = torch.randint(0, len(x), (batch,))
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx], label_smoothing=0.1)
        optim.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        optim.step()
        sched.step()
        ema.update(model)
        print(f"loss {loss.item():.6f}")
    model.load_state_dict(ema.shadow)
    model.eval()
    with torch.no_grad():
        print("ema loss %.3f" % nn.functional.cross_entropy(model(x[:200]), y[:200]))


if __name__ == "__main__":
    main()
