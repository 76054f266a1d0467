"""PyTorch's own module samples (`module_db`), run here and there: state dicts, results, gradients to second order, errors."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from tests.ops import torch_samples
from tests.ops.torch_samples import difference, seeds, tensors

pytestmark = pytest.mark.oracle

DTYPES = "float32", "float64", "complex128"

KNOWN: dict[str, str] = {}
"""Modules of which some sample differs, and why."""


@functools.cache
def table() -> dict[str, Any]:
    torch_samples.load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    return {info.module_cls.__name__: info for info in module_db if info.module_cls.__module__.startswith("torch.nn.")}


class Twin:
    """Our tensors and modules of PyTorch's: the same one for one that occurs twice."""

    def __init__(self, torch: Any):
        self.torch = torch
        self.made: dict[int, Any] = {}
        self.kept: list[Any] = []

    def __call__(self, value: Any) -> Any:
        torch = self.torch
        if isinstance(value, (torch.Tensor, torch.nn.Module)):
            if id(value) not in self.made:
                self.kept.append(value)
                self.made[id(value)] = (
                    torch_samples.ours(torch, value) if isinstance(value, torch.Tensor) else self.module(value)
                )
            return self.made[id(value)]
        if isinstance(value, torch.nn.utils.rnn.PackedSequence):
            return nn.utils.rnn.PackedSequence(*map(self, value))
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return type(value)(map(self, value))
        if isinstance(value, dict):
            return {k: self(v) for k, v in value.items()}
        if isinstance(value, type) and issubclass(value, torch.nn.Module):
            return getattr(nn, value.__name__)
        return torch_samples.ours(torch, value)

    def module(self, value: Any) -> Any:
        """A layer of transformers, made of what it is made of; other modules are made without arguments."""
        kind = type(value).__name__
        if kind in ("TransformerEncoderLayer", "TransformerDecoderLayer"):
            attention = value.self_attn
            made = getattr(nn, kind)(
                attention.embed_dim, attention.num_heads, value.linear1.out_features, value.dropout.p,
                torch_samples.ours(self.torch, value.activation), value.norm1.eps, attention.batch_first, value.norm_first,
                attention.in_proj_bias is not None, dtype=torch_samples.ours(self.torch, value.linear1.weight.dtype),
            )  # fmt: skip
            made.load_state_dict(self(dict(value.state_dict())))
            return made
        return getattr(nn, kind)()


def samples(torch: Any, info: Any, dtype: str, training: bool) -> Iterator[Any]:
    kind = getattr(torch, dtype)
    if kind in info.dtypes:
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from info.module_inputs_func(info, device="cpu", dtype=kind, requires_grad=True, training=training)


COUNT = {"samples": 0}


def failures(torch: Any, info: Any, dtype: str) -> Iterator[str]:
    name = info.module_cls.__name__
    for training in (True, False):
        for number, sample in enumerate(samples(torch, info, dtype, training)):
            COUNT["samples"] += 1
            try:
                different = differs(torch, info, sample, dtype, training)
            except Exception as error:
                different = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            if different:
                given, mode = sample.constructor_input, "train" if training else "eval"
                yield f"{name} {dtype} {mode} {number} {given.args} {given.kwargs} {sample.desc}: {different}"


def differs(torch: Any, info: Any, sample: Any, dtype: str, training: bool) -> str:
    name, given = info.module_cls.__name__, sample.constructor_input
    twin = Twin(torch)
    theirs = info.module_cls(*given.args, **given.kwargs)
    mine = getattr(nn, name)(*twin(given.args), **twin(given.kwargs))
    theirs.to(getattr(torch, dtype)).train(training)
    mine.to(dtype).train(training)
    if repr(mine) != repr(theirs):
        return f"text {mine!r}, not {theirs!r}"
    call = sample.forward_input
    if info.is_lazy:
        with torch.no_grad():
            theirs(*call.args, **call.kwargs)
        with sg.no_grad():
            mine(*twin(call.args), **twin(call.kwargs))
    state = theirs.state_dict()
    if list(mine.state_dict()) != list(state):
        return f"state {list(mine.state_dict())}, not {list(state)}"
    mine.load_state_dict({k: torch_samples.ours(torch, v) for k, v in state.items()})
    if call is None:
        return ""
    expected = theirs(*call.args, **call.kwargs)
    if random(theirs):
        return difference(torch, mine(*twin(call.args), **twin(call.kwargs)), expected, values=False)
    if name == "CTCLoss":  # PyTorch's gradient is right after log_softmax only
        found = mine(twin(call.args[0]).log_softmax(-1), *twin(call.args[1:]))
        expected = theirs(call.args[0].log_softmax(-1), *call.args[1:])
    else:
        found = mine(*twin(call.args), **twin(call.kwargs))
    if different := difference(torch, found, expected):
        return different
    for key, value in theirs.state_dict().items():
        if different := difference(torch, mine.state_dict()[key], value):
            return f"buffer {key}: {different}"
    return gradients_differ(torch, twin, sample, (mine, found), (theirs, expected), dtype, info.supports_gradgrad)


