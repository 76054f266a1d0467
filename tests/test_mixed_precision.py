"""Programs of mixed precision as people write them, with PyTorch's losses: autocast, scaled losses, weights of 16 bits.

`LOSSES` are PyTorch's on x86-64; `pytest -m oracle` compares with PyTorch itself. Rounding in another order gives the last bit
of bfloat16 another value, which is 0.4 %.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg

Step = Callable[[], Any]
Program = Callable[[Any, np.random.RandomState], Step]
PROGRAMS: dict[str, Program] = {}


def program(make: Program) -> Program:
    PROGRAMS[make.__name__] = make
    return make


def drawn(T: Any, rng: np.random.RandomState, *shape: int) -> Any:
    return T.tensor(rng.randn(*shape).astype("float32"))


def classes(T: Any, rng: np.random.RandomState, count: int, *shape: int) -> Any:
    return T.tensor(rng.randint(0, count, shape))


def begun(T: Any, module: Any) -> Any:
    """The module with the same weights in both libraries."""
    rng = np.random.RandomState(5)
    with T.no_grad():
        for p in module.parameters():
            scale = 0.3 / np.sqrt(p.shape[-1] if p.ndim else 1)
            p.copy_(T.tensor((rng.randn(*p.shape) * scale).astype("float32")).to(p.dtype))
    return module


def trained(T: Any, optimizer: Any, loss_of: Step, dtype: str = "", scaler: Any = None, limit: float = 0.0) -> Step:
    """A step as in PyTorch's recipes for autocast and GradScaler."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def step() -> Any:
        optimizer.zero_grad()
        with T.autocast("cpu", dtype=getattr(T, dtype or "bfloat16"), enabled=bool(dtype)):
            loss = loss_of()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            if limit:
                scaler.unscale_(optimizer)
                T.nn.utils.clip_grad_norm_(parameters, limit)
            scaler.step(optimizer)
            scaler.update()
        return loss

    return step


@program
def classifier(T: Any, rng: Any) -> Step:
    nn = T.nn
    model = begun(T, nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5)))
    x, y = drawn(T, rng, 32, 16), classes(T, rng, 5, 32)
    optimizer = T.optim.Adam(model.parameters(), lr=1e-2)
    return trained(T, optimizer, lambda: nn.functional.cross_entropy(model(x), y), "bfloat16")


@program
def convolutions(T: Any, rng: Any) -> Step:
    nn = T.nn
    layers = nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten()
    model = begun(T, nn.Sequential(*layers, nn.Linear(256, 10)))
    x, y = drawn(T, rng, 16, 1, 12, 12), classes(T, rng, 10, 16)
    optimizer = T.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return trained(T, optimizer, lambda: nn.CrossEntropyLoss()(model(x), y), "bfloat16")


@program
def scaled_losses(T: Any, rng: Any) -> Step:
    nn = T.nn
    model = begun(T, nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)))
    x, y = drawn(T, rng, 32, 16), drawn(T, rng, 32, 1)
    scaler = T.amp.GradScaler("cpu", init_scale=256.0, growth_interval=3)
    optimizer = T.optim.SGD(model.parameters(), lr=0.05)
    return trained(T, optimizer, lambda: nn.functional.mse_loss(model(x), y), "float16", scaler, 1.0)


@program
def overflows_are_skipped(T: Any, rng: Any) -> Step:
    model = begun(T, T.nn.Linear(16, 1))
    x, y = drawn(T, rng, 32, 16) * 30, drawn(T, rng, 32, 1)
    scaler = T.amp.GradScaler("cpu", init_scale=2.0**24)
    optimizer = T.optim.SGD(model.parameters(), lr=0.01)
    return trained(T, optimizer, lambda: ((model(x) - y) ** 2).mean(), "float16", scaler)


@program
def weights_in_bfloat16(T: Any, rng: Any) -> Step:
    nn = T.nn
    model = begun(T, nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 5))).to(T.bfloat16)
    x, y = drawn(T, rng, 32, 16).bfloat16(), classes(T, rng, 5, 32)
    optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    return trained(T, optimizer, lambda: nn.functional.cross_entropy(model(x).float(), y))


