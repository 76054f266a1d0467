"""PyTorch's own optimizer samples (`optim_db`), run here and there: values, state dicts, text, schedules, errors."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import optim
from tests.ops import torch_samples
from tests.ops.torch_samples import difference, ours

pytestmark = pytest.mark.oracle

STEPS = 4
SHAPES = ((3, 2), (2, 4), (4,), ())
TOLERANCE = {"float32": 2e-5, "float64": 1e-6, "complex64": 2e-5, "complex128": 1e-6}
"""PyTorch keeps some numbers, such as a count of steps, in float32."""

COARSE = {"Muon": 2e-3}
"""Tolerances where PyTorch computes with less precision: the iterations of Muon are in bfloat16."""
ACCEPTED = (
    "betas must be either both floats or both Tensors",
    "Tensor is not supported for capturable=False",
    "doesn't work with foreach",
)
"""Errors about limits of PyTorch's implementations, which are none here."""


@functools.cache
def table() -> dict[str, Any]:
    torch_samples.load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_optimizers import optim_db
    return {info.name: info for info in optim_db}


NAMES = (
    "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "LBFGS", "Muon", "NAdam", "RAdam", "RMSprop",
    "Rprop", "SGD", "SparseAdam",
)  # fmt: skip


def shapes(name: str) -> tuple[tuple[int, ...], ...]:
    return SHAPES[:2] if name in ("Muon", "SparseAdam") else SHAPES


def start(torch: Any, name: str, dtype: str) -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, dtype=getattr(torch, dtype), generator=generator).requires_grad_() for shape in shapes(name)]


def gradients(torch: Any, like: list[Any], number: int) -> list[Any]:
    generator = torch.Generator().manual_seed(number + 1)
    return [torch.randn(p.shape, dtype=p.dtype, generator=generator) for p in like]


def advance(lib: Any, opt: Any, params: list[Any], grads: list[Any], number: int) -> None:
    """One step: of LBFGS down a bowl, of SparseAdam along a few rows, of others along the gradients given."""
    name = type(opt).__name__
    if name == "LBFGS":

        def closure() -> Any:
            opt.zero_grad()
            loss = sum((((p - 1).abs() ** 2) * (0.5 + g.abs())).sum() for p, g in zip(params, grads, strict=True))
            loss.backward()
            return loss

        opt.step(closure)
        return
    if name == "SparseAdam":
        opt.zero_grad()
        rows = lib.tensor([number % 2, 1, 1])
        for p, g in zip(params, grads, strict=True):
            (lib.nn.functional.embedding(rows, p, sparse=True) * g[rows]).sum().backward()
    else:
        for p, g in zip(params, grads, strict=True):
            p.grad = g
    opt.step()


def variants(info: Any) -> Iterator[dict[str, Any]]:
    """The keyword arguments of an optimizer's samples, with each switch between implementations that there is."""
    for sample in info.optim_inputs_func(device="cpu"):
        yield sample.kwargs
        for switch in ("foreach", "fused"):
            if switch in info.supported_impls and (switch != "fused" or "cpu" in info.supports_fused_on):
                yield {**sample.kwargs, switch: True}


def stepped(torch: Any, info: Any, named: dict[str, Any], dtype: str) -> str:
    """What differs after some steps, and after as many of new optimizers that begin with PyTorch's state; "" for nothing."""
    theirs = start(torch, info.name, dtype)
    mine = [sg.tensor(p.detach().numpy(), requires_grad=True) for p in theirs]
    expected = info.optim_cls([{"params": theirs[:1]}, {"params": theirs[1:], "lr": 0.02}] if info.supports_param_groups
                              else theirs, **named)  # fmt: skip

    def make() -> Any:
        params = [{"params": mine[:1]}, {"params": mine[1:], "lr": 0.02}] if info.supports_param_groups else mine
        return getattr(optim, info.name)(params, **ours(torch, named))

    opt = make()
    tolerances = {kind: COARSE.get(info.name, most) for kind, most in TOLERANCE.items()}
    for part in range(2):
        for number in range(STEPS):
            grads = gradients(torch, theirs, 0 if info.name == "LBFGS" else number)
            advance(torch, expected, theirs, grads, number)
            advance(sg, opt, mine, [sg.tensor(g.numpy()) for g in grads], number)
            for p, t in zip(mine, theirs, strict=True):
                if different := difference(torch, p, t, tolerances=tolerances):
                    return f"step {number}: {different}"
        if different := states_differ(torch, opt.state_dict(), expected.state_dict(), tolerances):
            return different
        if repr(opt) != repr(expected):
            return f"{opt!r}, not {expected!r}"
        if not part:
            opt = make()
            opt.load_state_dict(ours(torch, expected.state_dict()))
    return ""


SCRATCH = {"al"}
"""Slots of PyTorch's that hold nothing from one step to the next."""
PRECISE = {"eta", "mu", "mu_product"}
"""Slots that have the parameter's precision here, and in PyTorch once they were loaded."""
NUMBERS = {"ro", "H_diag", "t", "prev_loss"}
"""Slots of LBFGS that are Python's numbers here."""
NEAR_MINIMUM = {"d", "old_dirs", "old_stps", "prev_flat_grad"}
"""Slots of LBFGS that rounding decides, where steps converge."""


