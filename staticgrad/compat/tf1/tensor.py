"""Functions of the dialect take and give handles: `operation` turns their arguments into symbols of the graph, which this
library's functions take, and names the result as TensorFlow does."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .core import (
    Definition,
    Effect,
    F,
    IndexRangeError,
    Node,
    Symbol,
    UnknownExtentError,
    defer,
    has_rank,
    pytree,
    reached,
    static,
    using,
    value_of,
)
from .dtypes import STORAGE, Dimension, DType, TensorShape, are_texts, as_dtype, is_storage, numbers, string, texts
from .errors import OutOfBoundsError
from .graph import MAKERS, Graph, get_default_graph
from .handles import MOVED, Handle, NeedsOperand, Operation


def mapped(fn: Callable[..., Any], first: Any, *others: Any) -> Any:
    """A function of the leaves of nests of one structure, as a nest."""
    if isinstance(first, dict):
        return {key: mapped(fn, item, *(o[key] for o in others)) for key, item in first.items()}
    if isinstance(first, (list, tuple)):
        if others:
            items = [mapped(fn, *parts) for parts in zip(first, *others, strict=True)]
        else:
            items = [mapped(fn, item) for item in first]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    return fn(first, *others)


def symbols(value: Any) -> Any:
    """Handles, dtypes and shapes in a nest as the library's symbols, dtypes and tuples, sparse tensors as their parts; all else
    as it is."""
    return mapped(_symbol, value)


def _symbol(value: Any) -> Any:
    if isinstance(value, Handle):
        return value.symbol
    if isinstance(value, DType):
        return value.numpy
    if isinstance(value, TensorShape):
        return tuple(value.as_list())
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, slice):
        return slice(symbols(value.start), symbols(value.stop), symbols(value.step))
    return symbols(value.fetched_as()) if hasattr(value, "fetched_as") else value


def handles(graph: Graph, value: Any) -> Any:
    """Symbols and operations in a nest as handles."""

    def handle(x: Any) -> Any:
        return graph.handle(x.node) if isinstance(x, Symbol) else Operation(graph, x.node) if isinstance(x, Effect) else x

    return mapped(handle, value)


def listed(value: Any) -> list[Any]:
    """The items of a list or tuple; of another value, that alone."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def graph_of(values: Iterable[Any]) -> Graph:
    """The graph of the first tensor in nested values, else the default graph."""
    stack = list(values)[::-1]
    while stack:
        value = stack.pop()
        if isinstance(value, Symbol) and isinstance(value.graph, Graph):
            return value.graph
        if isinstance(value, (Handle, Operation)):
            return value.graph if not any(value.graph is outer for outer, _ in MOVED.levels) else get_default_graph()
        if isinstance(value, (list, tuple)):
            stack += value[::-1]
        elif isinstance(value, dict):
            stack += list(value.values())[::-1]
        elif hasattr(value, "fetched_as"):
            stack.append(value.fetched_as())
    return get_default_graph()


def array_of(value: Any, dtype: np.dtype | None = None) -> np.ndarray:
    """An array as TensorFlow makes one: Python's integers are int32, its floats float32; arrays keep their dtype.

    Raises TypeError for values that `dtype` can't hold, as floats in an integer dtype.
    """
    if value is None:
        raise ValueError("None values not supported.")
    array = np.asarray(value)
    if are_texts(array):
        if dtype is not None and not is_storage(dtype):
            sample = array.ravel()[0] if array.dtype.kind == "O" else str(array.ravel()[0])
            raise TypeError(f"Expected {as_dtype(dtype).name}, got {sample!r} of type 'str' instead.")
        return numbers(value)
    if dtype is not None and is_storage(dtype):
        if is_storage(array.dtype) or not array.size:
            return array.astype(STORAGE)
        raise TypeError(
            f"Expected string, got {array.ravel()[0].item()!r} of type '{type(array.ravel()[0].item()).__name__}' instead."
        )
    if dtype is None:
        if not hasattr(value, "dtype") and not _has_arrays(value):
            if array.dtype == np.int64 and np.all(np.abs(array) < 2**31):
                array = array.astype(np.int32)
            elif array.dtype == np.float64:
                array = array.astype(np.float32)
        return array
    lossy = {"f": "iub", "i": "b", "u": "b", "b": "", "O": "fiub", "U": "fiub", "S": "fiub"}.get(array.dtype.kind, "")
    if array.size and dtype.kind in lossy:
        sample = array.ravel()[0].item() if array.dtype.kind != "O" else value
        raise TypeError(f"Expected {as_dtype(dtype).name}, got {sample!r} of type '{type(sample).__name__}' instead.")
    return array.astype(dtype)


