"""An LSTM forecasts a time series.

    python examples/recipes/forecaster.py [--epochs 30] [--folder forecaster]

The network reads 96 hours of a series with daily and weekly rhythms and gives the next 24. Windows are cut out of the series
by `unfold`, without copies. The forecasts of the last week, which training never saw, are compared with those of the day
before: that is the error which a forecaster has to beat. The series is made up.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.utils.data import DataLoader, TensorDataset

SEEN, AHEAD, WEEK = 96, 24, 168
"""Hours."""


class Forecaster(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.recurrent = nn.LSTM(1, width, batch_first=True)
        self.head = nn.Linear(width, AHEAD)

    def forward(self, hours: Any) -> Any:
        """(batch, SEEN) -> (batch, AHEAD), as a change from the last hour."""
        states, _ = self.recurrent(hours.unsqueeze(2))
        return hours[:, -1:] + self.head(states[:, -1])


def series(weeks: int) -> np.ndarray:
    """Load of a made-up power grid, in standard units."""
    rng, t = np.random.default_rng(0), np.arange(weeks * WEEK)
    day, week = 2 * np.pi * t / 24, 2 * np.pi * t / WEEK
    slow = np.cumsum(rng.normal(0, 0.01, len(t)))
    load = np.sin(day) + 0.5 * np.sin(2 * day) * (1 + np.cos(week)) + 0.7 * (np.cos(week) < -0.2) + slow
    load += rng.normal(0, 0.05, len(t))
    return ((load - load.mean()) / load.std()).astype("float32")


def main(arguments: list[str] | None = None) -> tuple[float, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--folder", default="forecaster", help="of the checkpoint, the picture and the model")
    options = parser.parse_args(arguments)
    folder = Path(options.folder)

    load = sg.tensor(series(options.weeks))
    windows = load.unfold(0, SEEN + AHEAD, 1)  # each hour begins one
    train = windows[: -WEEK - SEEN - AHEAD]
    test = windows[-WEEK:]
    sg.manual_seed(0)
    model = Forecaster(options.width)
    optimizer = optim.Adam(model.parameters(), lr=5e-3)

    @sg.compile
    def step(hours: Any) -> Any:
        loss = F.l1_loss(model(hours[:, :SEEN]), hours[:, SEEN:])
        optimizer.minimize(loss)
        return loss

    def evaluate() -> float:
        with sg.no_grad():
            return F.l1_loss(model(test[:, :SEEN]), test[:, SEEN:]).item()

    history = sg.fit(
        step, DataLoader(TensorDataset(train), 64, shuffle=True), epochs=options.epochs, evaluate=evaluate, patience=5,
        state={"model": model, "optimizer": optimizer}, checkpoint=folder / "run",
    )  # fmt: skip
    sg.save(model.state_dict(), folder / "model.safetensors")
    naive = F.l1_loss(test[:, SEEN - 24 : SEEN], test[:, SEEN:]).item()
    best = history.best["loss"]
    print(f"mean error {best:.3f}; the day before as the forecast: {naive:.3f}")
    with sg.no_grad():
        draw(test[-1].numpy(), model(test[-1:, :SEEN])[0].numpy(), folder / "forecast.png")
    return best, naive


def draw(hours: np.ndarray, forecast: np.ndarray, file: Path) -> None:
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(hours, label="load")
    axes.plot(np.arange(SEEN, SEEN + AHEAD), forecast, label="forecast")
    axes.set(xlabel="hour")
    axes.legend()
    figure.savefig(file)


if __name__ == "__main__":
    main()
