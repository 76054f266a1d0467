"""Data-parallel training with DistributedDataParallel, a DistributedSampler, and a checkpoint of rank 0.

    python examples/torch/ddp.py [--epochs 5] [--compile]
    staticgrad launch -n 2 examples/torch/ddp.py

PyTorch runs it as `torchrun --nproc-per-node 2`, with the imports changed back.
"""

import argparse
import os
import tempfile

import numpy as np

import staticgrad as torch
import staticgrad.distributed as dist
import staticgrad.nn as nn
import staticgrad.optim as optim
from staticgrad.nn import functional as F
from staticgrad.nn.parallel import DistributedDataParallel as DDP
from staticgrad.utils.data import DataLoader, TensorDataset
from staticgrad.utils.data.distributed import DistributedSampler


def rings(count):
    """Points on three noisy rings, and which ring each is on."""
    rng = np.random.default_rng(0)
    labels, angle = np.arange(count) % 3, rng.uniform(0, 2 * np.pi, count)
    radius = 1.0 + labels + 0.2 * rng.normal(size=count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return torch.tensor(points, dtype=torch.float32), torch.tensor(labels, dtype=torch.long)


def start(model, seed=1):
    """Weights that do not depend on the library's random numbers."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                layer.weight.copy_(torch.tensor(rng.normal(size=tuple(layer.weight.shape)) / layer.in_features**0.5))
                layer.bias.zero_()
    return model


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 3)
        )

    def forward(self, x):
        return self.layers(x)


def train(steps=None, epochs=5, compiled=False, report=lambda *words: None):
    """The losses of each step, averaged over all processes."""
    began = not dist.is_initialized()
    if began:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29533")
        os.environ.setdefault("RANK", "0")
        os.environ.setdefault("WORLD_SIZE", "1")
        dist.init_process_group("gloo")
    rank = dist.get_rank()
    data = TensorDataset(*rings(1536))
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, batch_size=128 // dist.get_world_size(), sampler=sampler)
    model = DDP(start(Net()))
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    if compiled:
        step = torch.compile(step)
    losses = []
    for epoch in range(epochs if steps is None else 1000):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = step(x, y)
            dist.all_reduce(loss)
            losses.append(loss.item() / dist.get_world_size())
            if len(losses) == steps:
                break
        report(f"epoch {epoch}: loss {losses[-1]:.4f}")
        if len(losses) == steps:
            break
    if rank == 0:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.pt")
            torch.save(model.module.state_dict(), path)
            model.module.load_state_dict(torch.load(path))
    dist.barrier()
    if began:
        dist.destroy_process_group()
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    quiet = int(os.environ.get("RANK", "0")) > 0
    train(epochs=args.epochs, compiled=args.compile, report=(lambda *words: None) if quiet else print)