@program
def master_weights(T: Any, rng: Any) -> Step:
    nn = T.nn
    model = begun(T, nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5))).bfloat16()
    masters = [p.detach().clone().float().requires_grad_() for p in model.parameters()]
    optimizer = T.optim.AdamW(masters, lr=1e-2)
    x, y = drawn(T, rng, 32, 16).bfloat16(), classes(T, rng, 5, 32)

    def step() -> Any:
        for p in model.parameters():
            p.grad = None
        loss = nn.functional.cross_entropy(model(x).float(), y)
        loss.backward()
        for p, master in zip(model.parameters(), masters, strict=True):
            master.grad = p.grad.float()
        optimizer.step()
        with T.no_grad():
            for p, master in zip(model.parameters(), masters, strict=True):
                p.copy_(master)
        return loss

    return step


@program
def transformer(T: Any, rng: Any) -> Step:
    nn = T.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.qkv, self.out, self.last = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32), nn.LayerNorm(32)
            self.mlp = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 32))

        def forward(self, x: Any) -> Any:
            parts = self.qkv(self.norm(x)).split(32, dim=2)
            q, k, v = (t.view(4, 12, 4, 8).transpose(1, 2) for t in parts)
            a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(a.transpose(1, 2).reshape(4, 12, 32))
            return x + self.mlp(self.last(x))

    tokens, block, head = nn.Embedding(20, 32), nn.Sequential(Block(), Block()), nn.Linear(32, 20, bias=False)
    model = begun(T, nn.Sequential(tokens, block, nn.LayerNorm(32), head))
    i, target = classes(T, rng, 20, 4, 12), classes(T, rng, 20, 4, 12)
    optimizer = T.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1)
    scaler = T.amp.GradScaler("cpu", enabled=False)
    return trained(
        T, optimizer, lambda: nn.functional.cross_entropy(model(i).view(-1, 20), target.view(-1)), "bfloat16", scaler, 1.0
    )  # fmt: skip


@program
def recurrent(T: Any, rng: Any) -> Step:
    nn = T.nn
    cell, head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 3)
    both = begun(T, nn.ModuleList([cell, head]))
    x, y = drawn(T, rng, 8, 6, 8), classes(T, rng, 3, 8)
    optimizer = T.optim.Adam(both.parameters(), lr=1e-2)
    return trained(T, optimizer, lambda: nn.functional.cross_entropy(head(cell(x)[0][:, -1]), y), "bfloat16")


@program
def data_in_float16(T: Any, rng: Any) -> Step:
    nn = T.nn
    data = drawn(T, rng, 64, 24).half()
    model = begun(T, nn.Sequential(nn.Linear(24, 8), nn.SiLU(), nn.Linear(8, 24)))
    optimizer = T.optim.RMSprop(model.parameters(), lr=1e-3)
    return trained(T, optimizer, lambda: nn.functional.l1_loss(model(data.float()), data.float()))


@program
def averaged_weights(T: Any, rng: Any) -> Step:
    nn = T.nn
    model = begun(T, nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 1)))
    averages = [p.detach().clone().bfloat16() for p in model.parameters()]
    x, y = drawn(T, rng, 32, 16), drawn(T, rng, 32, 1)
    optimizer = T.optim.SGD(model.parameters(), lr=0.02)
    inner = trained(T, optimizer, lambda: nn.functional.smooth_l1_loss(model(x), y), "bfloat16")

    def step() -> Any:
        loss = inner()
        with T.no_grad():
            for mean, p in zip(averages, model.parameters(), strict=True):
                mean.mul_(0.9).add_(p.to(T.bfloat16), alpha=0.1)
        return loss.detach() + sum(mean.float().sum() for mean in averages)

    return step


@program
def embeddings_in_bfloat16(T: Any, rng: Any) -> Step:
    nn = T.nn
    table, head = nn.Embedding(50, 16), nn.Linear(16, 2)
    both = begun(T, nn.ModuleList([table, head])).bfloat16()
    i, y = classes(T, rng, 50, 16, 5), classes(T, rng, 2, 16)
    optimizer = T.optim.Adagrad(both.parameters(), lr=0.1)
    return trained(
        T, optimizer, lambda: nn.functional.nll_loss(nn.functional.log_softmax(head(table(i).mean(1)).float(), -1), y)
    )


