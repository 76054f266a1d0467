"""Convert a PyTorch model to a step that runs without PyTorch and without this library.

    python examples/recipes/ship.py [--epochs 20] [--folder shipped]

The model is written as for PyTorch; `as_torch()` gives this library under the name `torch`, so the lines below it are the ones
that you have (or run a whole program with `staticgrad torch train.py`). A checkpoint of PyTorch's, `model.pt`, is read by
`torch.load`. After the training, the function that answers is compiled and exported: a folder with kernels, weights and a
small engine that needs NumPy and llvmlite. The program ends by running it in a process that can't import this library.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import staticgrad as sg

with sg.as_torch():
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 16, 3, padding=1)
            self.head = nn.Linear(16 * 4 * 4, 10)

        def forward(self, x: Any) -> Any:
            x = F.max_pool2d(F.relu(self.conv(x)), 2)
            return self.head(torch.flatten(x, 1))


USE = """
import sys
import numpy as np
sys.modules["staticgrad"] = sys.modules["torch"] = None  # neither can be imported
sys.path.insert(0, {parent!r})
import {name}
answer = {name}.load()
print(*np.argmax(answer(np.load({images!r})), 1))
"""


def digits() -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's handwritten digits: (n, 1, 8, 8) pixels and labels."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit('This example needs scikit-learn: pip install "staticgrad[sklearn]"')
    found: Any = load_digits()
    return (found.images[:, None] / 16).astype("float32"), found.target.astype("int64")


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--weights", help="a checkpoint of PyTorch's to begin with, such as model.pt")
    parser.add_argument("--folder", default="shipped", help="of the exported step and the model")
    options = parser.parse_args(arguments)
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)

    pixels, labels = digits()
    train, test = slice(300, None), slice(300)
    torch.manual_seed(0)
    model = Net()
    if options.weights:
        model.load_state_dict(torch.load(options.weights))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = sg.utils.data.TensorDataset(torch.from_numpy(pixels[train]), torch.from_numpy(labels[train]))

    @torch.compile
    def step(images: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    sg.fit(step, sg.utils.data.DataLoader(data, 64, shuffle=True), epochs=options.epochs, report=folder / "report.html")
    torch.save(model.state_dict(), folder / "model.safetensors")

    @sg.compile
    def answer(images: Any) -> Any:
        with torch.no_grad():
            return model(images)

    answer(torch.from_numpy(pixels[test]))
    answer.export(folder / "digits_step")
    np.save(folder / "images.npy", pixels[test])
    program = USE.format(parent=str(folder.resolve()), name="digits_step", images=str(folder / "images.npy"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    accuracy = float(np.mean(np.array(done.stdout.split(), int) == labels[test]))
    print(f"the shipped step: {accuracy:.3f} of {len(labels[test])} digits that training did not see")
    return accuracy


if __name__ == "__main__":
    main()
