"""Train a small regressor, stop half-way, and go on from a checkpoint."""
import argparse
import os
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class DiabetesDataset(Dataset):
    def __init__(self, transform=None):
        data = load_diabetes()
        self.x = data.data.astype(np.float32) * 20
        self.y = ((data.target - data.target.mean()) / data.target.std()).astype(np.float32)
        self.transform = transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        sample = {"x": torch.from_numpy(self.x[idx]), "y": torch.tensor([self.y[idx]])}
        return self.transform(sample) if self.transform else sample


class Trainer:
    def __init__(self, model, optimizer, scheduler, loader, ckpt_path):
        self.model = model
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.loader = loader
        self.ckpt_path = ckpt_path
        self.criterion = nn.SmoothL1Loss(beta=0.5)
        self.epoch = 0

    def train_epoch(self):
        self.model.train()
        for batch in self.loader:
            pred = self.model(batch["x"])
            loss = self.criterion(pred, batch["y"])
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_value_(self.model.parameters(), 0.5)
            self.optimizer.step()
            print(f"loss {loss.item():.6f}")
        self.epoch += 1
        self.scheduler.step()

    def save(self):
        torch.save({
            "epoch": self.epoch,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "rng": torch.get_rng_state(),
        }, self.ckpt_path)

    def resume(self):
        ckpt = torch.load(self.ckpt_path, map_location="cpu", weights_only=False)
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.scheduler.load_state_dict(ckpt["scheduler"])
        self.epoch = ckpt["epoch"]


def build(args, path):
    model = nn.Sequential(nn.Linear(10, args.hidden), nn.BatchNorm1d(args.hidden), nn.LeakyReLU(0.1), nn.Linear(args.hidden, 1))
    optimizer = optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4, amsgrad=True)
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.3)
    loader = DataLoader(DiabetesDataset(), batch_size=64, shuffle=True, drop_last=True)
    return Trainer(model, optimizer, scheduler, loader, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "last.pth.tar")
        first = build(args, path)
        for _ in range(args.epochs // 2):
            first.train_epoch()
        first.save()
        second = build(args, path)  # new weights, all of which are loaded
        second.resume()
        assert second.epoch == args.epochs // 2
        while second.epoch < args.epochs:
            second.train_epoch()
        print(second.optimizer.param_groups[0]["lr"], second.scheduler.get_last_lr())
