"""Python functions as operations, printing, and checks of values."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .core import (
    TensorType,
    UnrankedType,
    apply,
    placeholder_of,
    python_call_op,
    pytree,
    state,
    static,
    user_line,
    using,
    watch_op,
)
from .dtypes import as_dtype, is_storage, numbers
from .errors import InvalidArgumentError, OpError, OutOfRangeError, ResourceExhaustedError, UnimplementedError, UnknownError
from .gradients import overridden
from .graph import Graph
from .handles import Handle, Operation
from .tensor import Operand, graph_of, handles, operation, reading, symbols, tensor

CLASSES: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    ((ValueError, InvalidArgumentError)), (TypeError, InvalidArgumentError), (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError), (NotImplementedError, UnimplementedError),
)  # fmt: skip
"""Exceptions of Python functions, and the errors of the run."""
C_NAMES = {"float64": "double", "float32": "float", "object": "string"}


def py_func(func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:
    """The results of `func` of the arrays of `inp`, called in each run that needs one: a tensor of unknown rank for each dtype
    of `Tout`, a list unless Tout is one dtype.

    No gradient flows through it, unless `custom_gradient` or `gradient_override_map` gives one. Raises, in the run,
    `tf.errors.InvalidArgumentError` for another number or dtype of results and for ValueError and TypeError of the function,
    UnknownError for other exceptions. In the body of a loop or branch it has one result, whose shape `set_shape` has to tell.
    """
    inputs = [inp] if isinstance(inp, Handle) else list(inp)
    many = isinstance(Tout, (list, tuple))
    kinds = [UnrankedType(as_dtype(t).numpy) for t in (Tout if many else [Tout])]
    graph, where, label = graph_of(inputs), user_line(), f"pyfunc_{_counted()}"
    graph.check_open()
    if state.inside and len(kinds) != 1:
        raise NotImplementedError(
            f"py_func with {len(kinds)} results in the body of a loop or branch: return one array, and take it apart"
        )

    def call(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        try:
            out = func(*arrays)
        except OpError:
            raise
        except Exception as error:
            cls = next((c for known, c in CLASSES if isinstance(error, known)), UnknownError)
            text = "".join(traceback.format_exception(error)).rstrip()
            raise cls(f"{type(error).__name__}: {error}", *text.split("\n"), where=where) from error
        found = list(out) if isinstance(out, (list, tuple)) else [] if out is None and not kinds else [out]
        if len(found) != len(kinds):
            raise InvalidArgumentError(
                f"{label} returns {len(found)} values, but expects to see {len(kinds)} values.", where=where
            )
        values = [
            numbers(v) if is_storage(k.dtype) and np.asarray(v).dtype.kind in "USO" else np.asarray(v, order="C")
            for v, k in zip(found, kinds, strict=True)
        ]
        for i, (value, kind) in enumerate(zip(values, kinds, strict=True)):
            if value.dtype != kind.dtype or is_storage(value.dtype) != is_storage(kind.dtype):
                names = [C_NAMES.get(d.name, d.name) for d in map(as_dtype, (value.dtype, kind.dtype))]
                raise InvalidArgumentError(
                    f"{i}-th value returned by {label} is {names[0]}, but expects {names[1]}",
                    f"convert it in the function: .astype(np.{kind.dtype})", where=where,
                )  # fmt: skip
        return values

    type_ = "PyFunc" if stateful else "PyFuncStateless"
    if state.inside:
        made = [_in_body(graph, inputs, call, kinds[0], name or type_)]
        return made if many else made[0]
    with using(graph):
        given = [tensor(x) for x in symbols(inputs)]
        made = [x.symbol for x in graph.host_call(given, reading(given, call), kinds, name or type_, type_)]
        if made and type_ in graph.gradient_overrides:
            made = overridden(graph, type_, given, made)
            for x in made:
                graph.adopt(x.node, name or type_, type_)
    found = handles(graph, made)
    return found if many else found[0]


def _in_body(graph: Graph, inputs: list[Any], call: Callable[..., Any], kind: TensorType, name: str) -> Any:
    """A tensor that is replaced by the call once its shape is set."""
    with using(graph):
        given = [tensor(x) for x in symbols(inputs)]
        blank = placeholder_of(kind, graph.full_name(name)).node
    graph.undeclared[blank] = lambda kind: apply(
        python_call_op, *given, call=lambda *arrays: call(arrays)[0], type=kind
    ).node  # fmt: skip
    return graph.handle(blank)


numpy_function = py_func
_count = [-1]


def _counted() -> int:
    _count[0] += 1
    return _count[0]


def watched(graph: Graph, x: Any, tensors: Sequence[Any], look: Callable[[Sequence[np.ndarray]], None], name: str) -> Any:
    """x (a symbol) as a tensor whose run first gives the values of the tensors to a Python function."""
    if state.inside:
        return apply(watch_op, x, *tensors, call=lambda *arrays: look(arrays))
    action = graph.host_action(tensors, look, name)
    with static.control_dependencies([action.node]):
        return static.identity(x)


# printing -------------------------------------------------------------------------------------------------------------


def shown(value: np.ndarray, limit: int) -> str:
    """The first elements of an array, as `Print` and `Assert` show them."""
    flat, count = value.ravel(), 0
    parts: list[str] = []

    def axis(at: int) -> None:
        nonlocal count
        if count >= limit:
            return
        if at == value.ndim - 1:
            for i in range(value.shape[at]):
                if count >= limit:
                    parts.append("..." if at else "")
                    return
                parts.append((" " if i else "") + element_text(flat[count]))
                count += 1
            return
        for _ in range(value.shape[at]):
            opened = count < limit
            parts.append("[" if opened else "")
            axis(at + 1)
            parts.append("]" if opened or count < limit else "")

    if not value.ndim:
        return element_text(value[()])
    axis(0)
    return "".join(parts) + ("..." if value.size > limit else "")


def element_text(x: Any) -> str:
    """One element: a float by the fewest of 6 or 9 (15 or 17) digits that give it back."""
    if isinstance(x, np.floating):
        few, many = (6, 9) if x.dtype.itemsize == 4 else (15, 17)
        text = f"{x:.{few}g}"
        return text if x.dtype.type(text) == x or np.isnan(x) else f"{x:.{many}g}"
    if isinstance(x, bytes):
        return x.decode(errors="replace")
    return str(int(x)) if isinstance(x, (np.integer, np.bool_)) else str(x)


def _array(value: Any) -> np.ndarray:
    """An array; of a text, one without axes."""
    return np.asarray(value, object if isinstance(value, bytes) else None)


def _limit(summarize: int | None) -> int:
    return 3 if summarize is None else sys.maxsize if summarize < 0 else summarize


def Print(
    input_: Any, data: Any, message: str | None = None, first_n: int | None = None, summarize: int | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`input_`; each run that needs it prints `data` to standard error, the first `summarize` (3) elements of each. first_n:
    only in so many runs."""
    left = [-1 if first_n is None else first_n]

    def look(arrays: Sequence[np.ndarray]) -> None:
        if left[0] != 0:
            left[0] -= 1
            values = "".join(f"[{shown(_array(a), _limit(summarize))}]" for a in arrays)
            sys.stderr.write(f"{message or ''}{values}\n")
            sys.stderr.flush()

    return _printed(input_, list(data), look=look, name=name)