def _has_arrays(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(hasattr(v, "dtype") or _has_arrays(v) for v in value)


def tensor(value: Any, dtype: Any = None) -> Any:
    """A symbol, or an array, number or nest (of tensors too) as a constant of the default graph. Raises TypeError and
    ValueError for another dtype than the one wanted."""
    wanted = None if dtype is None else as_dtype(dtype).numpy
    value = symbols(value)
    if isinstance(value, Symbol):
        if wanted is not None and (value.dtype != wanted or is_storage(wanted) != is_text(value)):
            names = as_dtype(wanted).name, kind_of(value).name
            raise ValueError(f"Tensor conversion requested dtype {names[0]} for Tensor with dtype {names[1]}: {value!r}")
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(v, (Symbol, list, tuple)) for v in value) and _has_symbols(value):
        first = next(_symbols_in(value))
        made = F.stack([tensor(v, kind_of(first) if wanted is None else wanted) for v in value])
        return as_texts(made) if is_text(first) else made
    return constant_of(array_of(value, wanted))


def constant_of(array: np.ndarray) -> Any:
    """A constant, of strings where the array has numbers of texts."""
    if is_storage(array.dtype):
        return as_texts(static.constant(array.view(np.int64)))
    return static.constant(array)


def is_text(x: Any) -> bool:
    """Whether a symbol is a tensor of strings."""
    return isinstance(x, Symbol) and x.node in getattr(x.graph, "texts", ())


def kind_of(x: Symbol) -> DType:
    """TensorFlow's dtype of a symbol."""
    return string if is_text(x) else as_dtype(x.dtype)


def reading(tensors: Sequence[Any], fn: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[np.ndarray]], Any]:
    """A function of arrays, of which those of strings come as texts."""
    strings = [is_text(t) for t in tensors]
    if not any(strings):
        return fn
    return lambda arrays: fn([texts(a) if s else a for a, s in zip(arrays, strings, strict=True)])


def as_texts(x: Any) -> Any:
    """Let a symbol of numbers of texts be a tensor of strings."""
    x.graph.texts.add(x.node)
    return x


def _symbols_in(value: Any) -> Any:
    for item in value:
        if isinstance(item, Symbol):
            yield item
        elif isinstance(item, (list, tuple)):
            yield from _symbols_in(item)


def _has_symbols(value: Any) -> bool:
    return next(_symbols_in(value), None) is not None


def pair(x: Any, y: Any, op: str) -> tuple[Any, Any]:
    """Two operands of one dtype: a plain value takes that of the tensor beside it. Raises TypeError for two dtypes."""
    x, y = symbols(x), symbols(y)
    if isinstance(y, Symbol) and not isinstance(x, Symbol):
        x = tensor(x, kind_of(y))
    x = tensor(x)
    y = y if isinstance(y, Symbol) else tensor(y, kind_of(x))
    if x.dtype != y.dtype or is_text(x) != is_text(y):
        raise TypeError(
            f"Input 'y' of '{op}' Op has type {kind_of(y).name} that does not match type {kind_of(x).name} of argument 'x'."
        )
    return x, y


SIZES = frozenset({
    "shape", "dims", "axis", "axes", "dim", "dimension", "reduction_indices", "squeeze_dims", "keepdims", "keep_dims", "perm",
    "multiples", "paddings", "begin", "size", "depth", "num", "num_segments", "maxlen", "num_or_size_splits", "num_rows",
    "num_columns", "batch_shape", "batch_dims", "k", "block_size", "output_shape", "exclusive", "reverse",
})  # fmt: skip
"""Parameters of the dialect's functions that decide about shapes: a function gets their values as plain Python. A tensor that
has no value before the run puts the function off until then."""


Operand = Any
"""Annotates a parameter that a function of the dialect gets as a tensor; None stays None."""
Pair = Any
"""Annotates the two operands of one dtype: see `pair`."""


