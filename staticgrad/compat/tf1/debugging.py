"""`tf.debugging`, and the checks of `tf.assert_...`: of values in the run, or at once where they are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .control import no_op
from .core import F, Symbol, UnknownExtentError, finfo, has_rank, using, value_of
from .dtypes import as_dtype
from .errors import InvalidArgumentError
from .graph import get_default_graph
from .handles import Handle
from .py_functions import Assert, check_numerics
from .tensor import Operand, arguments, graph_of, operation, pair, signature, tensor


def _converted(*values: Any) -> list[Any]:
    from .arrays import convert_to_tensor

    return [v if isinstance(v, Handle) else convert_to_tensor(v) for v in values]


def _pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Two tensors; a plain value takes the dtype of the one beside it."""
    from .arrays import convert_to_tensor

    if not isinstance(x, Handle):
        x = convert_to_tensor(x, y.dtype if isinstance(y, Handle) else None)
    return x, y if isinstance(y, Handle) else convert_to_tensor(y, x.dtype)


def _now(condition: Any) -> bool | None:
    """The value of a condition that follows from constants; None for one that needs a run."""
    try:
        return bool(np.all(value_of(condition)))
    except UnknownExtentError:
        return None


def _text(t: Any) -> str:
    return str(value_of(t.symbol))


def _check(condition: Any, data: Sequence[Any], message: str | None, lines: Sequence[str], values: Sequence[Any],
           summarize: int | None, label: str) -> Any:  # fmt: skip
    """An operation that checks a condition; it is checked here where its value is known."""
    known = _now(condition)
    if known:
        return no_op(label)
    if known is False:
        shown = [text for line, v in zip(lines[1:], values, strict=True) for text in (line, _text(v))]
        raise InvalidArgumentError("\n".join([*([message] if message else []), lines[0], *shown]))
    graph = get_default_graph() if not values else values[0].graph
    return Assert(graph.handle(condition.node), data, summarize, name=label)


def _compared(
    x: Any, y: Any, holds: Callable[[Any, Any], Any], line: str, head: list[str], data: Any, summarize: int | None,
    message: str | None, name: str | None, label: str,
) -> Any:  # fmt: skip
    x, y = _pair(x, y)
    graph = graph_of([x, y])
    with using(graph), graph.name_scope(name or label):
        lines = [line, f"x ({x.name}) = ", f"y ({y.name}) = "]
        items = [*head, lines[0], lines[1], x, lines[2], y] if data is None else data
        return _check(F.all(holds(*pair(x, y, label))), items, message, lines, [x, y], summarize, "Assert")


def _comparison(symbol: str, holds: Callable[[Any, Any], Any], label: str) -> Callable[..., Any]:
    def check(
        x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None
    ) -> Any:
        line = f"Condition x {symbol} y did not hold element-wise:"
        return _compared(x, y, holds, line, [message] if message else [], data, summarize, message, name, label)

    check.__name__ = label
    check.__doc__ = f"An operation that checks x {symbol} y for all elements. Raises `tf.errors.InvalidArgumentError`."
    return check


assert_equal = _comparison("==", F.eq, "assert_equal")
assert_none_equal = _comparison("!=", F.ne, "assert_none_equal")
assert_less = _comparison("<", F.lt, "assert_less")
assert_less_equal = _comparison("<=", F.le, "assert_less_equal")
assert_greater = _comparison(">", F.gt, "assert_greater")
assert_greater_equal = _comparison(">=", F.ge, "assert_greater_equal")


def _signed(text: str, holds: Callable[[Any, Any], Any], label: str) -> Callable[..., Any]:
    def check(
        x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None
    ) -> Any:
        (x,) = _converted(x)
        with using(x.graph), x.graph.name_scope(name or label):
            lines = [f"Condition x {text} 0 did not hold element-wise:", f"x ({x.name}) = "]
            items = [message or "", lines[0], lines[1], x] if data is None else data
            return _check(F.all(holds(x.symbol, 0)), items, message, lines, [x], summarize, "Assert")

    check.__name__ = label
    check.__doc__ = f"An operation that checks x {text} 0 for all elements. Raises `tf.errors.InvalidArgumentError`."
    return check