@operation("Print")
def _printed(x: Any, data: Any, look: Any) -> Any:
    tensors = [tensor(d) for d in data]
    return watched(x.graph, tensor(x), tensors, reading(tensors, look), "Print")


def edges(value: np.ndarray, ends: int, at: int = 0) -> str:
    """An array as `tf.print` shows it: `ends` elements at both ends of each axis."""
    if not value.ndim:
        return element_text(value[()])
    n = len(value)
    gap = " " if value.ndim == 1 else "\n" * (value.ndim - 1) + " " * (at + 1)
    chosen = list(range(n)) if ends < 0 or n <= 2 * ends else [*range(ends), *range(n - ends, n)]
    items = [edges(value[i], ends, at + 1) for i in chosen]
    if len(chosen) < n:
        items.insert(ends, "...")
    return f"[{gap.join(items)}]"


def print_(*inputs: Any, **options: Any) -> Operation:
    """An operation that prints values and nests of tensors; it runs where it is fetched or a control dependency.

    output_stream: standard error by default, a stream, `tf.logging.info` and its kin, or "file://path"; summarize: elements at
    each end of an axis (3; -1 for all); sep, end; name.
    """
    stream, summarize = options.pop("output_stream", sys.stderr), options.pop("summarize", 3)
    sep, end, name = options.pop("sep", " "), options.pop("end", "\n"), options.pop("name", None)
    if options:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {options}")
    leaves, structure = pytree.flatten(list(inputs), pytree.ordered)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Handle)]
    graph = graph_of(leaves)

    def look(arrays: Sequence[np.ndarray]) -> None:
        filled = list(leaves)
        for i, array in zip(places, arrays, strict=True):
            filled[i] = _Text(edges(_array(array), summarize))
        text = sep.join(str(x) for x in pytree.unflatten(structure, filled)) + end
        if isinstance(stream, str):
            with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
                file.write(text)
        elif callable(stream):
            stream(text.removesuffix("\n"))
        else:
            stream.write(text)
            stream.flush()

    graph.check_open()
    if state.inside:
        raise NotImplementedError("tf.print in the body of a loop or branch: use tf.Print, whose result is used there")
    tensors = [leaves[i].symbol for i in places]
    return graph.host_action(tensors, reading(tensors, look), name or "PrintV2")


