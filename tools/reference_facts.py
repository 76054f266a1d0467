"""The facts that the API reference shows of functions, modules and optimizers, measured by calling each as its example does."""

from __future__ import annotations

import contextlib
import copy
import inspect
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import staticgrad as sg
from staticgrad import nn, optim

from .example_runs import documented, printed, reference, statements, surroundings

COMPUTED = "functions", "functional", "special", "linalg", "fft"
"""Pages of functions of tensors: calling them changes nothing else."""
LISTED = 6
"""Tensors of a module that are named."""
DTYPES = "bool", "int64", "float32", "float64", "complex64"


Call = tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]


def first_call(path: str) -> Call | None:
    """A function, with the arguments with which its example calls it first."""
    function, calls = reference.value_of(path), list[Call]()
    homes = [(sys.modules[p.rpartition(".")[0]], p.rpartition(".")[2])
             for p, key in reference.names().items() if key == path]  # fmt: skip

    def recording(*args: Any, **named: Any) -> Any:
        calls.append((function, tuple(map(_kept, args)), {k: _kept(v) for k, v in named.items()}))
        return function(*args, **named)

    for home, name in homes:
        setattr(home, name, recording)
    try:
        run(path)
    finally:
        for home, name in homes:
            setattr(home, name, function)
    return calls[0] if calls else None


def run(path: str) -> None:
    """Run the example of a path, up to an error."""
    text = "\n".join(f">>> {e.source}".replace("\n", "\n... ").removesuffix("... ") for e in statements(documented(path)))
    with contextlib.suppress(RuntimeError):
        printed(text, path)


def first_module(path: str) -> tuple[nn.Module, Call] | None:
    """A module of a class, and its first call in the example, as a function that gives it the dtype of its operands."""
    kind, calls, original = reference.value_of(path), list[tuple[nn.Module, Call]](), nn.Module.__call__

    def recording(module: Any, *args: Any, **named: Any) -> Any:
        if type(module) is kind and not calls:
            kept = copy.deepcopy(module)

            def function(*args: Any, **named: Any) -> Any:
                made = copy.deepcopy(kept)
                dtypes = [t.dtype for t in tensors([*args, *named.values()]) if t.dtype.kind in "fc"]
                return (made.to(dtypes[0]) if dtypes else made)(*args, **named)

            calls.append((kept, (function, tuple(map(_kept, args)), {k: _kept(v) for k, v in named.items()})))
        return original(module, *args, **named)

    setattr(nn.Module, "__call__", recording)  # noqa: B010  # one method of every module
    try:
        run(path)
    finally:
        setattr(nn.Module, "__call__", original)  # noqa: B010
    return calls[0] if calls else None


