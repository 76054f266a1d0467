"""The nodes of the tape that users see: PyTorch's names, one node for a call, and the way back to the leaves."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.operators import frontends

X = np.linspace(0.1, 0.9, 9, dtype=np.float32).reshape(3, 3)
Walk = Callable[[Any, Any, Any, Any], Any]

FIRST: dict[str, tuple[Walk, str]] = {
    "linear": (lambda t, F, x, y: F.linear(x, y, x.sum(0)), "Addmm(Sum1, Accumulate, T)"),
    "linear without bias": (lambda t, F, x, y: F.linear(x.detach(), y), "Mm(None, T)"),
    "mse_loss": (lambda t, F, x, y: F.mse_loss(x, y), "MseLoss(Accumulate, Accumulate)"),
    "mse_loss of a target": (lambda t, F, x, y: F.mse_loss(x, y.detach()), "MseLoss(Accumulate, None)"),
    "nll_loss": (lambda t, F, x, y: F.nll_loss(x, t.tensor([0, 1, 2])), "NllLoss(Accumulate)"),
    "layer_norm": (lambda t, F, x, y: F.layer_norm(x, (3,), y.sum(0), y.mean(0)), "NativeLayerNorm(Accumulate, Sum1, Mean1)"),
    "gelu": (lambda t, F, x, y: F.gelu(x * y), "Gelu(Mul)"),
    "stack": (lambda t, F, x, y: t.stack([x, y]), "Stack(Accumulate, Accumulate)"),
    "a row": (lambda t, F, x, y: x[0], "Select(Accumulate)"),
    "rows": (lambda t, F, x, y: x[1:], "Slice(Accumulate)"),
    "indices": (lambda t, F, x, y: x[t.tensor([0, 1])], "Index(Accumulate)"),
    "sum along an axis": (lambda t, F, x, y: x.sum(0), "Sum1(Accumulate)"),
    "max": (lambda t, F, x, y: x.max(), "Max1(Accumulate)"),
    "max along an axis": (lambda t, F, x, y: x.max(1).values, "Max(Accumulate)"),
    "std": (lambda t, F, x, y: x.std(), "Std(Accumulate)"),
    "where": (lambda t, F, x, y: t.where(x.detach() > 0.5, x, y), "Where(Accumulate, Accumulate)"),
    "log1p": (lambda t, F, x, y: x.log1p(), "Log1P(Accumulate)"),
    "t": (lambda t, F, x, y: x.t(), "T(Accumulate)"),
    "silu": (lambda t, F, x, y: F.silu(x * y), "Silu(Mul)"),
    "relu6": (lambda t, F, x, y: F.relu6(x), "Hardtanh(Accumulate)"),
    "binary_cross_entropy": (lambda t, F, x, y: F.binary_cross_entropy(x, y.detach()), "BinaryCrossEntropy(Accumulate, None)"),
    "interpolate": (lambda t, F, x, y: F.interpolate(x[None], 2, mode="linear"), "UpsampleLinear1D(Unsqueeze)"),
    "lerp": (lambda t, F, x, y: t.lerp(x, y, 0.3), "Lerp(Accumulate, Accumulate)"),
    "logaddexp": (lambda t, F, x, y: t.logaddexp(x, y), "Logaddexp(Accumulate, Accumulate)"),
    "lu_factor": (lambda t, F, x, y: t.linalg.lu_factor(x).LU, "LinalgLuFactorEx(Accumulate)"),
    "qr": (lambda t, F, x, y: t.linalg.qr(x).R, "LinalgQr(Accumulate)"),
    "eigvalsh": (lambda t, F, x, y: t.linalg.eigvalsh(x), "LinalgEigh(Accumulate)"),
    "svdvals": (lambda t, F, x, y: t.linalg.svdvals(x), "LinalgSvd(Accumulate)"),
    "slogdet": (lambda t, F, x, y: t.linalg.slogdet(x + t.eye(3)).logabsdet, "LinalgSlogdet(Add)"),
    "cholesky": (lambda t, F, x, y: t.linalg.cholesky(x @ x.T + t.eye(3)), "LinalgCholeskyEx(Add)"),
}
SECOND: dict[str, tuple[Walk, str]] = {
    "tanh": (lambda t, F, x, y: x.tanh(), "TanhBackward"),
    "sigmoid": (lambda t, F, x, y: x.sigmoid(), "SigmoidBackward"),
    "relu": (lambda t, F, x, y: F.relu(x), "ThresholdBackward"),
    "exp": (lambda t, F, x, y: x.exp(), "Mul"),
    "log": (lambda t, F, x, y: x.log(), "Div"),
    "softmax": (lambda t, F, x, y: F.softmax(x, 1), "SoftmaxBackwardData"),
    "log_softmax": (lambda t, F, x, y: F.log_softmax(x, 1), "LogSoftmaxBackwardData"),
    "gelu": (lambda t, F, x, y: F.gelu(x), "GeluBackward"),
    "mse_loss": (lambda t, F, x, y: F.mse_loss(x, y), "MseLossBackward"),
    "layer_norm": (lambda t, F, x, y: F.layer_norm(x, (3,)), "NativeLayerNormBackward"),
    "products": (lambda t, F, x, y: x @ y, "Mm"),
}


def short(node: Any) -> str:
    if node is None:
        return "None"
    text: str = node.name().removeprefix("torch::autograd::").replace("Grad", "")
    return text.removesuffix("Backward0").replace("Backward1", "1") if "Backward" in text else text


def walked(node: Any) -> str:
    return f"{short(node)}({', '.join(short(n) for n, _ in node.next_functions)})"


def points(t: Any) -> tuple[Any, Any]:
    return t.tensor(X, requires_grad=True), t.tensor(X[::-1].copy(), requires_grad=True)


def first_node(t: Any, case: str) -> str:
    return walked(FIRST[case][0](t, t.nn.functional, *points(t)).grad_fn)


def second_node(t: Any, case: str) -> str:
    x, y = points(t)
    (g,) = t.autograd.grad(SECOND[case][0](t, t.nn.functional, x, y).sum(), x, create_graph=True)
    return short(g.grad_fn)


@pytest.mark.parametrize("case", FIRST)
def test_a_call_is_one_node(case: str):
    assert first_node(sg, case) == FIRST[case][1]


SEVERAL: dict[str, tuple[Walk, str]] = {
    "cosine_similarity": (lambda t, F, x, y: F.cosine_similarity(x, y), "Sum1"),
    "l1_loss": (lambda t, F, x, y: F.l1_loss(x, y), "Mean"),
    "pairwise_distance": (lambda t, F, x, y: F.pairwise_distance(x, y), "Norm1"),
    "softsign": (lambda t, F, x, y: F.softsign(x), "Div"),
}
"""Calls that are several nodes in PyTorch, and the last of these."""


@pytest.mark.parametrize("case", [*FIRST, *SEVERAL])
def test_the_names_are_those_of_kernels_too(case: str):
    call, wanted = (FIRST | SEVERAL)[case]
    for enabled in (False, True):
        with sg.eager_kernels(enabled, wait=True):
            for _ in range(5):  # the last ones take routes
                assert short(call(sg, sg.nn.functional, *points(sg)).grad_fn) == wanted.partition("(")[0]


@pytest.mark.parametrize("case", SECOND)
def test_a_derivative_is_one_node(case: str):
    assert second_node(sg, case) == SECOND[case][1]


@pytest.mark.oracle
def test_the_nodes_are_those_of_pytorch():
    import torch

    assert {case: first_node(torch, case) for case in FIRST} == {case: wanted for case, (_, wanted) in FIRST.items()}
    assert {c: short(call(torch, torch.nn.functional, *points(torch)).grad_fn) for c, (call, _) in SEVERAL.items()} == {
        c: wanted for c, (_, wanted) in SEVERAL.items()
    }
    assert {case: second_node(torch, case) for case in SECOND} == {case: wanted for case, (_, wanted) in SECOND.items()}


def test_a_node_is_one_object_of_a_class_of_its_name():
    x, y = points(sg)
    loss = sg.nn.functional.mse_loss(x, y)
    node = loss.grad_fn
    assert node is loss.grad_fn
    assert type(node).__name__ == node.name() == "MseLossBackward0"
    assert isinstance(node, sg.autograd.graph.Node)
    assert "grad_fn=<MseLossBackward0>" in repr(loss)
    values, indices = x.max(1)
    assert values.grad_fn.name() == "MaxBackward0"
    assert indices.grad_fn is None


def test_nodes_stay_after_a_backward_pass_and_take_hooks():
    x, y = points(sg)
    seen: list[Any] = []
    loss = sg.nn.functional.mse_loss(x, y)
    loss.grad_fn.register_prehook(lambda grads: seen.append(len(grads)))
    loss.backward()
    assert seen == [1]
    assert walked(loss.grad_fn) == "MseLoss(Accumulate, Accumulate)"


def test_nodes_keep_no_tape():
    x, y = points(sg)
    gc.disable()
    try:
        loss = sg.nn.functional.mse_loss(x, y)
        record = loss.grad_fn.record
        gone = weakref.ref(record)
        del loss, record
        assert gone() is None
    finally:
        gc.enable()


def test_a_call_is_one_node_beside_random_tensors():
    """While the default graph has nodes, a random tensor takes eager operations off their short paths."""

    def run():
        sg.placeholder(np.float32, ())
        noise = sg.rand(2)
        found = {case: first_node(sg, case) for case in FIRST}
        x = sg.tensor(X, requires_grad=True)
        return bool(frontends.tracing), found, short(sg.nn.functional.cross_entropy(x, sg.tensor([0, 1, 2])).grad_fn), noise

    with ThreadPoolExecutor(1) as pool:  # each thread has a default graph of its own
        intercepted, found, loss, _ = pool.submit(run).result()
    assert intercepted
    assert found == {case: wanted for case, (_, wanted) in FIRST.items()}
    assert loss == "NllLoss"
