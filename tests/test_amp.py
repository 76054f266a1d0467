"""Scaled losses on the CPU: the scale's course is PyTorch's, and steps with infinite gradients are skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import optim

F = sg.nn.functional


def course(c: Any, clip: bool) -> tuple[list[float], list[bool], dict[str, Any], np.ndarray]:
    """The scale after each step, whether the parameter moved, the scaler's state and the parameter."""
    w = sg.ones(3, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.25)
    scaler = sg.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)

    @c
    def step(x):
        optimizer.zero_grad()
        scaler.scale((w * x).sum()).backward()
        if clip:
            scaler.unscale_(optimizer)
            w.grad.clamp_(max=1.0)
        scaler.step(optimizer)
        scaler.update()

    scales, moves = [], []
    for x in (1.0, 1.0, np.inf, 2.0, np.nan, 1.0, 1.0):
        before = w.detach().clone()
        step(sg.full((3,), x))
        scales.append(scaler.get_scale())
        moves.append(not sg.equal(w.detach(), before))
    return scales, moves, scaler.state_dict(), w.detach().numpy()


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("c", [lambda f: f, sg.compile], ids=["eager", "compiled"])
def test_the_scale_and_the_steps(c: Any, clip: bool):
    scales, moves, saved, w = course(c, clip)
    assert scales == [8.0, 16.0, 8.0, 8.0, 4.0, 4.0, 8.0]
    assert moves == [True, True, False, True, False, True, True]
    assert saved == {
        "scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 0,
    }  # fmt: skip
    np.testing.assert_allclose(w, 1 - 0.25 * (5 if clip else 6))


@pytest.mark.usefixtures("interpreted")
def test_a_compiled_loss_sees_a_new_scale():
    scaler = sg.amp.GradScaler("cpu", init_scale=2.0)
    scaled = sg.compile(lambda x: scaler.scale(x.sum()))
    assert scaled(sg.ones(2)).item() == 4.0
    scaler.update(5.0)
    assert scaled(sg.ones(2)).item() == 10.0
    assert scaled.traces == 1


def test_a_whole_trace_refuses_steps():
    w = sg.ones(2, requires_grad=True)
    optimizer, scaler = optim.SGD([w], lr=0.1), sg.amp.GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    for call in (lambda: scaler.unscale_(optimizer), lambda: scaler.step(optimizer), scaler.update):
        with pytest.raises(sg.TraceError, match=r"^GradScaler\.\w+: whether the optimizer steps depends on values"):
            sg.compile(call, on_break="error")()


def test_states_and_outputs():
    scaler, other = sg.amp.GradScaler("cpu", init_scale=4.0), sg.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4.0
    a, [b] = other.scale((sg.tensor(1.0), [sg.tensor(2.0, dtype=sg.float64)]))
    assert (a.item(), b.item(), b.dtype) == (4.0, 8.0, sg.float64)


