"""Training steps whose time is that of large products or many convolutions: perceptrons, the block of GPT-2 small, residual
networks for images of 32x32 and 64x64. SGD, float32.

A model is written once for PyTorch and for us; losses are compared after few steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..frameworks import (
    JAX,
    OURS,
    THREADS,
    batches,
    jax_batches,
    jax_for,
    labels_long,
    session_variants,
    torch_compiled,
    torch_for,
)
from ..registry import Arrays, Case, Job, add_cases, implements
from ..training import jax_steps, our_training, session_training, torch_training

RATE = 0.01
WIDTH, HEADS, LENGTH = 768, 12, 256


class Network(NamedTuple):
    """A model of a framework's `nn` and `functional`, the same in JAX, and its inputs."""

    model: Callable[[Any, Any], Any]
    jax: Callable[[Any, Any, Any, Any], Any]
    """(jax, jnp, parameters, x) -> result."""
    inputs: tuple[int, ...]
    classes: int = 0
    """0: the target has the shape of the result."""
    result: tuple[int, ...] = ()


def perceptron(sizes: tuple[int, ...], batch: int) -> Network:
    def model(nn: Any, F: Any) -> Any:
        layers: list[Any] = []
        for i, (m, n) in enumerate(pairwise(sizes)):
            layers += [nn.ReLU()] * (i > 0) + [nn.Linear(m, n)]
        return nn.Sequential(*layers)

    def jax_of(jax: Any, jnp: Any, p: Any, x: Any) -> Any:
        for i in range(0, len(p), 2):
            x = jax.nn.relu(x) if i else x
            x = x @ p[f"{i}.weight"].T + p[f"{i}.bias"]
        return x

    return Network(model, jax_of, (batch, sizes[0]), 0, (batch, sizes[-1]))


