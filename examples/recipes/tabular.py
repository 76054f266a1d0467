"""A tabular model with early stopping and checkpoints.

    python examples/recipes/tabular.py [--epochs 200] [--folder tabular]

Columns of numbers and columns of categories predict a price. Categories become rows of embeddings, which the network reads
beside the standardized numbers. `sg.fit` evaluates the held-out rows after each epoch, keeps a checkpoint, and ends when ten
evaluations in a row were not better than the best one, whose weights the model has then. Stop the program with Ctrl-C and
start it again: it goes on at the same batch. The rows are made up; read yours with pandas.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.utils.data import DataLoader, TensorDataset


class Prices(nn.Module):
    def __init__(self, numbers: int, kinds: list[int], width: int = 64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(kind, 8) for kind in kinds)
        self.layers = nn.Sequential(
            nn.Linear(numbers + 8 * len(kinds), width), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1),
        )  # fmt: skip

    def forward(self, numbers: Any, categories: Any) -> Any:
        rows = [table(categories[:, i]) for i, table in enumerate(self.tables)]
        return self.layers(sg.cat([numbers, *rows], 1)).squeeze(1)


def table(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Made-up rows: 6 numbers, 2 categories, and the price."""
    rng = np.random.default_rng(0)
    numbers, categories = rng.normal(5, 2, (rows, 6)), rng.integers(0, [12, 4], (rows, 2))
    district = rng.normal(0, 1, 12)[categories[:, 0]]
    price = numbers[:, 0] * district + np.sqrt(abs(numbers[:, 1])) + categories[:, 1] + rng.normal(0, 0.1, rows)
    return numbers, categories, price


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--folder", default="tabular", help="of the checkpoint, the report and the model")
    options = parser.parse_args(arguments)
    folder = Path(options.folder)

    numbers, categories, price = table(options.rows)
    held_out = options.rows // 5
    mean, spread = numbers[held_out:].mean(0), numbers[held_out:].std(0)
    x = sg.tensor((numbers - mean) / spread, dtype=sg.float32)
    kinds, y = sg.tensor(categories), sg.tensor(price, dtype=sg.float32)
    loader = DataLoader(TensorDataset(x[held_out:], kinds[held_out:], y[held_out:]), 128, shuffle=True, drop_last=True)

    sg.manual_seed(0)
    model = Prices(6, [12, 4])
    optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)

    @sg.compile
    def step(numbers: Any, categories: Any, price: Any) -> Any:
        loss = F.mse_loss(model(numbers, categories), price)
        optimizer.minimize(loss)
        return loss

    def evaluate() -> dict[str, float]:
        model.eval()
        with sg.no_grad():
            error = (model(x[:held_out], kinds[:held_out]) - y[:held_out]).abs()
        model.train()
        return {"error": error.mean().item(), "worst": error.max().item()}

    history = sg.fit(
        step, loader, epochs=options.epochs, evaluate=evaluate, patience=10,
        state={"model": model, "optimizer": optimizer}, checkpoint=folder / "run", report=folder / "report.html",
    )  # fmt: skip
    sg.save({"model": model.state_dict(), "mean": mean, "spread": spread}, folder / "model.safetensors")
    best = history.best
    print(f"mean error {best['error']:.3f} after {best['epoch']} epochs; prices have a spread of {price.std():.3f}")
    return best["error"]


if __name__ == "__main__":
    main()