@program
def variational(T: Any, rng: Any) -> Step:
    nn, F = T.nn, T.nn.functional
    encoder, decoder = nn.Linear(20, 16), nn.Linear(8, 20)
    both = begun(T, nn.ModuleList([encoder, decoder]))
    x, noise = drawn(T, rng, 32, 20).sigmoid(), drawn(T, rng, 32, 8)
    optimizer = T.optim.Adam(both.parameters(), lr=1e-2)

    def loss() -> Any:
        mean, log = encoder(x).chunk(2, 1)
        made = decoder(mean + noise * T.exp(0.5 * log))
        divergence = -0.5 * T.mean(1 + log - mean.pow(2) - log.exp())
        return F.binary_cross_entropy_with_logits(made, x, reduction="sum") / 32 + divergence

    return trained(T, optimizer, loss, "bfloat16")


LOSSES: dict[str, list[float]] = {
    "classifier": [1.6146, 1.5758, 1.5389, 1.5004, 1.4593, 1.4145, 1.3656, 1.3124],
    "convolutions": [2.2447, 1.9045, 1.74, 1.5604, 1.2419, 0.96554, 0.7134, 0.44382],
    "scaled_losses": [0.8528, 0.81364, 0.77879, 0.74717, 0.71808, 0.69103, 0.66576, 0.64202],
    "overflows_are_skipped": [76.521, 76.521, 76.521, 76.521, 76.521, 76.521, 76.521, 76.521],
    "weights_in_bfloat16": [1.6134, 1.6098, 1.6062, 1.6027, 1.5991, 1.5957, 1.5923, 1.5889],
    "master_weights": [1.6146, 1.5761, 1.5389, 1.5006, 1.4592, 1.4147, 1.3658, 1.3128],
    "transformer": [2.9929, 2.9755, 2.9584, 2.9377, 2.9092, 2.8759, 2.8406, 2.803],
    "recurrent": [1.0939, 1.0719, 1.0469, 1.0168, 0.98083, 0.93794, 0.88686, 0.8289],
    "data_in_float16": [0.78717, 0.781, 0.77649, 0.77239, 0.76848, 0.7647, 0.76088, 0.75706],
    "averaged_weights": [0.97035, 0.96996, 0.96953, 0.96868, 0.96948, 0.97027, 0.96969, 0.97045],
    "embeddings_in_bfloat16": [0.65921, 0.57888, 0.41021, 0.28167, 0.19743, 0.14412, 0.10966, 0.086432],
    "variational": [14.114, 14.019, 13.949, 13.894, 13.847, 13.804, 13.763, 13.727],
}


def losses(T: Any, name: str, wrapped: Callable[[Step], Step] = lambda step: step) -> list[float]:
    step = wrapped(PROGRAMS[name](T, np.random.RandomState(1)))
    return [step().item() for _ in range(8)]


def check(found: list[float], name: str) -> None:
    np.testing.assert_allclose(found, LOSSES[name], rtol=0.004)


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses_are_pytorchs(T: Any, name: str):
    check(losses(T, name), name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_steps(name: str):
    check(losses(sg, name, sg.compile), name)


PRODUCTS = {
    "matmul": lambda a, b: a @ b.mT,
    "linear": sg.functional.linear,
    "bmm": lambda a, b: sg.bmm(a[None], b.mT[None]),
    "einsum": lambda a, b: sg.einsum("ij,kj->ik", a, b),
    "conv1d": lambda a, b: sg.functional.conv1d(a[:, None], b[:, None]),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_two_kinds_of_16_bits_are_refused(name, compiled):
    a, b = sg.ones(2, 3, dtype=sg.float16), sg.ones(2, 3, dtype=sg.bfloat16)
    step = sg.compile(PRODUCTS[name]) if compiled else PRODUCTS[name]
    with pytest.raises(sg.DTypeError, match="to have the same dtype, but got: float16 != bfloat16"):
        step(a, b)
    assert (a * b).dtype == sg.float32