class _Text(str):
    """A text that is shown without quotes in a nest."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


# checks ---------------------------------------------------------------------------------------------------------------


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> Any:
    """An operation that raises `tf.errors.InvalidArgumentError`, with the first `summarize` (3) elements of each item of
    `data` (tensors and texts), where the condition is False. In a body of a loop or branch it is a tensor."""
    if not isinstance(data, (list, tuple)):
        raise TypeError("data should be a sequence")
    where, items = user_line(), list(data)
    graph = graph_of([condition, items])
    graph.check_open()
    with using(graph):
        given = [tensor(symbols(condition)), *(tensor(symbols(d)) for d in items if not isinstance(d, str))]

    def check(arrays: Sequence[np.ndarray]) -> None:
        if not np.all(arrays[0]):
            rest = iter(arrays[1:])
            texts = [d if isinstance(d, str) else shown(_array(next(rest)), _limit(summarize)) for d in items]
            raise InvalidArgumentError("assertion failed: " + " ".join(f"[{text}]" for text in texts), where=where)

    look = reading(given, check)
    if state.inside:
        return handles(graph, apply(watch_op, given[0], *given, call=lambda *arrays: look(arrays)))
    return graph.host_action(given, look, name or "Assert")


def _numbers(value: np.ndarray) -> str:
    found = [kind for kind, test in (("Inf", np.isinf), ("NaN", np.isnan)) if test(value).any()]
    return " and ".join(found)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """The tensor; a run that needs it raises `tf.errors.InvalidArgumentError` where it has infinities or NaN."""
    where = user_line()

    def look(arrays: Sequence[np.ndarray]) -> None:
        bad = _numbers(arrays[0])
        if bad:
            raise InvalidArgumentError(f"{message} : Tensor had {bad} values", where=where)

    return _checked(tensor, look=look, name=name)


@operation("CheckNumerics")
def _checked(x: Operand, look: Any) -> Any:
    return watched(x.graph, x, [x], look, "CheckNumerics")


def verify_tensor_all_finite(
    t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None
) -> Any:
    """`check_numerics`."""
    return check_numerics(x if t is None else t, msg or message or "", name=name or "VerifyFinite/CheckNumerics")


def add_check_numerics_ops() -> Operation:
    """An operation that checks all floating tensors of the graph for infinities and NaN, in the order of the program."""
    graph = graph_of(())
    tensors = [t for op in graph.get_operations() for t in op.outputs if t.dtype.is_floating and op.type != "Placeholder"]
    tensors = [t for t in tensors if t.node.op.leaf != "variable"]

    def look(arrays: Sequence[np.ndarray]) -> None:
        for t, array in zip(tensors, arrays, strict=True):
            bad = _numbers(array)
            if bad:
                raise InvalidArgumentError(f"{t.name} : Tensor had {bad} values", where=t.node.where)

    return graph.host_action([t.symbol for t in tensors], look, "check_numerics")