def operation(
    default: str, type_: str | None = None, sizes: frozenset[str] = SIZES, types: Callable[..., Any] | None = None,
    old: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # fmt: skip
    """A function of the dialect, from one on symbols: handles in, handles out, the result named `name=`, else `default`.

    Parameters annotated as `Operand` and `Pair` come as tensors, those in `sizes` as plain values; see SIZES. types: (the
    function's arguments) -> the type of its result where its sizes are unknown before the run. old: TensorFlow's deprecated
    names of parameters, which follow `name` -> the parameters that they stand for where these are None.
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(fn)
        parameters, deprecated = own.parameters, dict(old or {})
        names = list(parameters)
        rules = {
            names[i]: rule
            for i, rule in RULES.get(type_ or default, {}).items()
            if names[i : i + 1] and names[i].startswith(rule.parameter)
        }
        spelled = {name.rstrip("_"): name for name in names if name.endswith("_") and name.rstrip("_") not in names}
        changes = {name: known for name in names if name in sizes}
        changes |= {name: _operand for name in names if parameters[name].annotation == "Operand"}
        both = [name for name in names if parameters[name].annotation == "Pair"]
        added = [inspect.Parameter(key, KIND, default=None, annotation="Any") for key in ("name", *deprecated)]
        by_rows, joins = (type_ or default) in ON_ROWS, type_ == "AddV2"
        count = len(names)
        if any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
            added, count = [p.replace(kind=p.KEYWORD_ONLY) for p in added], sys.maxsize
        whole = own.replace(parameters=[*parameters.values(), *added])

        def write(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            if len(given) < len(args) + len(kwargs):  # an argument is there twice: a TypeError
                return fn(*args, **kwargs)
            if not (changes or both):
                for name, rule in rules.items():
                    check(type_ or default, rule, given.get(name), kind_of)
                return fn(*args, **kwargs)
            for name, change in changes.items():
                if name in given:
                    given[name] = change(given[name])
            if both and both[0] in given and both[1] in given:
                first, second = pair(given[both[0]], given[both[1]], type_ or default)
                given.update({both[0]: first, both[1]: second})
            for name, rule in rules.items():
                check(type_ or default, rule, given.get(name), kind_of)
            placed = [given.pop(name) for name in names[: len(args)]]
            return fn(*placed, **given)

        def renewed(args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
            """Arguments without deprecated names and `name`, and that."""
            bound = whole.bind(*args, **kwargs)
            given = bound.arguments
            name = given.pop("name", None)
            for key, newer in deprecated.items():
                value = given.pop(key, None)
                if value is not None and given.get(newer) is None:
                    given[newer] = value
            return bound.args, bound.kwargs, name

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if spelled:  # TensorFlow's word for it is a name of this module, or of Python
                kwargs = {spelled.get(key, key): value for key, value in kwargs.items()}
            if len(args) > count or (deprecated and not deprecated.keys().isdisjoint(kwargs)):
                args, kwargs, name = renewed(args, kwargs)
            else:
                name = kwargs.pop("name", None)
            if by_rows and args and hasattr(args[0], "with_values"):
                return args[0].with_values(call(args[0].values, *args[1:], name=name, **kwargs))
            graph = graph_of((args, kwargs))
            graph.check_open()
            with using(graph):
                before = len(graph.nodes)
                given = symbols(args), symbols(kwargs)
                if joins and any(map(is_text, given[0])):
                    return MAKERS["join"](args, name=name)
                try:
                    out = write(*given)
                except UnknownExtentError:
                    out = put_off(graph, write, given, types)
                except IndexRangeError as error:
                    raise OutOfBoundsError(error.summary, *error.details, where=error.where) from None
                if graph.gradient_overrides:
                    out = MAKERS["overridden"](graph, type_ or default, given, out)
                out = named(graph, out, name or default, type_ or default, before)
                if graph.texts or any(map(is_storage, (*given[0], *given[1].values()))):
                    mark_texts(graph, type_ or default, given, out, before)
            return handles(graph, out)

        call.__signature__ = whole  # type: ignore[attr-defined]
        return call

    return decorate


ON_ROWS = frozenset({"Cast", "Identity", "StopGradient", "clip_by_value", "tuple"})
"""Types of operations that are applied to the rows of `IndexedSlices`, as in TensorFlow."""
MOVES = frozenset({
    "Assign", "BroadcastTo", "ConcatV2", "Const", "DynamicPartition", "DynamicStitch", "ExpandDims", "Fill", "GatherNd",
    "GatherV2", "Identity", "Pack", "PlaceholderWithDefault", "Print", "RandomShuffle", "Reshape", "ReverseSequence",
    "ReverseV2", "Roll", "ScatterUpdate", "Select", "SelectV2", "Slice", "Split", "Squeeze", "StopGradient", "StridedSlice",
    "Tile", "Transpose", "Unique", "UniqueWithCounts", "Unpack", "ZerosLike",
})  # fmt: skip
"""Types of operations that move elements, whatever these are. Of several results of `Unique` the first has them."""
READS = frozenset({"Equal", "NotEqual", "Rank", "Shape", "Size"})
"""Types of operations whose results are the same for texts and for their numbers."""


def mark_texts(graph: Graph, type_: str, given: Any, out: Any, before: int) -> None:
    """Let the results of an operation on strings be strings. Raises TypeError for one that computes with numbers."""
    leaves = pytree.flatten(given[0][:1] if type_ == "Print" else given, _nest)[0]
    if type_ == "Print" and not is_text(leaves[0]):  # what is printed is no part of the result
        return
    if not any(is_text(x) or is_storage(x) for x in leaves) and graph.texts.isdisjoint(graph.nodes[before:]):
        return
    if type_ in MOVES:
        results = [x for x in pytree.flatten(out, pytree.ordered)[0] if isinstance(x, Symbol)]
        graph.texts.update(x.node for x in results[: 1 if type_.startswith("Unique") else None])
    elif type_ not in READS:
        raise TypeError(f"Value passed to parameter 'x' of {type_} has DataType string not in list of allowed values")


KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD


def signature(defaults: Mapping[str, Any], rest: str = "") -> inspect.Signature:
    """Parameters by their names and defaults, `...` for none. rest: the name of keywords that follow."""
    none = inspect.Parameter.empty
    words = [inspect.Parameter(word, KIND, default=none if value is ... else value) for word, value in defaults.items()]
    return inspect.Signature([*words, *([inspect.Parameter(rest, inspect.Parameter.VAR_KEYWORD)] if rest else [])])


def arguments(signed: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a call by name, defaults too. Raises TypeError."""
    bound = signed.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


Rows = Mapping[str, tuple[Callable[..., Any], str] | tuple[Callable[..., Any], str, str]]
"""Name -> (function of symbols, TensorFlow's name of the op[, its names of the operands])."""


def define_rows(table: Rows, words: str) -> dict[str, Callable[..., Any]]:
    """The functions of a table, whose operands have these names unless a row says others."""
    return {
        name: define(name, type_, function, words=own[0] if own else words, default=type_.removesuffix("V2"))
        for name, (function, type_, *own) in table.items()
    }


def value_now(x: Any) -> Any:
    """The value of an operand as an array. Raises UnknownExtentError for a tensor that has none before the run."""
    return _value_read(x) if isinstance(x, Symbol) else array_of(x)


def _value_read(x: Symbol) -> np.ndarray:
    """The value of a symbol, which decides how the graph is built: it can't be fed any more. Raises UnknownExtentError for one
    that a feed may change."""
    graph = x.graph
    if isinstance(graph, Graph):
        read = reached([x.node], lambda node: node.inputs)
        if any(graph._types.get(node) == "PlaceholderWithDefault" for node in read):
            raise UnknownExtentError(f"the value of {x.describe()} is needed, and a run may feed another one")
        found = value_of(x)
        graph.fixed.update(node for node in read if graph.known(node))
        return found
    return value_of(x)


def define(
    name: str, type_: str, function: Callable[..., Any], doc: str = "", words: str = "", default: str | None = None,
    sizes: frozenset[str] = SIZES, types: Callable[..., Any] | None = None, old: Mapping[str, str] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """The function of the dialect of one row: its name, TensorFlow's name of the op, a function of symbols, a docstring.

    Parameters without a default are operands, unless they are sizes; two of them are a pair. words: TensorFlow's names of the
    parameters where the function has others. The rest is as for `operation`.
    """
    own = signature(dict.fromkeys(words.split(), ...)) if words else inspect.signature(function)
    operands = [p.name for p in own.parameters.values() if p.default is p.empty and p.name not in sizes]
    kind = "Pair" if len(operands) == 2 else "Operand"
    annotated = [p.replace(annotation=kind if p.name in operands else "Any") for p in own.parameters.values()]

    def call(*args: Any, **kwargs: Any) -> Any:
        if words and kwargs:  # by TensorFlow's names
            return function(*own.bind(*args, **kwargs).args)
        return function(*args, **kwargs)

    call.__signature__ = inspect.Signature(annotated, return_annotation="Any")  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc or f"TensorFlow's `{name}`."
    return operation(default or type_, type_, sizes, types, old)(call)


def _operand(value: Any) -> Any:
    return None if value is None else tensor(value)


def extents_of(x: Any) -> tuple[int, ...]:
    """The shape of a tensor as integers. Raises UnknownExtentError for an unknown extent."""
    if None in x.shape:
        raise UnknownExtentError(f"the extents of {x.describe()} are needed, and some are unknown until the graph runs")
    return x.shape


def extent_of(x: Any, axis: int) -> int:
    """One extent as an integer. Raises UnknownExtentError for an unknown one."""
    found: int | None = x.shape[axis]
    if found is None:
        raise UnknownExtentError(f"extent {axis} of {x.describe()} is needed, and is unknown until the graph runs")
    return found


def known(value: Any) -> Any:
    """Tensors in a nest as plain numbers and lists. Raises UnknownExtentError for one that has no value before the run."""
    if isinstance(value, Symbol):
        return _value_read(value).tolist()
    if isinstance(value, slice):
        return slice(known(value.start), known(value.stop), known(value.step))
    if isinstance(value, (list, tuple)):
        return type(value)(known(item) for item in value)
    return value


def put_off(graph: Graph, write: Callable[..., Any], given: tuple[Any, Any], types: Callable[..., Any] | None) -> Any:
    """The results of a function whose shapes are known only in the run, or not completely before it."""
    leaves, structure = pytree.flatten(given, _nest)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Symbol)]
    made: list[Any] = [pytree.LEAF]
    """The structure of the results."""

    def definition(operands: list[Symbol]) -> list[Any]:
        filled = list(leaves)
        for i, operand in zip(places, operands, strict=True):
            filled[i] = operand
        results, made[0] = pytree.flatten(write(*pytree.unflatten(structure, filled)), pytree.ordered)
        return results

    kinds = None if types is None else types(*given[0], **given[1])
    if isinstance(kinds, list):
        made[0] = pytree.flatten([None] * len(kinds), pytree.ordered)[1]
    elif kinds is not None:
        kinds = [kinds]
    found = defer(graph, Definition(definition, Graph), [leaves[i] for i in places], kinds)
    return pytree.unflatten(made[0], found)