def random(module: Any) -> bool:
    """Whether a module of PyTorch's draws numbers."""
    return any(
        (part.training and type(part).__name__ == "RReLU")
        or "Fractional" in type(part).__name__
        or (part.training and "Dropout" in type(part).__name__ and part.p > 0)
        or (part.training and isinstance(getattr(part, "dropout", 0.0), float) and getattr(part, "dropout", 0.0) > 0)
        for part in module.modules()
    )


def gradients_differ(torch: Any, twin: Twin, sample: Any, mine: Any, theirs: Any, dtype: str, second: bool) -> str:
    """How first and second gradients by arguments and parameters differ."""
    call = sample.forward_input
    given = [t for t in tensors(torch.Tensor, [list(call.args), call.kwargs]) if t.requires_grad]
    leaves = [*given, *(p for p in theirs[0].parameters() if p.requires_grad)]
    own = [*map(twin, given), *(p for p in mine[0].parameters() if p.requires_grad)]
    outputs = [r for r in tensors(torch.Tensor, theirs[1]) if r.requires_grad]
    results = [m for m, r in zip(tensors(sg.Tensor, mine[1]), tensors(torch.Tensor, theirs[1]), strict=True) if r.requires_grad]
    if not leaves or not outputs:
        return ""
    second = second and dtype == "float64"
    for order in ("gradient", "second gradient"):
        weights = seeds(torch, outputs)
        again = second and order == "gradient"
        try:
            expected = torch.autograd.grad(outputs, leaves, weights, allow_unused=True, create_graph=again)
        except RuntimeError as error:
            if order == "second gradient" and "is not implemented" in str(error):
                return ""
            raise
        found = sg.grad(results, own, [torch_samples.ours(torch, w) for w in weights], allow_unused=True, create_graph=again)
        for number, (f, e) in enumerate(zip(found, expected, strict=True)):
            zero = e is None or not e.abs().sum()
            if f is None or e is None:
                if zero and (f is None or not np.abs(f.detach().numpy()).sum()):
                    continue
                return f"{order} {number}: none {'here' if f is None else 'there'}"
            if different := difference(torch, f, e):
                return f"{order} {number}: {different}"
        pairs = [(f, e) for f, e in zip(found, expected, strict=True) if e is not None and e.requires_grad and f is not None]
        if any(not f.requires_grad and _depends(torch, e, leaves) for f, e in pairs):
            return f"{order} is not differentiable"
        pairs = [(f, e) for f, e in pairs if f.requires_grad]
        if not again or not pairs:
            return ""
        results, outputs = [f for f, _ in pairs], [e for _, e in pairs]
    return ""


def _depends(torch: Any, value: Any, leaves: list[Any]) -> bool:
    try:
        found = torch.autograd.grad(value.sum(), leaves, allow_unused=True, retain_graph=True)
    except RuntimeError:  # which PyTorch has no derivative of
        return False
    return any(g is not None and bool(g.abs().sum()) for g in found)


LETTERS = "A", "B", "C", "DEFG", "HIJK", "L", "M", "NOPQ", "RS", "T", "UVWXYZ"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("letters", LETTERS)
def test_samples_agree(torch: Any, letters: str, dtype: str):
    wrong = []
    with warnings.catch_warnings(), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        warnings.simplefilter("ignore")
        for name, info in table().items():
            if name[0] in letters and name not in KNOWN:
                wrong += failures(torch, info, dtype)
    assert not wrong, "\n".join(wrong)


def test_bad_arguments_raise_errors_of_the_same_class(torch: Any):
    wrong = []
    for name, info in table().items():
        if info.module_error_inputs_func is None:
            continue
        for training in (True, False):
            for error in info.module_error_inputs_func(
                info, device="cpu", dtype=torch.float64, requires_grad=False, training=training
            ):
                sample, twin = error.module_error_input, Twin(torch)
                given, call = sample.constructor_input, sample.forward_input
                try:
                    made = getattr(nn, name)(*twin(given.args), **twin(given.kwargs))
                    if error.error_on.name == "FORWARD_ERROR":
                        made.double()(*twin(call.args), **twin(call.kwargs))
                    found: Any = None
                except Exception as raised:
                    found = raised
                if not isinstance(found, error.error_type):
                    there = f"{error.error_type.__name__}: {error.error_regex}"
                    wrong.append(f"{name} {sample.desc}: {type(found).__name__}: {found}; there {there}")
    assert not wrong, "\n".join(wrong)
