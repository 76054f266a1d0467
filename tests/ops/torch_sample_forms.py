"""PyTorch's operator samples in other forms: in the other modes, differentiated twice, in memory in another order, by name."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

import staticgrad as sg
from tests.ops import torch_samples as base

FEW, FIRST = 3, 12
"""Samples per op, dtype and form, spread over so many of PyTorch's."""
WORDS = {"dim": "axis", "keepdim": "keepdims"}
NOT_RUN = frozenset({"chalf", "empty", "item", "resize_", "resize_as_", "to", *base.RANDOM})


def several(torch: Any, op: Any, dtype: str, requires_grad: bool = False) -> list[Any]:
    if op.name in NOT_RUN:
        return []
    first = islice(base.samples(torch, op, dtype, requires_grad), FIRST)
    found = [s for s in first if not base.drawn(op, s)]
    return found[:: max(1, len(found) // FEW)][:FEW]


def chosen(op: Any, sample: Any) -> Callable[[Any], Any]:
    """What is compared of a result."""
    if op.name in base.TIES:
        return lambda result: result[:1]
    return sample.output_process_fn_grad if op.name in base.SIGNS else lambda result: result


def expected(torch: Any, op: Any, sample: Any, call: Any = None) -> Any:
    """PyTorch's result, or that of `call`; None where it refuses its own sample."""
    given = base.fresh(torch, sample.input), *base.fresh(torch, sample.args)
    try:
        return chosen(op, sample)(base.theirs_of(torch, op, call if call is not None else op.op, *given, **sample.kwargs))
    except Exception:
        return None


def compared(torch: Any, op: Any, sample: Any, theirs: Any, run: Callable[[], Any]) -> str:
    """What is different in the result of `run`; "" where nothing is."""
    try:
        mine = run()
        return base.difference(torch, mine, theirs, op.name not in base.UNDEFINED, base.tolerances_of(torch, sample))
    except Exception as error:
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def in_modes(torch: Any, op: Any, dtype: str) -> Iterator[str]:
    """What a session and a compiled function give otherwise than PyTorch."""
    fn = base.twin(base.INPLACE.get(op.name, op.name), op.variant_test_name)
    for sample in several(torch, op, dtype):
        whole = [sample.input, list(sample.args), sample.kwargs]
        given = base.tensors(torch.Tensor, whole)
        theirs = base.tensors(torch.Tensor, expected(torch, op, sample))
        if not given or not theirs:
            continue

        def program(*xs: Any, op: Any = op, sample: Any = sample, whole: list[Any] = whole, given: Any = given) -> list[Any]:
            made = {id(t): x for t, x in zip(given, xs, strict=True)}
            first, rest, named = base.replaced(torch, whole, made)
            return base.tensors(sg.Tensor, chosen(op, sample)(fn(first, *rest, **named)))

        def eager(given: Any = given) -> list[Any]:
            return [base.ours(torch, base.fresh(torch, t)).detach() for t in given]

        def session(program: Any = program, eager: Any = eager) -> list[Any]:
            arrays = [x.numpy() for x in eager()]
            with sg.Graph().as_default(), sg.Session() as sess:
                xs = [sg.placeholder(a.dtype, a.shape) for a in arrays]
                return [sg.from_numpy(np.array(r)) for r in sess.run(program(*xs), dict(zip(xs, arrays, strict=True)))]

        def compiled(program: Any = program, eager: Any = eager) -> list[Any]:
            return list(sg.compile(program)(*eager()))

        for mode in (session, compiled):
            different = compared(torch, op, sample, theirs, mode)
            if different and dtype in base.HALF:
                once = expected(torch, op, sample, base.rounded_once(torch, op.op, dtype))
                different = compared(torch, op, sample, base.tensors(torch.Tensor, once), mode) and different
            if different:
                yield f"{dtype} {mode.__name__}: {different}   [{sample.summary()}]"


POINTS: dict[str, tuple[float, ...]] = {
    "ties": (0.0, 1.0, -1.0, 2.0),
    "zeros": (0.0, -0.0),
    "equal": (1.0,),
    "wide": (400.0, -400.0, 0.0, 1000.0, -1000.0),
}
"""Numbers that take the place of a sample's."""


def at_special_points(torch: Any, op: Any) -> Iterator[str]:
    """What is different in values and first gradients where the floating operands of samples are ties, zeros, equal, or far
    apart."""
    if not op.supports_autograd or op.name in (*base.TIES, *base.SIGNS, *base.UNDEFINED):
        return
    fn = base.twin(base.INPLACE.get(op.name, op.name), op.variant_test_name)
    for kind, numbers in POINTS.items():
        for place, sample in enumerate(several(torch, op, "float64", True)):
            drawn = np.random.default_rng(place)
            whole = [sample.input, list(sample.args), sample.kwargs]
            tensors = [t for t in base.tensors(torch.Tensor, whole) if t.dtype == torch.float64]
            made = {}
            for t in tensors:
                array = drawn.choice(numbers, tuple(t.shape))
                made[id(t)] = torch.tensor(array, dtype=t.dtype, requires_grad=t.requires_grad)
            first, rest, named = base.replaced(torch, whole, made, lambda torch, value: value)
            given = type(sample)(first, args=tuple(rest), kwargs=named)
            try:
                theirs = base.theirs_of(torch, op, op.op, first, *rest, **named)
            except Exception:  # PyTorch refuses these numbers
                continue
            try:
                with sg.no_grad():
                    mine = fn(base.ours(torch, first), *base.ours(torch, rest), **base.ours(torch, named))
                different = base.difference(torch, mine, theirs, True, base.tolerances_of(torch, sample))
                if not different:
                    different = base.gradients_differ(torch, fn, given, theirs, lambda result: result)
            except Exception as error:
                different = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            if different:
                yield f"{kind}: {different}   [{sample.summary()}]"


def twice(torch: Any, op: Any) -> Iterator[str]:
    """What is different in second gradients, by operands and by the first ones' cotangents."""
    if not (op.supports_autograd and op.supports_gradgrad) or op.name in base.TIES:
        return
    fn = base.twin(base.INPLACE.get(op.name, op.name), op.variant_test_name)
    for sample in several(torch, op, "float64", True):
        different = _second(torch, fn, op, sample)
        if different:
            yield f"second gradient: {different}   [{sample.summary()}]"


def _second(torch: Any, fn: Callable[..., Any], op: Any, sample: Any) -> str:
    whole = [sample.input, list(sample.args), sample.kwargs]
    leaves = [t for t in base.tensors(torch.Tensor, whole) if t.requires_grad]
    process = sample.output_process_fn_grad
    try:
        result = base.theirs_of(torch, op, op.op, sample.input, *sample.args, **sample.kwargs)
        theirs = base.tensors(torch.Tensor, process(result))
        outputs = [r for r in theirs if r.requires_grad]
        weights = [w.requires_grad_() for w in base.seeds(torch, outputs)]
        first = torch.autograd.grad(outputs, leaves, weights, allow_unused=True, create_graph=True)
        again = [(i, g) for i, g in enumerate(first) if g is not None and g.requires_grad]
        along = base.seeds(torch, [g for _, g in again])
        second = torch.autograd.grad([g for _, g in again], [*leaves, *weights], along, allow_unused=True)
    except Exception:  # it has none, or none here
        return ""
    made = {id(t): base.ours(torch, t) for t in leaves}
    try:
        first_operand, rest, named = base.replaced(torch, whole, made)
        mine = base.tensors(sg.Tensor, process(fn(first_operand, *rest, **named)))
        results = [m for m, t in zip(mine, theirs, strict=True) if t.requires_grad]
        sources = [*made.values(), *(base.ours(torch, w) for w in weights)]
        found = sg.grad(results, sources[: len(leaves)], sources[len(leaves) :], allow_unused=True, create_graph=True)
        pairs = [(found[i], base.ours(torch, w)) for (i, _), w in zip(again, along, strict=True)]
        pairs = [(g, w) for g, w in pairs if g is not None and g.requires_grad]
        values = sg.grad([g for g, _ in pairs], sources, [w for _, w in pairs], allow_unused=True) if pairs else []
    except Exception as error:
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    largest = max((float(e.abs().max()) for e in second if e is not None and e.numel()), default=0.0)
    for f, e in zip(values or [None] * len(second), second, strict=True):
        a, b = (0.0 if v is None else v.numpy(force=True) for v in (f, e))
        if not np.allclose(a, b, rtol=1e-6, atol=1e-7 * max(1.0, largest), equal_nan=True):
            return "values" + (", none here" if f is None else ", none there" if e is None else "")
    return ""


def elsewhere(torch: Any, op: Any, dtype: str) -> Iterator[str]:
    """What is different where operands lie in memory in another order, with gaps."""
    fn = base.twin(base.INPLACE.get(op.name, op.name), op.variant_test_name)
    for sample in several(torch, op, dtype):
        try:
            theirs = expected(torch, op, sample.noncontiguous())
        except RuntimeError:  # a mask or an index that PyTorch can't rearrange
            continue
        if theirs is None:
            continue
        moved = sample.noncontiguous()

        def run(fn: Any = fn, moved: Any = moved, sample: Any = sample) -> Any:
            args, named = base.ours(torch, [moved.input, *moved.args]), base.ours(torch, moved.kwargs)
            return chosen(op, sample)(fn(*args, **named))

        different = compared(torch, op, sample, theirs, run)
        if different:
            yield f"{dtype} elsewhere: {different}   [{sample.summary()}]"


def signatures(torch: Any, name: str, function: Any) -> Iterator[list[str]]:
    """The names of positional arguments of a function of PyTorch's: of its Python, or of the operator's schemas."""
    try:
        parameters = inspect.signature(function).parameters.values()
        yield [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    except (ValueError, TypeError):
        space, _, last = name.rpartition(".")
        operator = f"aten::{space}_{last}" if space in ("linalg", "special", "fft") else f"aten::{last}"
        for schema in torch._C._jit_get_schemas_for_operator(operator):
            words = [a.name for a in schema.arguments if not a.kwarg_only]
            if "a" not in words:  # those are of numbers
                yield ["input" if word == "self" else word for word in words]


def found(space: Any, name: str) -> Any:
    for part in name.split("."):
        space = getattr(space, part, None)
    return space


def by_name(torch: Any, op: Any, dtype: str = "float64") -> Iterator[str]:
    """What is different where arguments are given by PyTorch's names of them, or by NumPy's."""
    theirs_fn, fn = found(torch, op.name), found(sg, op.name)
    if fn is None or theirs_fn is None or op.name in base.SIGNS:
        return
    listed = [words for words in signatures(torch, op.name, theirs_fn) if words]
    for sample in several(torch, op, dtype):
        given = [sample.input, *sample.args]
        for words in listed:
            if len(given) > len(words):
                continue
            named = {**dict(zip(words, given, strict=False)), **sample.kwargs}
            try:
                theirs = chosen(op, sample)(theirs_fn(**base.fresh(torch, named)))
            except Exception:  # PyTorch has no such signature
                continue
            for own in (named, {WORDS.get(word, word): value for word, value in named.items()}):
                arguments = base.ours(torch, base.fresh(torch, own))
                different = compared(torch, op, sample, theirs, lambda a=arguments, s=sample: chosen(op, s)(fn(**a)))
                if different:
                    yield f"{', '.join(own)}: {different}   [{sample.summary()}]"


def quietly(differences: Iterator[str]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(differences)