def built(graph: Graph, build: Callable[[], Any]) -> Any:
    """The results of `build()`, as a loop or branch; where an operand has no known rank, they are built in the run."""
    try:
        return build()
    except UnknownExtentError:
        return put_off_function(graph, build)


def put_off_function(graph: Graph, build: Callable[[], Any]) -> Any:
    """The results of `build()`, a function of the program with tensors of the graph, called when their ranks are known."""
    nodes: list[Node] = []
    made: list[Any] = [pytree.LEAF]

    def definition(operands: list[Symbol]) -> list[Any]:
        MOVED.levels.append((graph, dict(zip(nodes, operands, strict=True))))
        for node, operand in zip(nodes, operands, strict=True):
            if node in graph.texts:
                as_texts(operand)
        try:
            results, made[0] = pytree.flatten(build(), pytree.ordered)
        finally:
            MOVED.levels.pop()
        return results

    while True:
        try:
            found = defer(graph, Definition(definition, Graph), [Symbol(graph, n) for n in nodes])
            return pytree.unflatten(made[0], found)
        except NeedsOperand as error:
            nodes.append(error.node)


def _nest(value: Any) -> Any:
    if isinstance(value, slice):
        return pytree.Container(_slice, slice, None, (value.start, value.stop, value.step))
    return pytree.ordered(value)


