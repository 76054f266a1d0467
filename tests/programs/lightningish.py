"""The loop of a well-known framework in seventy lines."""
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Callback:
    def on_train_batch_end(self, trainer, module, outputs: Tensor) -> None: ...
    def on_epoch_end(self, trainer, module) -> None: ...


class PrintLoss(Callback):
    def on_train_batch_end(self, trainer, module, outputs):
        print(f"loss {outputs.item():.6f}")


@dataclass
class BestModel(Callback):
    best: float = float("inf")
    state: Dict[str, Any] = field(default_factory=dict)

    def on_epoch_end(self, trainer, module):
        if trainer.logged["val_loss"] < self.best:
            self.best = trainer.logged["val_loss"]
            self.state = {k: v.detach().clone() for k, v in module.state_dict().items()}


class LitModel(nn.Module):
    def __init__(self, in_dim: int = 13, hidden: int = 24, classes: int = 3):
        super().__init__()
        self.encoder = nn.Sequential(nn.LayerNorm(in_dim), nn.Linear(in_dim, hidden), nn.ELU(), nn.Dropout(p=0.1))
        self.head = nn.Linear(hidden, classes)
        self.register_buffer("mean", torch.zeros(in_dim))
        self.register_buffer("seen", torch.tensor(0, dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.seen += x.shape[0]
            self.mean.lerp_(x.mean(0), 0.1)
        return self.head(self.encoder(x - self.mean))

    def training_step(self, batch, batch_idx: int) -> Tensor:
        x, y = batch
        return F.cross_entropy(self(x), y, label_smoothing=0.05)

    def validation_step(self, batch, batch_idx: int) -> Tensor:
        x, y = batch
        return F.cross_entropy(self(x), y)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=3e-2, betas=(0.9, 0.99))
        return opt, torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=0)


class Trainer:
    def __init__(self, max_epochs: int, callbacks: Optional[List[Callback]] = None):
        self.max_epochs, self.callbacks, self.logged = max_epochs, callbacks or [], {}

    def call(self, hook: str, *args):
        for cb in self.callbacks:
            getattr(cb, hook)(self, *args)

    def fit(self, module: LitModel, train: DataLoader, val: DataLoader):
        opt, sched = module.configure_optimizers()
        for _ in range(self.max_epochs):
            module.train()
            for i, batch in enumerate(train):
                opt.zero_grad()
                loss = module.training_step(batch, i)
                loss.backward()
                opt.step()
                self.call("on_train_batch_end", module, loss.detach())
            module.eval()
            with torch.no_grad():
                self.logged["val_loss"] = float(torch.stack([module.validation_step(b, i) for i, b in enumerate(val)]).mean())
            sched.step(self.logged["val_loss"])
            self.call("on_epoch_end", module)


torch.manual_seed(3)
x, y = load_wine(return_X_y=True)
x = (x - x.mean(0)) / x.std(0)
full = TensorDataset(torch.as_tensor(x, dtype=torch.float), torch.as_tensor(y))
train_set, val_set = random_split(full, [140, len(full) - 140], generator=torch.Generator().manual_seed(42))
best = BestModel()
model = LitModel()
Trainer(4, [PrintLoss(), best]).fit(model, DataLoader(train_set, 28, shuffle=True), DataLoader(val_set, 38))
model.load_state_dict(best.state)
print("best", round(best.best, 4), "seen", model.seen.item(), np.round(model.mean.numpy(), 3)[:3])