def block() -> Network:
    def model(nn: Any, F: Any) -> Any:
        class Block(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
                self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
                self.fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

            def forward(self, x: Any) -> Any:
                joined = self.qkv(self.ln1(x)).reshape(-1, LENGTH, 3, HEADS, WIDTH // HEADS)
                q, k, v = (joined[:, :, i].transpose(1, 2) for i in range(3))
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.proj(y.transpose(1, 2).reshape(-1, LENGTH, WIDTH))
                return x + self.out(F.gelu(self.fc(self.ln2(x))))

        return Block()

    def jax_of(jax: Any, jnp: Any, p: Any, x: Any) -> Any:
        def norm(name: str, x: Any) -> Any:
            centered = x - x.mean(-1, keepdims=True)
            scaled = centered * jax.lax.rsqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)
            return scaled * p[name + ".weight"] + p[name + ".bias"]

        def linear(name: str, x: Any) -> Any:
            return x @ p[name + ".weight"].T + p[name + ".bias"]

        joined = linear("qkv", norm("ln1", x)).reshape(-1, LENGTH, 3, HEADS, WIDTH // HEADS)
        q, k, v = (joined[:, :, i].swapaxes(1, 2) for i in range(3))
        scores = q @ k.swapaxes(2, 3) / math.sqrt(WIDTH // HEADS)
        scores = jnp.where(np.tri(LENGTH, dtype=bool), scores, -jnp.inf)
        x = x + linear("proj", (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape))
        return x + linear("out", jax.nn.gelu(linear("fc", norm("ln2", x)), approximate=False))

    return Network(model, jax_of, (4, LENGTH, WIDTH), 0, (4, LENGTH, WIDTH))


def residual(widths: tuple[int, ...], depth: int, pixels: int, batch: int) -> Network:
    """Residual blocks of two 3x3 convolutions, `depth` of each width; each width but the first begins with a stride of 2."""

    def plan() -> list[tuple[str, int, int, int]]:
        steps, before = [], widths[0]
        for i, width in enumerate(widths):
            for j in range(depth):
                steps.append((f"blocks.{i * depth + j}", before, width, 2 if i and not j else 1))
                before = width
        return steps

    def model(nn: Any, F: Any) -> Any:
        class Block(nn.Module):
            def __init__(self, before: int, width: int, stride: int) -> None:
                super().__init__()
                self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
                self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
                self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
                self.down = nn.Conv2d(before, width, 1, stride, bias=False) if before != width else None

            def forward(self, x: Any) -> Any:
                y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
                return F.relu(y + (x if self.down is None else self.down(x)))

        class Residual(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.conv, self.bn = nn.Conv2d(3, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0])
                self.blocks = nn.ModuleList([Block(*sizes) for _, *sizes in plan()])
                self.head = nn.Linear(widths[-1], 10)

            def forward(self, x: Any) -> Any:
                x = F.relu(self.bn(self.conv(x)))
                for block in self.blocks:
                    x = block(x)
                return self.head(x.mean((2, 3)))

        return Residual()

    def jax_of(jax: Any, jnp: Any, p: Any, x: Any) -> Any:
        def conv(name: str, x: Any, stride: int = 1) -> Any:
            w = p[name + ".weight"]
            edge = w.shape[-1] // 2
            return jax.lax.conv_general_dilated(x, w, (stride, stride), [(edge, edge)] * 2)

        def norm(name: str, x: Any) -> Any:
            mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
            weight, bias = (p[f"{name}.{part}"][:, None, None] for part in ("weight", "bias"))
            return (x - mean) * jax.lax.rsqrt(var + 1e-5) * weight + bias

        x = jax.nn.relu(norm("bn", conv("conv", x)))
        for name, before, width, stride in plan():
            y = jax.nn.relu(norm(name + ".bn1", conv(name + ".conv1", x, stride)))
            y = norm(name + ".bn2", conv(name + ".conv2", y))
            x = jax.nn.relu(y + (x if before == width else conv(name + ".down", x, stride)))
        return x.mean((2, 3)) @ p["head.weight"].T + p["head.bias"]

    return Network(model, jax_of, (batch, 3, pixels, pixels), 10)


NETWORKS = {
    "mlp-2048": perceptron((1024, 2048, 2048, 1024), 512),
    "mlp-4096": perceptron((4096, 4096, 4096), 256),
    "gpt2-block": block(),
    "resnet-cifar": residual((16, 32, 64), 3, 32, 32),
    "resnet18-64": residual((64, 128, 256, 512), 2, 64, 16),
}


def arrays_of(name: str) -> Arrays:
    """x and y of two batches, and the parameters."""
    import staticgrad as sg
    import staticgrad.functional as F

    network, rng = NETWORKS[name], np.random.default_rng(0)
    data = {"x": rng.standard_normal((2, *network.inputs), np.float32)}
    if network.classes:
        data["y"] = rng.integers(0, network.classes, (2, network.inputs[0])).astype(np.int32)
    else:
        data["y"] = rng.standard_normal((2, *network.result), np.float32)
    for parameter, tensor in network.model(sg.nn, F).named_parameters():
        shape = tuple(tensor.shape)
        if len(shape) == 1:
            data[parameter] = np.full(shape, parameter.endswith("weight"), np.float32)
        else:
            data[parameter] = rng.standard_normal(shape, np.float32) / np.float32(math.sqrt(math.prod(shape[1:])))
    return data


def _case(name: str, about: str, target: float) -> Case:
    return Case(name, about, lambda: arrays_of(name), steps=4, target=target, large=True)


CASES = add_cases(
    _case("mlp-2048", "MLP 1024-2048-2048-1024, batch 512, SGD, float32", 1.0),
    _case("mlp-4096", "MLP 4096-4096-4096, batch 256, SGD, float32", 1.0),
    _case("gpt2-block", "block of GPT-2 small, 256 tokens, batch 4, SGD, float32", 1.0),
    _case("resnet-cifar", "ResNet of 16, 32 and 64 channels, 32x32 images, batch 32, SGD, float32", 1.3),
    _case("resnet18-64", "ResNet-18, 64x64 images, batch 16, SGD, float32", 1.0),
)


def network_of(data: Arrays) -> Network:
    """The network of a case, which its arrays tell."""
    shape = data["x"].shape[1:]
    return next(network for network in NETWORKS.values() if network.inputs == shape)


def loss_in(F: Any, network: Network, result: Any, y: Any) -> Any:
    return F.cross_entropy(result, y) if network.classes else ((result - y) ** 2).mean()


def our_model(data: Arrays) -> Any:
    import staticgrad as sg
    import staticgrad.functional as F

    model = network_of(data).model(sg.nn, F)
    model.load_state_dict({name: data[name].copy() for name, _ in model.named_parameters()}, strict=False)
    return model


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    model, network = our_model(data), network_of(data)
    optimizer = sg.optim.SGD(model.parameters(), lr=RATE)

    def loss_of(x: Any, y: Any) -> Any:
        return loss_in(F, network, model(x), y)

    return our_training({}, optimizer, loss_of, batches(data, "x", "y"), backend)


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    model, network, graph = our_model(data), network_of(data), sg.Graph()
    with graph.as_default():
        x, y = (sg.placeholder(str(data[name].dtype), data[name].shape[1:]) for name in "xy")
        loss = loss_in(F, network, model(x), y)
        train = sg.optim.SGD(model.parameters(), lr=RATE).minimize(loss)
    return session_training(graph, loss, train, [x, y], {}, batches(data, "x", "y"), variant)


@implements(CASES, "jax", variants=(*JAX, "sync, placed"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant)
    network = network_of(data)

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        z = network.jax(jax, jnp, p, x)
        if not network.classes:
            return jnp.mean((z - y) ** 2)
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - jnp.take_along_axis(z, y[:, None], axis=1)[:, 0])

    def train(p: Any, x: Any, y: Any) -> Any:
        loss, g = jax.value_and_grad(loss_of)(p, x, y)
        return jax.tree.map(lambda p, g: p - RATE * g, p, g), loss

    update = jax.jit(train, donate_argnums=0)
    p = {name: jnp.array(value) for name, value in data.items() if name not in ("x", "y")}
    return jax_steps(update, p, jax_batches(variant, data, "x", "y"), lambda state: {})


def _torch_training(data: Arrays, variant: str, prepare: Callable[[Any], Any]) -> Job:
    """Steps of PyTorch's fused optimizer. prepare(model): the function of x that runs."""
    torch = torch_for(variant)
    network = network_of(data)
    model = network.model(torch.nn, torch.nn.functional)
    model.load_state_dict({name: torch.from_numpy(data[name].copy()) for name, _ in model.named_parameters()}, strict=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, fused=True)
    function = prepare(model)

    def loss_of(x: Any, y: Any) -> Any:
        return loss_in(torch.nn.functional, network, function(x), y)

    data = labels_long(data, "y") if network.classes else data
    return torch_training({}, optimizer, loss_of, batches(data, "x", "y", place=torch.from_numpy))


@implements(CASES, "torch", variants=THREADS)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    return _torch_training(data, variant, lambda model: model)


@implements(CASES, "torch.compile", variants=THREADS)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    """The model compiled, forward and backward; the optimizer is PyTorch's own."""
    return _torch_training(data, variant, torch_compiled)