def _slice(like: Any, keys: Any, items: list[Any]) -> slice:
    return slice(*items)


def named(graph: Graph, out: Any, name: str, type_: str, before: int) -> Any:
    """Name the results of a function that began when the graph had `before` nodes; "" for no name. A result from before gets
    a node of its own, as every function of TensorFlow makes an operation."""
    if isinstance(out, (list, tuple)):
        items = [named(graph, item, name if not i else "", type_, before) for i, item in enumerate(out)]
        graph.adopt_outputs([item.node for item in items if isinstance(item, Symbol)])
        return type(out)(*items) if hasattr(out, "_fields") else type(out)(items)
    if not isinstance(out, Symbol):
        return out
    node = out.node
    if node not in graph.nodes[before:] or node in graph._types:
        out = static.identity(out)
        node = out.node
    if name:
        graph.adopt(node, name, type_)
    return out


# what tensorflow's operations refuse when a graph is built ------------------------------------------------------------

# What TensorFlow's operations refuse when a graph is built: dtypes and numbers of axes, by the operation's type.


class Rule(NamedTuple):
    """TensorFlow's name of an operand, the dtypes that it may have, and the least and the largest number of axes."""

    parameter: str
    dtypes: str
    """Names, with blanks between them; "" for all."""
    least: int = 0
    most: int | None = None


