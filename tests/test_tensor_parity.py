"""Every public attribute and method of the eager Tensor, on traced tensors, placeholders and variables.

The list is `dir(sg.Tensor)`. Each is called with whatever arguments eager mode takes, out of a fixed list; what it gives has to
be the same in the other modes, or one of our errors that says what to write instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import StaticgradError
from tests.helpers import assert_close, sweep

pytestmark = [
    pytest.mark.filterwarnings("ignore:indexing a 0-dim tensor with:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"),
    pytest.mark.filterwarnings("ignore:Casting complex values to real:UserWarning"),
]

FORMER = {"creator", "volatile"}
"""They warn; tests/namespaces/autograd/test_former_names.py has them."""
NAMES = [name for name in dir(sg.Tensor) if not name.startswith("_") and name not in FORMER and hasattr(sg.Tensor, name)] + [
    "_version", "__len__", "__iter__", "__contains__", "__getitem__", "__neg__", "__matmul__",
]  # fmt: skip

MATRIX = np.array([[1.5, 2.0, 3.25], [4.0, -5.0, 6.0]], np.float32)
VALUES = {
    "matrix": MATRIX,
    "vector": MATRIX[0],
    "number": np.array(2.5, np.float32),
    "long": np.array([2, 0, 1]),
    "result": MATRIX[:, :1],
    "complex": (MATRIX + 1j * MATRIX[:, ::-1]).astype(np.complex64),
}
"""Kind -> its value; "result" is one that requires grad."""

Arguments = Callable[[Any, tuple[int, ...]], tuple[Any, ...]]
CANDIDATES: tuple[Arguments, ...] = (
    lambda x, _: (), lambda x, _: (0,), lambda x, _: (1,), lambda x, _: (2.5,), lambda x, _: (sg.float64,),
    lambda x, _: (0, 1), lambda x, _: (0, 0), lambda x, _: (0.5, 1.5), lambda x, shape: (shape,), lambda x, _: ((3, 2),),
    lambda x, _: (3, 2), lambda x, _: ((0,),), lambda x, _: (x * 2,), lambda x, _: (x > 2, 7.0), lambda x, _: (x > 2, x),
    lambda x, _: (x.astype(sg.int64) * 0, 0), lambda x, _: (lambda g: None,), lambda x, shape: (sg.ones(shape),),
    lambda x, _: (x.T,),
)  # fmt: skip
RANDOM = {
    "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial", "normal_", "random_",
    "uniform_",
}  # fmt: skip
"""Other numbers with each call."""
OTHER_ARGUMENTS = {
    "addbmm", "addbmm_", "addmm", "addmm_", "addmv", "addmv_", "addr_", "as_strided_scatter", "baddbmm", "baddbmm_", "bfloat16",
    "bmm", "cdouble", "cfloat", "chalf", "cholesky", "cholesky_inverse", "cholesky_solve",
    "cuda", "det", "dsplit", "geometric_", "half",
    "index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_", "index_reduce", "index_reduce_",
    "inverse", "istft", "logdet", "lu_solve", "masked_select", "matrix_exp", "matrix_power", "narrow", "narrow_copy", "put",
    "put_", "nonzero_static", "register_post_accumulate_grad_hook", "renorm", "renorm_",
    "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "select_scatter",
    "slogdet", "triangular_solve", "unflatten", "unfold",
    "stft", "map_", "to_device", "orgqr", "ormqr", "share_memory_", "storage", "storage_type", "untyped_storage", "as_subclass",
    "sparse_mask", "to_sparse", "to_sparse_coo",
}  # fmt: skip
"""Take none of the arguments below, or refuse all: tests/ops has rows of them."""
PLAIN = {"matrix", "vector", "number", "long", "complex"}


def called(x: Any, name: str, arguments: Arguments | None, kind: str) -> Any:
    """What the attribute is, or gives for arguments: tensors as they are, iterators as lists."""
    found = getattr(x, name)
    if name == "grad_fn" and found is not None:
        return found.name(), [function is None for function, _ in found.next_functions]
    if arguments is None:
        return found() if callable(found) and name == "size" else found
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This overload of")  # a number among tensors may stand where it once stood
        found = found(*arguments(x, np.shape(VALUES[kind])))
    if getattr(found, "is_sparse", False):
        return found.to_dense()
    return list(found) if name == "__iter__" else found


def ways(name: str) -> tuple[Arguments | None, ...]:
    return CANDIDATES if callable(getattr(sg.Tensor, name)) else (None,)


def eager(kind: str) -> Any:
    x = sg.tensor(VALUES[kind])
    return x if kind in PLAIN else sg.tensor(1.0, requires_grad=True) * x


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) and any(map(sg.is_tensor, value)) else [value]


def expected(kind: str) -> dict[tuple[str, int], Any]:
    """(name, number of the candidate) -> what eager mode gives, where it takes the arguments."""
    found = {}
    for name in NAMES:
        for number, arguments in enumerate(ways(name)):
            try:
                found[name, number] = called(eager(kind), name, arguments, kind)
            except (StaticgradError, TypeError):
                continue
    return found


def tried(x: Callable[[], Any], name: str, arguments: Arguments | None, kind: str) -> Any:
    """As `called`, or the error."""
    try:
        return called(x(), name, arguments, kind)
    except StaticgradError as error:
        return error


def compiled(kind: str, cases: list[tuple[str, Arguments | None]]) -> list[Any]:
    """Each in a function of its own: one that catches errors of operations runs in segments."""
    one = sg.tensor(1.0, requires_grad=True)

    def run(name: str, arguments: Arguments | None) -> list[Any]:
        results: list[Any] = []

        @sg.compile(numerics="strict", on_break="error")
        def f(x: Any) -> Any:
            fresh = x if kind in PLAIN else one * x
            results[:] = [called(fresh.clone() if name.endswith("_") and kind in PLAIN else fresh, name, arguments, kind)]

        try:
            f(sg.tensor(VALUES[kind]))  # tensors that are kept in what was there before are results of the run
        except StaticgradError as error:
            return [error]
        return flat(results[0])

    return [run(name, arguments) for name, arguments in cases]


def in_graph(make: Callable[[np.ndarray], Any]) -> Callable[[str, list[tuple[str, Arguments | None]]], list[Any]]:
    def run(kind: str, cases: list[tuple[str, Arguments | None]]) -> list[Any]:
        with sg.Graph().as_default(), sg.Session(numerics="strict") as session:
            x = make(VALUES[kind])
            one = sg.Variable(np.float32(1.0))
            fresh = (lambda: x) if kind in PLAIN else (lambda: one * x)
            results = [flat(tried(fresh, name, arguments, kind)) for name, arguments in cases]
            session.run(sg.global_variables_initializer())
            if x.op != "placeholder":  # runs that write the variable stay apart
                return [[session.run(p) if sg.is_tensor(p) else p for p in parts] for parts in results]
            values = iter(session.run([p for parts in results for p in parts if sg.is_tensor(p)], {x: VALUES[kind]}))
            return [[next(values) if sg.is_tensor(p) else p for p in parts] for parts in results]

    return run


OTHERWISE = {"name": "a graph names its tensors; eager ones have the name that the user gave"}
"""What is not the same, and why."""

MODES = {
    "compiled": compiled,
    "placeholder": in_graph(lambda value: sg.placeholder(value.dtype, value.shape)),
    "unknown extents": in_graph(lambda value: sg.placeholder(value.dtype, [None] * value.ndim)),
    "variable": in_graph(lambda value: sg.Variable(value, trainable=False)),
}


WAYS = [(kind, mode) for kind in VALUES for mode in MODES]


@pytest.mark.parametrize(("kind", "mode"), sweep(WAYS, lambda _, way: "matrix" in way or "compiled" in way))
def test_as_eager_or_an_error_that_helps(kind, mode):
    """A matrix with all arguments that eager mode takes; other kinds with the first and the last ones."""
    wanted = {case: value for case, value in expected(kind).items() if case[0] not in RANDOM}
    if kind != "matrix":
        numbers: dict[str, list[int]] = {}
        for name, number in wanted:
            numbers.setdefault(name, []).append(number)
        wanted = {(name, k): value for (name, k), value in wanted.items() if k in (numbers[name][0], numbers[name][-1])}
    if mode == "unknown extents":  # which have to be 1 there
        wanted = {case: value for case, value in wanted.items() if case[0] != "squeeze"}
    found = MODES[mode](kind, [(name, ways(name)[number]) for name, number in wanted])
    wrong = []
    for ((name, number), value), parts in zip(wanted.items(), found, strict=True):
        if isinstance(parts[0], StaticgradError):
            if not parts[0].details and "use " not in parts[0].summary.lower():
                wrong.append(f"{name} {number}: no advice: {parts[0]}")
            if parts[0].where is None or parts[0].where.file != __file__:
                wrong.append(f"{name} {number}: not the user's line: {parts[0]}")
            continue
        whole = flat(value)
        for part, one in zip(parts, whole, strict=True):
            if name in OTHERWISE:
                continue
            try:
                same(part, one)
            except AssertionError as error:
                wrong.append(f"{name} {number}: {error}")
    assert not wrong, "\n".join(wrong)


def test_each_name_is_tried():
    assert {name for kind in VALUES for name, _ in expected(kind)} | OTHER_ARGUMENTS == set(NAMES)


def same(part: Any, value: Any) -> None:
    if sg.is_tensor(value):
        array = np.asarray(part.detach() if sg.is_tensor(part) else part)
        assert array.dtype == value.dtype
        assert_close(array, value.detach().numpy(), 1e-6)
    elif callable(getattr(value, "remove", None)) and not isinstance(value, list):  # a handle
        assert callable(part.remove)
    else:
        assert type(part) is type(value)
        if isinstance(part, tuple) and None in part:  # extents that are unknown
            part = tuple(b if a is None else a for a, b in zip(part, value, strict=True))
        assert part == value
