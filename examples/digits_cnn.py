"""Handwritten digits by a convolutional network, a small relative of LeNet.

    python examples/digits_cnn.py [--steps 400] [--modes eager,session,compiled] [--quick] [--seed 0] [--plot cnn.png]
        [--report cnn.html]

scikit-learn's bundled digits (1,797 images of 8x8 pixels) go through two 3x3 convolutions, each with ReLU and a maximum
over 2x2 pixels, and a linear layer; batches of 64, momentum. The three modes (side_by_side.py) train the same module;
each then reads the images that were held out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from side_by_side import Example, Finding, Predict, main

import staticgrad as sg
import staticgrad.functional as F
from staticgrad import nn


class DigitsCNN(Example):
    steps = 400
    quick_steps = 60
    inputs = (("float32", (None, 1, 8, 8)), ("int64", (None,)))

    def __init__(self, quick: bool, seed: int):
        try:
            from sklearn.datasets import load_digits
        except ImportError:
            sys.exit('This example needs scikit-learn: pip install -e ".[examples]" in the checkout')
        super().__init__(quick, seed)
        self.batch = 32 if quick else 64
        pixels, labels = load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(labels))
        images = (pixels[order].reshape(-1, 1, 8, 8) / 16).astype("float32")
        self.held_out = images[:360], labels[order[:360]]
        self.images, self.labels = images[360:], labels[order[360:]]

    def model(self) -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(64, 10),
        )  # fmt: skip

    def optimizer(self, parameters: Any = None) -> Any:
        return sg.optim.SGD(parameters, lr=0.05, momentum=0.9)

    def loss(self, model: Any, images: Any, labels: Any) -> Any:
        return F.cross_entropy(model(images), labels)

    def batches(self, steps: int) -> Iterator[tuple[np.ndarray, ...]]:
        rng = np.random.default_rng(self.seed)
        for _ in range(steps):
            rows = rng.choice(len(self.labels), self.batch, replace=False)
            yield self.images[rows], self.labels[rows]

    def finish(self, predict: Predict) -> Finding:
        images, labels = self.held_out
        right = int(np.sum(predict(images).argmax(1) == labels))
        return Finding(f"{right} of {len(labels)} held-out digits read correctly")


if __name__ == "__main__":
    main(DigitsCNN, __doc__)