assert_positive, assert_negative = _signed(">", F.gt, "assert_positive"), _signed("<", F.lt, "assert_negative")
assert_non_negative = _signed(">=", F.ge, "assert_non_negative")
assert_non_positive = _signed("<=", F.le, "assert_non_positive")


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, data: Any = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """An operation that checks |x - y| <= atol + rtol |y|; both are 10 times the dtype's epsilon by default."""
    x, y = _pair(x, y)
    epsilon = 10 * float(finfo(x.dtype.numpy).eps)
    rtol, atol = epsilon if rtol is None else rtol, epsilon if atol is None else atol

    def near(first: Any, second: Any) -> Any:
        bound = F.add(tensor(atol, first.dtype), F.mul(tensor(rtol, first.dtype), F.abs(second)))
        return F.le(F.abs(F.sub(first, second)), bound)

    line = f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}"
    return _compared(x, y, near, line, [message or ""], data, summarize, message, name, "assert_near")


# shapes and dtypes ----------------------------------------------------------------------------------------------------


def _rank(x: Any, ranks: Any, fits: Callable[[int], bool], words: str, shown: str, data: Any, summarize: int | None,
          message: str | None, label: str) -> Any:  # fmt: skip
    (x,) = _converted(x)
    prefix = f"{message}.  " if message else ""
    for rank in ranks:
        if isinstance(rank, Handle) or int(rank) != rank:
            raise TypeError(f"{label}: ranks have to be integers known before the run, got {rank!r}")
    if has_rank(x.symbol):
        if not fits(x.shape.ndims):
            raise ValueError(
                f"{prefix}Tensor {x.name} must have rank {words}{shown}.  Received rank {x.shape.ndims}, shape {x.shape}"
            )
        return no_op(label)
    from .arrays import rank as rank_of
    from .arrays import shape as shape_of

    found = rank_of(x)
    items = [message or "", f"Tensor {x.name} must have rank{' ' + words.strip() if words else ''}", *_converted(*ranks),
             "Received shape: ", shape_of(x)]  # fmt: skip
    return Assert(_rank_fits(found, ranks, label), items if data is None else data, summarize, name=label)


@operation("rank_fits")
def _rank_fits(found: Operand, ranks: Any, label: str) -> Any:
    if label == "assert_rank_at_least":
        return F.ge(found, ranks[0])
    return F.any(F.eq(F.expand_dims(found, 0), np.asarray(ranks, np.int32)))


def _ranks(name: str, word: str, fits: Callable[[int, Any], bool], words: str, doc: str) -> Callable[..., Any]:
    defaults = dict.fromkeys(("data", "summarize", "message", "name"))
    signed = signature({"x": ..., word: ..., **defaults})

    def check(*args: Any, **kwargs: Any) -> Any:
        x, wanted, data, summarize, message, label = arguments(signed, args, kwargs).values()
        ranks = tuple(wanted) if word == "ranks" else (wanted,)
        shown = str(ranks if word == "ranks" else wanted)
        return _rank(x, ranks, lambda n: fits(n, ranks), words, shown, data, summarize, message, label or name)

    check.__name__, check.__doc__ = name, doc
    check.__signature__ = signed  # type: ignore[attr-defined]
    return check


