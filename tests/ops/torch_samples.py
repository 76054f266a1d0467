"""PyTorch's own operator samples (`op_db`), run here and there: values, dtypes, shapes, first gradients."""

from __future__ import annotations

import re
import sys
import types
import unittest
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad.base.types import MOST_AXES

DTYPES = ("float32", "float64", "int64", "bool", "complex64", "complex128", "float16", "bfloat16")
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "float64": 1e-7, "complex64": 1e-4, "complex128": 1e-7}
OF_SINGLE = {**TOLERANCE, "float64": 1e-4, "complex128": 1e-4}
"""Of results in double precision, where an operand is float32: PyTorch computes parts of them in float32."""
SMALL = 1e-6
"""Results that are all smaller are what rounding leaves of 0."""
MOST = 40
"""Samples per op and dtype."""

LEFT_OUT = ("_", "jiterator", "sparse.", "torch.", "masked.", "signal.", "to_sparse")
"""Prefixes of the names of ops that are not compared: internals of PyTorch, GPUs, sparse tensors, and the functions that tests
of `staticgrad.nn` compare."""

RANDOM = frozenset({
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "uniform", "nn.functional.alpha_dropout", "nn.functional.dropout",
    "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "nn.functional.rrelu",
})  # fmt: skip


def drawn(op: Any, sample: Any) -> bool:
    """Whether a sample asks for random numbers."""
    given = (*sample.args, *sample.kwargs.values())
    attends = op.name.endswith(("attention", "attention_forward"))
    return op.name in RANDOM or (attends and any(isinstance(v, float) and v > 0 for v in given))


SIGNS = frozenset({"linalg.eigh", "linalg.svd", "pca_lowrank", "svd", "svd_lowrank"})
"""Vectors have either sign: samples say what to compare."""


UNDEFINED = frozenset({"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"})
"""Values are not compared."""


TIES = frozenset({"kthvalue", "mode", "sort", "topk"})
"""Which of equal elements they name is not defined: the values are compared."""


def load() -> list[Any]:
    """The table of ops. PyTorch's module asks for a package of expected texts that samples have no need of."""
    if "expecttest" not in sys.modules:
        module = types.ModuleType("expecttest")
        module.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        module.assert_expected_inline = lambda *args, **named: None  # type: ignore[attr-defined]
        sys.modules["expecttest"] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        torch.backends.disable_global_flags = lambda: None  # PyTorch's module would forbid programs to set flags from here on
        from torch.testing._internal.common_methods_invocations import op_db
    return list(op_db)


def compared(op: Any) -> bool:
    dunder = op.name.startswith("__")
    return dunder or not op.name.startswith(LEFT_OUT)


def twin(name: str, variant: str = "") -> Callable[..., Any]:
    """Our function of an op's name. Raises AttributeError."""
    if name in METHODS:
        return lambda x, *args, **named: getattr(x, name)(*args, **named)
    if name in ATTRIBUTES:
        return lambda x: getattr(x, name)
    if f"{name} {variant}" in ORDERS or name in ORDERS:
        return ORDERS.get(f"{name} {variant}") or ORDERS[name]
    found: Any = sg
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        method = getattr(sg.Tensor, name)
        return lambda x, *args, **named: getattr(x, name)(*args, **named) if callable(method) else getattr(x, name)
    return found