def _kept(value: Any) -> Any:
    """An argument as it is before the call."""
    if isinstance(value, sg.Tensor):
        return value.detach().clone()
    return type(value)(map(_kept, value)) if type(value) in (list, tuple) else value


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with its tensors changed."""
    if isinstance(value, sg.Tensor):
        return change(value)
    return type(value)(replaced(v, change) for v in value) if type(value) in (list, tuple) else value


def tensors(value: Any) -> list[Any]:
    if isinstance(value, sg.Tensor):
        return [value]
    return [t for part in value for t in tensors(part)] if isinstance(value, (list, tuple)) else []


def tried(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any], change: Callable[[Any], Any]) -> Any:
    """The tensors of a call, or the error that it raises."""
    try:
        with surroundings(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*(replaced(a, change) for a in args), **{k: replaced(v, change) for k, v in named.items()})
            return tensors(found)
    except Exception as error:
        return error


def joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _of_dtype(kinds: str, dtype: Any, t: Any) -> Any:
    return t.detach().to(dtype) if t.dtype.kind in kinds else t


def _instead(odd: Any, longer: Any, t: Any) -> Any:
    return longer if t is odd else t


def total(parts: Sequence[Any]) -> Any:
    """The sum of the elements of tensors, by their real parts."""
    sums: list[Any] = [sg.real(t).sum() if t.dtype.kind == "c" else t.sum() for t in parts]
    return sum(sums[1:], sums[0])


def dtypes_of(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> str:
    """Which dtypes of its operands a function takes, and which dtype its (first) result has."""
    given = tensors([*args, *named.values()])
    if not given:
        return ""
    kinds = "fc" if any(t.dtype.kind in "fc" for t in given) else "bi"
    results: dict[str, list[str]] = defaultdict(list)
    for name in DTYPES:
        found = tried(function, args, named, partial(_of_dtype, kinds, getattr(sg, name)))
        if isinstance(found, sg.errors.DTypeError):
            results["DTypeError"].append(name)
        elif not isinstance(found, Exception) and found:
            gives = str(found[0].dtype)
            results["" if gives == name else gives].append(name)
    same, refused = results.pop("", []), results.pop("DTypeError", [])
    parts = [joined(same)] if same else []
    parts += [f"{joined(takes)} {'gives' if len(takes) == 1 else 'give'} {gives}" for gives, takes in results.items()]
    parts += [f"DTypeError for {joined(refused)}"] if refused else []
    return "; ".join(parts)


def shapes_of(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> str:
    """The shapes of operands and results."""
    given, found = tensors([*args, *named.values()]), tried(function, args, named, lambda t: t)
    if isinstance(found, Exception) or not found or not any(t.ndim for t in [*given, *found]):
        return ""
    takes, gives = ([str(tuple(t.shape)) for t in some] for some in (given, found))
    return f"{joined(takes)} {'gives' if len(takes) == 1 else 'give'} {joined(gives)}" if takes else joined(gives)


def state_of(module: nn.Module) -> str:
    try:
        shapes = [f"{name} {tuple(value.shape)}" for name, value in module.state_dict().items()]
    except sg.StaticgradError:  # a lazy module
        return ""
    if not shapes:
        return ""
    return joined(shapes) if len(shapes) <= LISTED else f"{', '.join(shapes[:LISTED])} and {len(shapes) - LISTED} more"


def gradients_of(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> str:
    leaves: list[Any] = []

    def leaf(t: Any) -> Any:
        if t.dtype.kind not in "fc":
            return t
        leaves.append(t.detach().clone().requires_grad_())
        return leaves[-1].clone()

    found = tried(function, args, named, leaf)
    roots = [] if isinstance(found, Exception) else [t for t in found if t.requires_grad]
    if not leaves or isinstance(found, Exception):
        return ""
    if not roots:
        return "none"
    try:
        first = sg.grad(total(roots), leaves, create_graph=True, allow_unused=True)
        again = [g for g in first if g is not None and g.requires_grad]
        if not again:
            return "first; the second is 0"
        sg.grad(total(again), leaves, allow_unused=True)
    except sg.StaticgradError:
        return "first"
    return "first and second"


def errors_of(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any], least: int) -> str:
    """Errors of operands that don't fit, where there are more than `least`, and of an axis that there is not."""
    found = []
    given = [t for t in tensors([*args, *named.values()]) if t.ndim]
    for odd in given if len(given) > least else ():
        longer = sg.cat([odd, odd[..., :1]], -1)
        error = tried(function, args, named, partial(_instead, odd, longer))
        if isinstance(error, sg.StaticgradError):
            found.append(f"{type(error).__name__} where shapes do not fit")
    try:
        bound = inspect.signature(function).bind(*args, **named)
    except (TypeError, ValueError):
        bound = None
    for word in ("dim", "axis"):
        if bound is not None and word in bound.signature.parameters:
            error = tried(function, (), {**_by_name(bound), word: 9}, lambda t: t)
            if isinstance(error, sg.errors.AxisError):
                found.append(f"{type(error).__name__} for an axis that is not there")
    return "; ".join(dict.fromkeys(found))


def _by_name(bound: inspect.BoundArguments) -> dict[str, Any]:
    kinds = {p.name: p.kind for p in bound.signature.parameters.values()}
    return {k: v for k, v in bound.arguments.items() if kinds[k] is not inspect.Parameter.VAR_POSITIONAL}


def of_a_call(call: Call, least: int = 1) -> dict[str, str]:
    return {
        "Shapes in the example": shapes_of(*call),
        "Dtypes": dtypes_of(*call),
        "Gradients": gradients_of(*call),
        "Errors": errors_of(*call, least),
    }


def of_an_optimizer(kind: type[optim.Optimizer]) -> dict[str, str]:
    """The state that a step makes for each parameter, the dtypes of parameters, and the error of a negative learning rate."""
    state: list[str] = []
    dtypes = []
    for name in ("float32", "float64", "complex64"):
        w = sg.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=getattr(sg, name), requires_grad=True)
        try:
            with surroundings(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                opt = kind([w])  # type: ignore[call-arg]

                def closure(opt: Any = opt, w: Any = w) -> Any:
                    opt.zero_grad()
                    loss = (sg.abs(w) ** 2).sum()
                    loss.backward()
                    return loss

                opt.step(closure)
            state = state or [*opt.state_dict()["state"].get(0, ())]
            dtypes.append(name)
        except sg.StaticgradError:
            continue
    if not dtypes:
        return {}
    refused = ""
    try:
        kind([sg.ones(2, requires_grad=True)], lr=-1.0)  # type: ignore[call-arg]
    except Exception as error:
        refused = f"{type(error).__name__} for a learning rate below 0" if not isinstance(error, TypeError) else ""
    return {"State of each parameter": joined(state) if state else "none", "Dtypes": joined(dtypes), "Errors": refused}


def measured() -> dict[str, str]:
    """A line per function of tensors, module and optimizer."""
    found = {}
    for path, key in reference.names().items():
        value = reference.value_of(path)
        if path != key or not callable(value):
            continue
        parts: dict[str, str] = {}
        if inspect.isclass(value):
            if issubclass(value, nn.Module):
                module = first_module(path)
                parts = {} if module is None else {"State": state_of(module[0]), **of_a_call(module[1], 0)}
            elif issubclass(value, optim.Optimizer):
                parts = {} if value in (optim.Optimizer, optim.ZeroRedundancyOptimizer) else of_an_optimizer(value)
        elif reference.page_of()[path] in COMPUTED:
            call = first_call(path)
            parts = {} if call is None else of_a_call(call)
        found[path] = " ".join(f"{word}: {text}." for word, text in parts.items() if text)
    return {path: line for path, line in found.items() if line}