assert_rank = _ranks(
    "assert_rank", "rank", lambda n, ranks: n == ranks[0], "",
    "Checks the number of axes: at once where it is known (ValueError), else by an operation.",
)  # fmt: skip
assert_rank_at_least = _ranks(
    "assert_rank_at_least", "rank", lambda n, ranks: n >= ranks[0], "at least ",
    "Checks that there are at least so many axes: see `assert_rank`.",
)  # fmt: skip
assert_rank_in = _ranks(
    "assert_rank_in", "ranks", lambda n, ranks: n in ranks, "in ",
    "Checks that the number of axes is one of these: see `assert_rank`.",
)  # fmt: skip


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """The tensor. Raises ValueError for one that has, or may have, axes."""
    (x,) = _converted(tensor)
    if x.shape.ndims != 0:
        prefix = f"{message or ''}Expected scalar shape"
        raise ValueError(f"{prefix} for {x.name}, saw shape: {x.shape}.")
    return x


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Any:
    """Raises TypeError for a tensor of another dtype."""
    (x,) = _converted(tensor)
    if x.dtype != as_dtype(tf_type):
        prefix = f"{message}  " if message else ""
        raise TypeError(f"{prefix}{x.name} must be of type {as_dtype(tf_type)!r}; got {x.dtype!r}")
    return no_op(name or "statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Raises TypeError for a tensor that is not of integers."""
    (x,) = _converted(x)
    if not x.dtype.is_integer:
        prefix = f"{message}  " if message else ""
        raise TypeError(f'{prefix}Expected "x" to be integer type.  Found: {x.name} of dtype {x.dtype!r}')
    return no_op(name or "statically_determined_was_integer")


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """The dtype that the tensors share, float32 for none. Raises ValueError for two, or one that is not floating."""
    wanted = None if dtype is None else as_dtype(dtype)
    for x in tensors or ():
        if wanted is not None and x.dtype != wanted:
            raise ValueError(f"{x.name}, type={x.dtype}, must be of the same type ({wanted}).")
        wanted = x.dtype
    wanted = as_dtype(np.float32) if wanted is None else wanted
    if not wanted.is_floating:
        raise ValueError(f"Expected floating point type, got {wanted}.")
    return wanted


def assert_proper_iterable(values: Any) -> None:
    """Raises TypeError for what is no iterable of tensors: a single tensor, an array, a text."""
    if isinstance(values, (Handle, np.ndarray, str, bytes)):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not isinstance(values, Iterable):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_shapes(
    shapes: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> Any:
    """Checks that tensors have shapes of numbers and names, where a name stands for one extent in all of them: at once.

    shapes: (tensor, shape) pairs, or a dict. Raises ValueError.
    """
    pairs = list(shapes.items() if isinstance(shapes, Mapping) else shapes)
    sizes: dict[Any, Any] = {}
    for value, wanted in pairs:
        (x,) = _converted(value)
        wanted = tuple(wanted) if isinstance(wanted, (list, tuple, str)) else (wanted,)
        if x.shape.ndims is None:
            continue
        if x.shape.ndims != len(wanted):
            raise ValueError(f"{message or ''}Tensor {x.name} must have rank {len(wanted)}.  "
                             f"Received rank {x.shape.ndims}, shape {x.shape}")  # fmt: skip
        for i, (size, symbol) in enumerate(zip(x.shape.as_list(), wanted, strict=True)):
            expected = symbol if isinstance(symbol, int) else sizes.get(symbol)
            if size is None or symbol in (None, "."):
                continue
            if expected is not None and expected != size:
                raise ValueError(f"{message or ''}Specified by tensor {x.name} dimension {i}.  Tensor {x.name} dimension {i} "
                                 f"must have size {expected}.  Received size {size}, shape {x.shape}")  # fmt: skip
            if not isinstance(symbol, int):
                sizes[symbol] = size
    return no_op(name or "assert_shapes")


# questions ------------------------------------------------------------------------------------------------------------


def is_numeric_tensor(tensor: Any) -> bool:
    return isinstance(tensor, Handle) and not tensor.dtype.is_bool


def _ordered(name: str, holds: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def check(x: Any) -> Any:
        flat = F.reshape(tensor(x), (-1,))
        return F.all(holds(flat[:-1], flat[1:]))

    made = operation(name)(check)
    made.__name__, made.__doc__ = name, "Whether the elements, in their order, never decrease (always increase)."
    return made


is_non_decreasing = _ordered("is_non_decreasing", F.le)
is_strictly_increasing = _ordered("is_strictly_increasing", F.lt)


def assert_all_finite(
    t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None
) -> Any:
    """`check_numerics`."""
    return check_numerics(x if t is None else t, msg or message or "", name)


def is_symbolic_tensor(tensor: Any) -> bool:
    return isinstance(tensor, (Handle, Symbol))