METHODS = frozenset({
    "bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short", "cdouble", "cfloat", "chalf",
    "to", "item", "uniform", "new_empty", "new_full", "new_ones", "new_zeros",
    "new_empty_strided", "resize_", "resize_as_", "zero_", "view", "view_as", "expand_as", "reshape_as", "contiguous",
    "sum_to_size", "repeat",
})  # fmt: skip
ATTRIBUTES = frozenset({"T", "H", "mT", "mH"})
ORDERS: dict[str, Callable[..., Any]] = {  # the input that varies comes first in samples
    "where": lambda x, condition, other: sg.where(condition, x, other),
    "polygamma": lambda x, n: sg.polygamma(n, x),
    "special.polygamma": lambda x, n: sg.special.polygamma(n, x),
    "einsum": lambda operands, equation: sg.einsum(equation, *operands),
    "nn.functional.embedding": lambda weight, index, **named: sg.nn.functional.embedding(index, weight, **named),
    "nn.functional.embedding_bag": lambda weight, index, *args, **named: sg.nn.functional.embedding_bag(
        index, weight, *args, **named
    ),
    "linalg.lstsq grad_oriented": lambda a, b, **named: sg.linalg.lstsq(a, b, **named)[:2],
    "linalg.pinv singular": lambda a, b: sg.linalg.pinv(a @ b.mT),
    "pca_lowrank": lambda a, b, **named: sg.pca_lowrank(a @ b.mT, **named),
    "svd_lowrank": lambda a, b, **named: sg.svd_lowrank(a @ b.mT, **named),
    "normal in_place": lambda x, *args: x.normal_(*args),
    "argsort": lambda x, *args, **named: sg.take_along_dim(x, sg.argsort(x, *args, **named), _axis(*args, **named)),
}


def _axis(dim: int = -1, *args: Any, **named: Any) -> int:
    """The axis that arguments of `argsort` name."""
    return dim


HALF = ("float16", "bfloat16")