FLOATS = "bfloat16, float16, float32, float64"
INTEGERS = "uint8, uint16, uint32, uint64, int8, int16, int32, int64"
NUMBERS = f"{FLOATS}, {INTEGERS}"
IDS = "int32, int64"


OPERANDS: dict[tuple[str, str, int], str] = {
    (
        "x",
        FLOATS,
        0,
    ): "Exp Expm1 Log Log1p Sqrt Rsqrt Sin Cos Tanh Sigmoid Sinh Cosh Erf Erfc Erfinv Lgamma Digamma IsNan IsInf "
    "IsFinite LogSigmoid BesselI0",
    ("features", FLOATS, 0): "Softplus Elu Selu Softsign",
    ("logits", FLOATS, 1): "Softmax LogSoftmax",
    ("x", NUMBERS, 0): "AddV2 Sub Mul Maximum Minimum Pow FloorMod FloorDiv Less LessEqual Greater GreaterEqual Neg Abs Square "
    "Sign Reciprocal",
    ("input", NUMBERS, 0): "Sum Mean Max Min Prod",
}
"""(the first operand's name, its dtypes, its least number of axes) -> types of operations."""


def _rules() -> dict[str, Mapping[int, Rule]]:
    made: dict[str, Mapping[int, Rule]] = {type_: {0: Rule(*row)} for row, types in OPERANDS.items() for type_ in types.split()}
    made |= {
        "LogicalAnd": {0: Rule("x", "bool"), 1: Rule("y", "bool")}, "LogicalOr": {0: Rule("x", "bool"), 1: Rule("y", "bool")},
        "LogicalNot": {0: Rule("x", "bool")}, "All": {0: Rule("input", "bool")}, "Any": {0: Rule("input", "bool")},
        "L2Loss": {0: Rule("t", FLOATS)}, "OneHot": {0: Rule("indices", "uint8, int8, int32, int64")},
        "TopKV2": {0: Rule("input", NUMBERS, 1)}, "LRN": {0: Rule("input", FLOATS, 4, 4)}, "Unique": {0: Rule("x", "", 1, 1)},
        "SparseSoftmaxCrossEntropyWithLogits": {0: Rule("labels", IDS), 1: Rule("logits", FLOATS)},
        "Cholesky": {0: Rule("input", FLOATS, 2)}, "MatrixInverse": {0: Rule("input", FLOATS, 2)},
    }  # fmt: skip
    for name in ("Sum", "Mean", "Prod", "Max", "Min"):
        made[f"Segment{name}"] = {0: Rule("data", NUMBERS, 1), 1: Rule("segment_ids", IDS, 1, 1)}
        made[f"UnsortedSegment{name}"] = {1: Rule("segment_ids", IDS)}
    for name in ("Max", "Min"):
        made[f"Scatter{name}"] = {0: Rule("ref", "float16, bfloat16, float32, float64, int32, int64")}
    return made


RULES = _rules()
"""By the operation's type: the rules of its operands, by their numbers. They hold where a function's parameters have
TensorFlow's names; other functions of a type are made of several operations."""
BOOLEANS = ("LogicalAnd", "LogicalOr", "LogicalNot", "All", "Any")
"""Types whose dtype is no attribute: TensorFlow words their errors in another way."""


def check(type_: str, rule: Rule, x: Any, kind_of: Callable[[Symbol], DType]) -> None:
    """Raises TypeError for a dtype and ValueError for a number of axes that an operation does not take."""
    if not isinstance(x, Symbol):
        return
    dtype = kind_of(x)
    if rule.dtypes and dtype.name not in rule.dtypes.split(", ") and dtype is not string:
        if type_ in BOOLEANS:
            raise TypeError(
                f"Input '{rule.parameter}' of '{type_}' Op has type {dtype.name} that does not match expected type of bool."
            )
        raise TypeError(
            f"Value passed to parameter '{rule.parameter}' has DataType {dtype.name} not in list of allowed values: "
            f"{rule.dtypes}"
        )
    if (rule.least or rule.most is not None) and has_rank(x):
        if rule.most == rule.least != x.ndim:
            raise ValueError(f"Shape must be rank {rule.least} but is rank {x.ndim} for '{type_}'")
        if x.ndim < rule.least:
            raise ValueError(f"Shape must be at least rank {rule.least} but is rank {x.ndim} for '{type_}'")