def test_misuse():
    w = sg.ones(2, requires_grad=True)
    optimizer, scaler = optim.SGD([w], lr=0.1), sg.amp.GradScaler("cpu")
    for message, call in (
        ("No inf checks were recorded prior to update", scaler.update),
        ("No inf checks were recorded for this optimizer", lambda: scaler.step(optimizer)),
        ("The source state dict is empty", lambda: scaler.load_state_dict({})),
        ("outputs must be a Tensor", lambda: scaler.scale(1.0)),
        ("The growth factor must be > 1.0", lambda: sg.amp.GradScaler("cpu", growth_factor=1.0)),
        ("The backoff factor must be < 1.0", lambda: sg.amp.GradScaler("cpu", backoff_factor=1.0)),
        ("Closure use is not currently supported", lambda: scaler.step(optimizer, closure=lambda: None)),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="has already been called on this optimizer since the last update"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    for message, call in (
        (r"step\(\) has already been called since the last update", lambda: scaler.step(optimizer)),
        (r"unscale_\(\) is being called after step", lambda: scaler.unscale_(optimizer)),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


# autocast ----------------------------------------------------------------------------------------------------------------

KINDS = ("bfloat16", "float16")
FUNCTIONS: dict[str, tuple[Any, str, str]] = {  # the dtypes of results for float32, and for 16 bits: "half" is the chosen one
    "@": (lambda x: x @ x.T, "half", "half"),
    "mm": (lambda x: sg.mm(x, x.T), "half", "half"),
    "addmm": (lambda x: sg.addmm(sg.ones(3), x, x.T), "half", "half"),
    "einsum": (lambda x: sg.einsum("ij,kj->ik", x, x), "half", "half"),
    "linear": (lambda x: F.linear(x, sg.ones(2, 4), sg.ones(2)), "half", "half"),
    "conv1d": (lambda x: F.conv1d(x[None], sg.ones(1, 3, 2)), "half", "half"),
    "attention": (lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]), "half", "half"),
    "multi_dot": (lambda x: sg.linalg.multi_dot([x, x.T, x]), "half", "half"),
    "lstm": (lambda x: sg.nn.LSTM(4, 2)(x[:, None])[0], "half", "half"),
    "gru": (lambda x: sg.nn.GRU(4, 2)(x[:, None])[0], "float32", "half"),
    "reflect": (lambda x: F.pad(x[None], (1, 1), mode="reflect"), "float32", "float32"),
    "replicate": (lambda x: F.pad(x[None], (1, 1), "replicate"), "float32", "float32"),
    "circular": (lambda x: F.pad(x[None], (1, 1), mode="circular"), "float32", "half"),
    "mv": (lambda x: sg.mv(x, x[0]), "float32", "half"),
    "softmax": (lambda x: x.softmax(-1), "float32", "half"),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), "float32", "half"),
    "sum": (lambda x: x.sum(), "float32", "half"),
    "cross_entropy": (lambda x: F.cross_entropy(x, sg.tensor([0, 1, 2])), "float32", "float32"),
    "mse_loss": (lambda x: F.mse_loss(x, x * 2), "float32", "float32"),
    "prod": (lambda x: x.prod(), "float32", "float32"),
    "cdist": (lambda x: sg.cdist(x, x), "float32", "float32"),
    "promotion": (lambda x: sg.cat([x, sg.ones(1, 4)]) + 1, "float32", "float32"),
}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_autocast_chooses_dtypes_as_pytorch_does(name: str, kind: str):
    function, *expected = FUNCTIONS[name]
    x = sg.rand(3, 4)
    for operand, dtype in zip((x, x.to(kind)), expected, strict=True):
        with sg.autocast("cpu", dtype=getattr(sg, kind)):
            found = [function(operand), sg.compile(function)(operand)]
        for result in found:
            assert result.dtype.name == {"half": kind}.get(dtype, dtype)
    assert function(x).dtype is sg.float32
    double = x.double()
    with sg.autocast("cpu"):
        assert (double @ double.T).dtype is sg.float64


@pytest.mark.usefixtures("interpreted")
def test_a_compiled_function_follows_the_context():
    step = sg.compile(lambda x: x @ x.T)
    x = sg.ones(2, 2)
    dtypes = [step(x).dtype.name]
    with sg.autocast("cpu"):
        dtypes.append(step(x).dtype.name)
        with sg.autocast("cpu", enabled=False):
            dtypes.append(step(x).dtype.name)
        with sg.autocast("cpu", dtype=sg.float16):
            dtypes.append(step(x).dtype.name)
        assert sg.is_autocast_enabled()
    dtypes.append(step(x).dtype.name)
    assert dtypes == ["float32", "bfloat16", "float32", "float16", "float32"]
    assert not sg.is_autocast_enabled()
    assert sg.autocast("cpu")(lambda: (x @ x).dtype)() is sg.bfloat16


@pytest.mark.parametrize("kind", KINDS)
def test_training_under_autocast(kind: str):
    """Weights and their gradients stay float32; eager and compiled steps agree, and products are those of rounded operands."""

    def losses(wrap: Any) -> list[float]:
        sg.manual_seed(3)
        net = sg.nn.Sequential(sg.nn.Linear(4, 6), sg.nn.Tanh(), sg.nn.Linear(6, 3))
        optimizer = optim.SGD(net.parameters(), lr=0.5)
        x, y = sg.randn(9, 4), sg.tensor([0, 1, 2] * 3)

        def step(x, y):
            optimizer.zero_grad()
            with sg.autocast("cpu", dtype=getattr(sg, kind)):
                loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        found = [step(x, y).item() for _ in range(4)]
        assert net[0].weight.grad.dtype is net[0].weight.dtype is sg.float32
        return found

    eager = losses(lambda step: step)
    assert eager[-1] < eager[0]
    np.testing.assert_allclose(losses(sg.compile), eager, 2e-3)


def test_scaled_losses_of_16_bits():
    scaler = sg.amp.GradScaler("cpu", init_scale=3.0)
    x = sg.tensor([1.0, 0.1], dtype=sg.bfloat16)
    assert scaler.scale(x).tolist() == (x.float() * 3).bfloat16().tolist()
    w = sg.ones(2, dtype=sg.float16, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)
    scaler.scale(w.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.step(optimizer)


def test_functions_of_the_user_cast_their_operands():
    forward = sg.amp.custom_fwd(lambda x: x @ x, device_type="cpu", cast_inputs=sg.float32)
    x = sg.ones(2, 2, dtype=sg.bfloat16)
    assert forward(x).dtype is sg.bfloat16
    with sg.autocast("cpu"):
        assert forward(x).dtype is sg.float32