def rounded_once(torch: Any, call: Callable[..., Any], dtype: str) -> Callable[..., Any]:
    """PyTorch's function in float32, with results that are rounded to `dtype`: where its own kernels round in between, other
    results are as good."""
    kind = getattr(torch, dtype)

    def cast(value: Any, of: Any, to: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(to) if value.dtype == of else value
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return [cast(v, of, to) for v in value]
        return {k: cast(v, of, to) for k, v in value.items()} if isinstance(value, dict) else value

    def function(*args: Any, **named: Any) -> Any:
        return cast(call(*cast(args, kind, torch.float32), **cast(named, kind, torch.float32)), torch.float32, kind)

    return function


def theirs_of(torch: Any, op: Any, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """PyTorch's result: of `argsort` the elements in order, as the order of equal ones is not defined."""
    result = call(*args, **named)
    return torch.take_along_dim(args[0], result, _axis(*args[1:], **named)) if op.name == "argsort" else result


INPLACE = {"cauchy": "cauchy_", "exponential": "exponential_", "geometric": "geometric_", "log_normal": "log_normal_",
           "uniform": "uniform_"}  # fmt: skip


def ours(torch: Any, value: Any) -> Any:
    """A value of PyTorch's, as one of ours."""
    if isinstance(value, torch.Tensor):
        array = _array(torch, value)
        return sg.from_numpy(array).requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype):
        return getattr(sg, str(value).split(".")[1])
    if isinstance(value, (torch.device, torch.layout)):
        return str(value) if isinstance(value, torch.device) else None
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        return type(value)(ours(torch, v) for v in value)
    if isinstance(value, dict):
        return {k: ours(torch, v) for k, v in value.items()}
    if isinstance(value, torch.nn.Module):
        return getattr(sg.nn, type(value).__name__)()
    if callable(value) and hasattr(sg.nn.functional, getattr(value, "__name__", "")):
        return getattr(sg.nn.functional, value.__name__)
    return value


def _array(torch: Any, value: Any) -> Any:
    """The memory of a tensor of PyTorch's, for which NumPy has no bfloat16."""
    value = value.detach().resolve_conj().resolve_neg()
    if value.dtype != torch.bfloat16:
        return value.numpy()
    return value.view(torch.int16).numpy().view(np.dtype(sg.bfloat16))


def tensors(kind: type, value: Any) -> list[Any]:
    """The tensors in a value, in order."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(kind, v)]
    return []


def difference(torch: Any, mine: Any, expected: Any, values: bool = True, tolerances: dict[str, float] = TOLERANCE) -> str:
    """What is different; "" where nothing is."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(mine, sg.Tensor):
            return f"{type(mine).__name__}, no tensor"
        if str(mine.dtype) != str(expected.dtype).split(".")[1]:
            return f"dtype {mine.dtype}, not {expected.dtype}"
        if tuple(mine.shape) != tuple(expected.shape):
            return f"shape {tuple(mine.shape)}, not {tuple(expected.shape)}"
        if not values:
            return ""
        expected = expected + 0 if expected.dtype.is_floating_point or expected.is_complex() else expected
        a, b = mine.detach().numpy(), _array(torch, expected)
        if b.dtype.kind not in "fcV":
            return "" if np.array_equal(a, b) else "values"
        tolerance = tolerances[str(b.dtype)]
        a, b = (x.astype(np.float32) if x.itemsize == 2 else x for x in (a, b))
        finite = np.abs(b[np.isfinite(b)])
        atol = tolerance * (max(float(finite.max()), SMALL) if finite.size else 1.0)
        return "" if np.allclose(a, b, rtol=tolerance, atol=atol, equal_nan=True) else "values"
    if isinstance(expected, (list, tuple)):
        if not isinstance(mine, (list, tuple)) or len(mine) != len(expected):
            return f"{type(mine).__name__} of {len(mine) if hasattr(mine, '__len__') else '?'}, not {len(expected)}"
        parts = (difference(torch, m, e, values, tolerances) for m, e in zip(mine, expected, strict=True))
        return next((f"part: {p}" for p in parts if p), "")
    if isinstance(expected, float):
        return "" if np.isclose(mine, expected, rtol=1e-4, equal_nan=True) or not values else f"{mine}, not {expected}"
    return "" if mine == expected else f"{mine!r}, not {expected!r}"


def tolerances_of(torch: Any, sample: Any) -> dict[str, float]:
    operands = tensors(torch.Tensor, [sample.input, list(sample.args), sample.kwargs])
    return OF_SINGLE if any(t.dtype == torch.float32 for t in operands) else TOLERANCE


def seeds(torch: Any, results: Sequence[Any]) -> list[Any]:
    """Cotangents of results, without ties to them."""
    found = [torch.cos(torch.arange(r.numel(), dtype=torch.float64) + 1).reshape(r.shape) for r in results]
    return [(g * (1 + 2j) if r.is_complex() else g).to(r.dtype) for g, r in zip(found, results, strict=True)]


class Mode:
    """How samples run here: eagerly, unless a subclass says otherwise."""

    def function(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function whose results are compared."""
        return fn

    def differentiated(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function of which gradients are taken."""
        return self.function(fn)

    def around(self) -> Any:
        """The context in which they are taken."""
        return nullcontext()

    def leaf(self, x: Any) -> Any:
        """The tensor by which they are taken in place of an eager one."""
        return x

    def smooth(self, x: Any) -> bool:
        """Whether a result has a gradient."""
        return bool(x.requires_grad)

    def grad(self, results: list[Any], leaves: list[Any], weights: list[Any], again: bool) -> Sequence[Any]:
        """The gradients, or None, by each leaf. again: gradients of these are taken."""
        return sg.grad(results, leaves, weights, allow_unused=True, create_graph=again)

    def values(self, found: Sequence[Any]) -> Sequence[Any]:
        """Gradients as eager tensors."""
        return found


EAGER = Mode()


def gradients_differ(
    torch: Any, fn: Callable[..., Any], sample: Any, theirs: Any, chosen: Callable[..., Any], mode: Mode = EAGER, order: int = 1
) -> str:
    """How our gradients of a sample, up to this order, differ from PyTorch's."""
    whole = [sample.input, list(sample.args), sample.kwargs]
    leaves = [t for t in tensors(torch.Tensor, whole) if t.requires_grad]
    outputs = [r for r in tensors(torch.Tensor, theirs) if r.requires_grad]
    if not leaves or not outputs:
        return ""
    weights = seeds(torch, outputs)
    tolerances = tolerances_of(torch, sample)
    expected = [torch.autograd.grad(outputs, leaves, weights, allow_unused=True, create_graph=order > 1)]
    with mode.around():
        made = {id(t): mode.leaf(ours(torch, t)) for t in leaves}
        given = [*_given(torch, whole[0:1], made), *_given(torch, whole[1], made)]
        results = tensors(sg.Tensor, chosen(fn(*given, **_named(torch, sample.kwargs, made))))
        weights = _aligned(tensors(torch.Tensor, theirs), outputs, weights)
        found = [_gradients(torch, mode, results, weights, made, order > 1)]
        smooth = [e for e in expected[0] if e is not None and e.requires_grad]
        if order > 1 and smooth:
            weights = seeds(torch, smooth)
            expected.append(torch.autograd.grad(smooth, leaves, weights, allow_unused=True))
            found.append(_gradients(torch, mode, found[0], _aligned(expected[0], smooth, weights), made, False))
        values = [mode.values(each) for each in found]
    for name, here, there in zip(("gradient", "second gradient"), values, expected, strict=False):
        for f, e in zip(here, there, strict=True):
            if e is None:
                if f is not None and np.abs(f.detach().numpy()).sum():
                    return f"{name}: none there"
                continue
            f = ours(torch, torch.zeros_like(e)) if f is None else f
            different = difference(torch, f, e.detach(), True, tolerances)
            if different:
                return f"{name}: {different}"
    return ""


def _gradients(
    torch: Any, mode: Mode, results: Sequence[Any], weights: Sequence[Any], made: dict[int, Any], again: bool
) -> Sequence[Any]:
    """Ours, of results with these cotangents. weights: None where there is none."""
    pairs = [(m, w) for m, w in zip(results, weights, strict=True) if w is not None and m is not None and mode.smooth(m)]
    if not pairs:
        return (None,) * len(made)
    return mode.grad([m for m, _ in pairs], [*made.values()], [ours(torch, w) for _, w in pairs], again)


def _aligned(theirs: Any, outputs: list[Any], weights: list[Any]) -> list[Any]:
    """The weight of each of their tensors, None where it has none."""
    by = {id(o): w for o, w in zip(outputs, weights, strict=True)}
    return [by.get(id(t)) for t in theirs]


def _given(torch: Any, values: Any, made: dict[int, Any]) -> list[Any]:
    return [replaced(torch, v, made) for v in values]


def _named(torch: Any, values: dict[str, Any], made: dict[int, Any]) -> dict[str, Any]:
    return {k: replaced(torch, v, made) for k, v in values.items()}


def replaced(torch: Any, value: Any, made: dict[int, Any], other: Callable[[Any, Any], Any] = ours) -> Any:
    """A value of which some tensors, by identity, are replaced; the rest as `other` makes it."""
    if id(value) in made:
        return made[id(value)]
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(replaced(torch, v, made, other) for v in value)
    if isinstance(value, dict):
        return {k: replaced(torch, v, made, other) for k, v in value.items()}
    return other(torch, value)


def samples(torch: Any, op: Any, dtype: str, requires_grad: bool) -> Iterator[Any]:
    kind = getattr(torch, dtype)
    if kind in op.dtypes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from islice(op.sample_inputs("cpu", kind, requires_grad=requires_grad), MOST)


def has_gradients(torch: Any, op: Any, dtype: str, order: int = 1) -> bool:
    """Whether gradients of this order are compared."""
    kind = getattr(torch, dtype)
    smooth = kind in op.backward_dtypes and (kind.is_floating_point or kind.is_complex)
    supported = op.supports_autograd and (order == 1 or op.supports_gradgrad)
    return smooth and supported and dtype not in ("float32", "complex64") and op.name not in (*RANDOM, *TIES, "zero_")


def failures(torch: Any, op: Any, dtype: str, mode: Mode = EAGER, order: int = 1) -> Iterator[str]:
    """What is different for an op's samples of a dtype: nothing where all agree. order: of the gradients that are compared."""
    name = INPLACE.get(op.name, op.name)
    try:
        fn = twin(name, op.variant_test_name)
    except AttributeError:
        yield "missing"
        return
    order = order if has_gradients(torch, op, dtype, order) else int(has_gradients(torch, op, dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in enumerate(samples(torch, op, dtype, order > 0)):
            different = _differs(torch, op, op.op, fn, sample, mode, order)
            if different and dtype in HALF:
                different = _differs(torch, op, rounded_once(torch, op.op, dtype), fn, sample, mode, order) and different
            if different:
                yield f"{dtype} sample {number}: {different}   [{sample.summary()}]"


def _differs(
    torch: Any, op: Any, call: Callable[..., Any], fn: Callable[..., Any], sample: Any, mode: Mode, order: int
) -> str:  # fmt: skip
    """How our results and gradients of a sample differ from those of `call`; "" where they don't, and where it refuses it.
    order: of the highest gradients that are compared, 0 for none."""
    values = op.name not in UNDEFINED and not drawn(op, sample)
    try:
        chosen = sample.output_process_fn_grad if op.name in SIGNS else _itself
        theirs = chosen(theirs_of(torch, op, call, fresh(torch, sample.input), *fresh(torch, sample.args), **sample.kwargs))
    except Exception:
        return ""
    try:
        with sg.no_grad():
            mine = chosen(mode.function(fn)(
                ours(torch, fresh(torch, sample.input)),
                *ours(torch, fresh(torch, sample.args)),
                **ours(torch, sample.kwargs),
            ))  # fmt: skip
        if op.name in TIES:
            mine, theirs = mine[:1], theirs[:1]
        different = difference(torch, mine, theirs, values, tolerances_of(torch, sample))
        if not different and order and values:
            theirs = chosen(theirs_of(torch, op, call, sample.input, *sample.args, **sample.kwargs))
            different = gradients_differ(torch, mode.differentiated(fn), sample, theirs, chosen, mode, order)
    except Exception as error:
        different = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return different


def _itself(value: Any) -> Any:
    return value


def fresh(torch: Any, value: Any) -> Any:
    """Copies of tensors, which an in-place op may change."""
    if isinstance(value, dict):
        return {k: fresh(torch, v) for k, v in value.items()}
    if isinstance(value, torch.Tensor):
        return value.detach().clone() if value.is_contiguous() else value.detach()
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(fresh(torch, v) for v in value)
    return value


def refusals(torch: Any, op: Any) -> Iterator[str]:
    """PyTorch's samples of bad arguments that have no error of its class here.

    Left out: numbers where PyTorch insists on tensors, as NumPy does not; `out=`, which is refused; and tensors that NumPy
    can't hold.
    """
    try:
        fn = twin(INPLACE.get(op.name, op.name), op.variant_test_name)
    except AttributeError:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, error in enumerate(op.error_inputs("cpu") if op.error_inputs_func else ()):
            sample = error.sample_input
            given = [fresh(torch, sample.input), *fresh(torch, sample.args)]
            foreign = [t for t in tensors(torch.Tensor, [given, sample.kwargs]) if not _here(t)]
            expected, text = _raised(op.op, given, sample.kwargs)
            if foreign or expected is None or "out" in sample.kwargs or isinstance(given[0], int) or NUMBER.search(text):
                continue
            found, mine = _raised(fn, ours(torch, given), ours(torch, sample.kwargs))
            if found is None or not issubclass(found, expected):
                name = "no error" if found is None else f"{found.__name__}: {mine}"
                yield f"error sample {number}: {name}; there {expected.__name__}: {text}"


NUMBER = re.compile(r"must be Tensor, not (int|float)|- got \((Tensor, )?(int|float)\b|doesn't apply to a 'int'")
HERE = ("float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool")


def _here(x: Any) -> bool:
    return not x.is_meta and str(x.dtype)[6:] in HERE and x.dim() <= MOST_AXES


def _raised(fn: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> tuple[type[Exception] | None, str]:
    try:
        fn(*args, **named)
    except Exception as error:
        return type(error), (str(error).splitlines() or [""])[0]
    return None, ""