def states_differ(torch: Any, mine: dict[str, Any], theirs: dict[str, Any], tolerances: dict[str, float]) -> str:
    if mine["state"].keys() != theirs["state"].keys():
        return f"state of {list(mine['state'])}, not {list(theirs['state'])}"
    for key, slots in theirs["state"].items():
        own = mine["state"][key]
        slots = {name: value for name, value in slots.items() if name not in SCRATCH}
        if set(own) != set(slots):
            return f"slots {list(own)}, not {list(slots)}"
        for name, value in slots.items():
            if isinstance(value, torch.Tensor) and value.is_sparse:
                value = value.to_dense()
            exact = name not in NEAR_MINIMUM
            if name in PRECISE:
                value = value.to(getattr(torch, own[name].dtype.name))
            if name not in NUMBERS and (different := difference(torch, own[name], value, exact, tolerances)):
                return f"slot {name}: {different}"
    for a, b in zip(mine["param_groups"], theirs["param_groups"], strict=True):
        if set(a) != set(b):
            return f"group {sorted(a)}, not {sorted(b)}"
        for name, value in b.items():
            if different := difference(torch, a[name], value):
                return f"{name} of a group: {different}"
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_samples_agree(torch: Any, name: str):
    info = table()[name]
    dtypes = ["float32", "float64", *(["complex64", "complex128"] if info.supports_complex else [])]
    wrong = []
    for dtype in dtypes:
        for named in variants(info):
            if dtype.startswith("complex") and named.get("fused"):  # which is for real numbers there
                continue
            try:
                different = stepped(torch, info, named, dtype)
            except Exception as error:
                different = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            if different:
                wrong.append(f"{dtype} {named}: {different}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_schedules_agree(torch: Any, name: str):
    from torch.optim import lr_scheduler as schedules

    info = table()[name]
    for number in range(len(info.scheduler_inputs)):
        rates = []
        for lib, pieces in ((torch, schedules), (sg, optim.lr_scheduler)):
            made = [remade(pieces, make) for make in info.scheduler_inputs[number]]
            params = [
                p if lib is torch else sg.tensor(p.detach().numpy(), requires_grad=True) for p in start(torch, name, "float64")
            ]
            opt = getattr(lib.optim, name)(params, lr=0.01)
            chain = [make(opt) for make in made]
            rates.append(one := [])
            for _ in range(25):
                for schedule in chain:
                    given = (1.0,) if type(schedule).__name__ == "ReduceLROnPlateau" else ()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        schedule.step(*given)
                one.append(float(opt.param_groups[0]["lr"]))
        np.testing.assert_allclose(rates[1], rates[0], rtol=1e-12)


def remade(pieces: Any, make: Any) -> Any:
    """A sample's function with the schedules of one library as its globals."""
    import types

    return types.FunctionType(
        make.__code__, {**make.__globals__, **vars(pieces)}, make.__name__, make.__defaults__, make.__closure__
    )


@pytest.mark.parametrize("name", NAMES)
def test_bad_arguments_raise_errors_of_the_same_class(torch: Any, name: str):
    info = table()[name]
    wrong = []
    for dtype in ("float32", "complex64") if info.supports_complex else ("float32",):
        for error in info.optim_error_inputs_func(device="cpu", dtype=getattr(torch, dtype)):
            sample = error.optimizer_error_input
            if any(text in sample.desc.replace("\\", "") for text in ACCEPTED):
                continue
            if any(getattr(t, "is_sparse", False) for t in torch_samples.tensors(torch.Tensor, [sample.params])):
                continue
            params = start(torch, name, dtype)[:1] if sample.params is None else sample.params
            made: dict[int, Any] = {}
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    opt = getattr(optim, name)(_once(torch, params, made), **ours(torch, sample.kwargs))
                    if error.error_on.name == "STEP_ERROR":
                        for p in opt.param_groups[0]["params"]:
                            p.grad = sg.ones_like(p)
                        opt.step()
                    found: Any = None
                except Exception as raised:
                    found = raised
            if issubclass(error.error_type, Warning):
                found = next((w.message for w in said if issubclass(w.category, error.error_type)), found)
            if not isinstance(found, error.error_type) or not re.search(error.error_regex, str(found)):
                wrong.append(
                    f"{sample.desc}: {type(found).__name__}: {found}; there {error.error_type.__name__} {error.error_regex}"
                )
    assert not wrong, "\n".join(wrong)


def _once(torch: Any, value: Any, made: dict[int, Any]) -> Any:
    """As `ours`, with one tensor for each of PyTorch's."""
    if isinstance(value, torch.Tensor):
        return made.setdefault(id(value), ours(torch, value))
    if isinstance(value, (list, tuple)):
        return type(value)(_once(torch, v, made) for v in value)
    return {k: _once(torch, v, made) for k, v in value.items()} if isinstance(value, dict) else ours(torch, value)


def test_all_of_its_optimizers_are_compared(torch: Any):
    assert set(NAMES) == set(table())
