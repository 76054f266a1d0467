"""`init`: a training script to begin with."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from .programs import Misuse, output_file


def init(given: Namespace) -> int:
    """Write the script. 2 where there is such a file already."""
    output_file(given.file, "FILE.py")
    file = Path(given.file)
    if file.suffix != ".py":
        raise Misuse(f"{file} is no name of a program: write {file}.py")
    if file.exists():
        raise Misuse(f"{file} exists already: choose another name")
    parts = (BEGIN, SCRIPTS[given.dialect], END)
    file.write_text("".join(parts).replace("NAME", file.stem), encoding="utf-8")
    print(f"{file}: python {file} trains, and goes on where an interrupted run stopped")
    if given.dialect == "torch":
        print(f"staticgrad compare {file}:step --shapes 64x10 64x1 runs its step in all modes")
    return 0


BEGIN = '''\
"""A training script. python NAME.py trains; a run that was interrupted goes on from the folder `NAME`."""

import numpy as np

import staticgrad as sg
from staticgrad import functional as F, nn, optim
from staticgrad.utils.data import DataLoader, TensorDataset

sg.manual_seed(0)

# Data: numbers x with a target y. Put your own here.
x = sg.randn(2000, 10)
y = sg.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3]
train, test_x, test_y = TensorDataset(x[:1600], y[:1600]), x[1600:], y[1600:]

'''

SCRIPTS = {
    "torch": """\
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = optim.Adam(model.parameters(), lr=1e-3)
state = {"model": model, "optimizer": optimizer}


@sg.compile  # without this line the step runs eagerly
def step(x, y):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def evaluate():
    with sg.no_grad():
        return F.mse_loss(model(test_x), test_y).item()

""",
    "tf1": """\
inputs, targets = sg.placeholder("float32", [None, 10]), sg.placeholder("float32", [None, 1])
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
loss = F.mse_loss(model(inputs), targets)
update = optim.Adam(lr=1e-3).minimize(loss)

session = sg.Session()
session.run(sg.global_variables_initializer())
step = session.make_callable([loss, update], [inputs, targets])
state = {"session": session}


def evaluate():
    return session.run(loss, {inputs: test_x, targets: test_y})

""",
}

END = """\

if __name__ == "__main__":
    history = sg.fit(
        step, DataLoader(train, batch_size=64, shuffle=True), epochs=50, evaluate=evaluate, patience=5,
        state=state, checkpoint="NAME", report="NAME.html",
    )
    print(f"best after {history.best['step']} steps: {history.best['loss']:.4f}; see NAME.html")
"""
