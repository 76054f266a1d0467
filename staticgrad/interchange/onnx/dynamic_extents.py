"""ONNX models whose inputs have symbolic extents.

The model is written at three sizes of these extents. Where the three differ, in constants and declared shapes, the value
follows from the sizes: it is computed from the shapes of the inputs when the model runs. So writers of ops only ever see
numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, StaticgradError
from .records import UnwrittenError

SIZES = ((46, 59, 83), (62, 71, 97), (74, 89, 103), (58, 67, 101))
"""Extents to write a model at, by the number of the symbol: numbers that rarely occur in models, odd and even."""
SOME = 8
"""An extent in the place of one that is open, for models that refuse the sizes."""
MOST = 64
"""The most elements of a constant that are fitted one by one."""

Axes = dict[str, dict[int, str]]
"""For each input, the names of its symbolic extents by axis."""


def dynamic_axes_of(dynamic_axes: Any, dynamic_shapes: Any, inputs: Sequence[tuple[str, tuple[int, ...]]]) -> Axes:
    """The symbolic extents that a user asks for, in either of PyTorch's forms: `dynamic_axes={"x": {0: "batch"}}`, in which
    entries of outputs are ignored, since theirs follow; `dynamic_shapes=({0: "batch"}, None)`, by position or by name.
    inputs: names and shapes. Raises ArgumentError."""
    if dynamic_axes is not None and dynamic_shapes is not None:
        raise ArgumentError("onnx.export: give dynamic_axes or dynamic_shapes, not both")
    names = [name for name, _ in inputs]
    given = dynamic_axes if dynamic_axes is not None else dynamic_shapes
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if dynamic_axes is not None or not isinstance(given, (list, tuple)) or len(given) > len(names):
            raise ArgumentError(
                "onnx.export: dynamic_axes is a dict by the names of inputs, dynamic_shapes a tuple with an entry for each",
                f"the inputs are {', '.join(names)}: dynamic_axes={{{names[0]!r}: {{0: 'batch'}}}}",
            )
        given = dict(zip(names, given, strict=False))
    found: Axes = {}
    shapes = dict(inputs)
    for name, axes in given.items():
        if name not in shapes:
            if dynamic_axes is not None:
                continue  # an output
            raise ArgumentError(f"onnx.export: there is no input {name!r}", f"the inputs are {', '.join(names)}")
        found[name] = _axes(name, axes, len(shapes[name]))
    return {name: axes for name, axes in found.items() if axes}


def _axes(name: str, axes: Any, ndim: int) -> dict[int, str]:
    if axes is None:
        return {}
    if isinstance(axes, Mapping):
        pairs: list[tuple[Any, Any]] = [*axes.items()]
    elif all(isinstance(a, int) for a in axes):
        pairs = [(a, f"{name}_dynamic_axes_{i + 1}") for i, a in enumerate(axes)]  # PyTorch's names
    else:
        pairs = [*enumerate(axes)]
    found = {}
    for axis, symbol in pairs:
        if not isinstance(axis, int) or not -ndim <= axis < ndim:
            raise ArgumentError(f"onnx.export: {name} has {ndim} axes, and axis {axis!r} is none of them")
        if symbol is not None and not isinstance(symbol, int):
            found[axis % ndim] = symbol if isinstance(symbol, str) else getattr(symbol, "__name__", str(symbol))
    return found


def open_axes(shapes: Mapping[str, tuple[int | None, ...]], named: Axes) -> list[Axes]:
    """The symbols of all extents that are open (None), in the forms to try: each with a name of its own; those of one axis with
    one name. named: names that the user gave. Empty where none is open. Raises ArgumentError for a name of a known extent."""
    for name, axes in named.items():
        for axis in axes:
            if shapes[name][axis] is not None:
                raise ArgumentError(
                    f"onnx.export: axis {axis} of {name} is {shapes[name][axis]} in the graph, so it can't be symbolic",
                    "leave it open where the graph is built: placeholder(sg.float32, [None, 3])",
                )
    places = {name: [i for i, n in enumerate(shape) if n is None] for name, shape in shapes.items()}
    if not any(places.values()):
        return []
    apart = {name: {i: f"{name}_dynamic_axes_{k + 1}" for k, i in enumerate(axes)} for name, axes in places.items()}
    together = {name: {i: f"dynamic_axes_{i}" for i in axes} for name, axes in places.items()}
    return [{name: {**axes, **named.get(name, {})} for name, axes in choice.items() if axes} for choice in (apart, together)]


def generalized_by(
    write: Callable[[Mapping[str, tuple[int, ...]]], Any],
    choices: Sequence[Axes],
    shapes: Mapping[str, tuple[int | None, ...]],
) -> Any:
    """The model with the first choice of symbols that it can be written with; see `generalized`. Raises what the first one
    raises where there is none."""
    some = {name: tuple(SOME if n is None else n for n in shape) for name, shape in shapes.items()}
    failed: StaticgradError | None = None
    for axes in choices:
        try:
            return generalized(write, axes, some)
        except StaticgradError as error:  # extents that have to be equal
            failed = error if failed is None else failed
    assert failed is not None
    raise failed


def generalized(
    write: Callable[[Mapping[str, tuple[int, ...]]], Any], axes: Axes, shapes: Mapping[str, tuple[int, ...]]
) -> Any:
    """The model with symbolic extents. write: the model for inputs of these shapes. Raises UnwrittenError where it depends on
    an extent in another way than by a product and a sum, and what `write` raises."""
    symbols = list(dict.fromkeys(symbol for found in axes.values() for symbol in found.values()))
    if len(symbols) > len(SIZES):
        raise ArgumentError(f"onnx.export: {len(symbols)} symbolic extents are too many: at most {len(SIZES)}")
    own = {symbol: shapes[name][axis] for name, found in axes.items() for axis, symbol in found.items()}
    tables: list[dict[str, tuple[int, ...]]] = [dict(zip(symbols, SIZES, strict=False)), _smaller(own)]
    failed: StaticgradError | None = None
    for table in tables:
        if any(len({*sizes}) < 3 for sizes in table.values()):
            continue
        try:
            models = [
                write(
                    {
                        name: _resized(shape, axes.get(name, {}), {s: table[s][i] for s in symbols})
                        for name, shape in shapes.items()
                    }
                )
                for i in range(3)
            ]
            return _Joined(models, axes, table).model()
        except StaticgradError as error:  # a size that the model refuses
            failed = failed if isinstance(failed, UnwrittenError) else error
    assert failed is not None
    raise failed


def _smaller(own: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Sizes that a model takes which takes its own. Those of no symbol follow from another's by a factor and a summand."""
    found = {}
    for (symbol, n), order in zip(own.items(), ((0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 2, 3)), strict=False):
        sizes = n, max(n - 1, 1), max(n // 2, 1), max(n - 2, 1)
        found[symbol] = tuple(sizes[i] for i in order)
    return found


def _resized(shape: tuple[int, ...], axes: Mapping[int, str], sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[axes[i]] if i in axes else n for i, n in enumerate(shape))


class _Joined:
    """Three models as one."""

    def __init__(self, models: Sequence[Any], axes: Axes, table: Mapping[str, Sequence[int]]):
        self.models, self.table = models, table
        self.sources = {symbol: (name, axis) for name, found in axes.items() for axis, symbol in found.items()}
        self.added: list[Any] = []
        self.known: dict[Any, str] = {}
        self.made: dict[str, list[Any]] = {}
        """The nodes in the place of a constant, by its name."""
        symbols = [*table]
        self.monomials = [
            part for n in range(1, len(symbols) + 1) for part in itertools.combinations_with_replacement(symbols, n)
        ]

    def model(self) -> Any:
        """The first model, in which everything that differs in the others is computed."""
        import onnx

        first, *others = self.models
        self._graph(first.graph, [model.graph for model in others])
        nodes = [*first.graph.node]
        del first.graph.node[:]
        for node in nodes:
            first.graph.node.extend(self.made.get(node.output[0], [node]) if node.op_type == "Constant" else [node])
        onnx.checker.check_model(first, full_check=True)
        return first

    # finding differences

    def _graph(self, graph: Any, others: Sequence[Any]) -> None:
        for kind in ("node", "initializer", "input", "output"):
            if any(len(getattr(other, kind)) != len(getattr(graph, kind)) for other in others):
                raise UnwrittenError("onnx.export: at other extents the model has other operations, so they can't be symbolic")
        for entries in zip(graph.initializer, *(other.initializer for other in others), strict=True):
            if any(entry.dims != entries[0].dims or entry.raw_data != entries[0].raw_data for entry in entries[1:]):
                raise UnwrittenError(f"onnx.export: {entries[0].name} depends on a symbolic extent")
        for kind in ("input", "output"):
            for infos in zip(getattr(graph, kind), *(getattr(other, kind) for other in others), strict=True):
                self._declared(infos)
        for nodes in zip(graph.node, *(other.node for other in others), strict=True):
            self._node(nodes)

    def _declared(self, infos: Sequence[Any]) -> None:
        dims = [info.type.tensor_type.shape.dim for info in infos]
        for axis, sizes in enumerate(zip(*([d.dim_value for d in own] for own in dims), strict=True)):
            if len({*sizes}) > 1:
                found = self._fit(sizes)
                if found is None:
                    dims[0][axis].ClearField("dim_value")
                    continue
                factor, part, rest = found
                text = "*".join(part)
                text = f"{factor}*{text}" if factor != 1 else text
                dims[0][axis].dim_param = f"{text} + {rest}" if rest else text

    def _node(self, nodes: Sequence[Any]) -> None:
        first = nodes[0]
        if any(node.op_type != first.op_type or node.input != first.input or node.output != first.output for node in nodes[1:]):
            raise UnwrittenError("onnx.export: at other extents the model has other operations, so they can't be symbolic")
        for attributes in zip(*(node.attribute for node in nodes), strict=True):
            if attributes[0].HasField("g"):
                self._graph(attributes[0].g, [a.g for a in attributes[1:]])
            elif any(a != attributes[0] for a in attributes[1:]):
                if first.op_type != "Constant":
                    raise UnwrittenError(
                        f"onnx.export: {first.op_type} takes a symbolic extent as its {attributes[0].name}, "
                        "which ONNX fixes in the file"
                    )
                self._constant(first.output[0], [a.t for a in attributes])

    # making values

    def _fit(self, values: Sequence[Any]) -> tuple[int, tuple[str, ...], int] | None:
        """(factor, symbols, rest) with values = factor * their product + rest, in integers; None where there are none."""
        for part in self.monomials:
            x = [math.prod(self.table[s][i] for s in part) for i in range(3)]
            factor, left = divmod(int(values[1]) - int(values[0]), x[1] - x[0]) if x[1] != x[0] else (0, 1)
            rest = int(values[0]) - factor * x[0]
            if not left and factor and all(int(v) == factor * n + rest for v, n in zip(values, x, strict=True)):
                return factor, part, rest
        return None

    def _add(self, op: str, inputs: Sequence[str], name: str = "", **attrs: Any) -> str:
        import onnx

        name = name if name else f"extent_{len(self.known)}_{len(self.added)}"
        self.added.append(onnx.helper.make_node(op, list(inputs), [name], **attrs))
        return name

    def _value(self, array: Any) -> str:
        import onnx

        return self._add("Constant", [], value=onnx.numpy_helper.from_array(np.asarray(array)))

    def _extent(self, sizes: Sequence[int], name: str) -> str:
        """An int64 vector of one element that is so large in the three models."""
        if len({*map(int, sizes)}) == 1:
            return self._value(np.array([int(sizes[0])]))
        found = self._fit(sizes)
        if found is None:
            raise UnwrittenError(
                f"onnx.export: a number that is {', '.join(str(int(s)) for s in sizes)} for extents of "
                f"{', '.join(f'{s} = {own}' for s, own in self.table.items())} is no product and sum of them ({name})",
                "leave the extent fixed, or compute with products and sums of extents",
            )
        factor, part, rest = found
        made = ""
        for symbol in part:
            source, axis = self.sources[symbol]
            own = self._add("Shape", [source], start=axis, end=axis + 1)
            made = own if not made else self._add("Mul", [made, own])
        made = made if factor == 1 else self._add("Mul", [made, self._value(np.array([factor]))])
        return made if not rest else self._add("Add", [made, self._value(np.array([rest]))])

    def _vector(self, columns: Sequence[Sequence[int]], name: str) -> str:
        """An int64 vector of such elements."""
        parts = [self._extent(sizes, name) for sizes in columns]
        return parts[0] if len(parts) == 1 else self._add("Concat", parts, axis=0)

    def _constant(self, name: str, tensors: Sequence[Any]) -> None:
        """Compute a constant that differs."""
        import onnx

        arrays = [onnx.numpy_helper.to_array(t) for t in tensors]
        self.added = []
        self.known[name] = name
        shapes = [a.shape for a in arrays]
        if any(len(shape) != len(shapes[0]) for shape in shapes):
            raise UnwrittenError(f"onnx.export: the constant {name} has another rank at other extents")
        if len({*shapes}) == 1 and arrays[0].size <= MOST:
            self._numbers(name, arrays)
        else:
            self._large(name, arrays, shapes)
        self.made[name] = self.added

    def _numbers(self, name: str, arrays: Sequence[np.ndarray]) -> None:
        """Few elements, one by one."""
        dtype, shape = arrays[0].dtype, arrays[0].shape
        columns = list(zip(*(a.ravel().tolist() for a in arrays), strict=True))
        turned = dtype.kind == "f" and any(abs(v) < 1 for column in columns for v in column)
        if turned:  # 1 / n
            columns = [tuple(round(1 / v, 6) if v else 0 for v in column) for column in columns]
        if any(float(v) != int(v) for column in columns for v in column):
            raise UnwrittenError(f"onnx.export: the constant {name} depends on a symbolic extent, and is no whole number")
        made = self._vector(columns, name)
        if dtype != np.int64:
            made = self._add("Cast", [made], to=onnx_code(dtype))
        if turned:
            made = self._add("Div", [self._value(np.ones(1, dtype)), made])
        self._add("Reshape", [made, self._value(np.array(shape, np.int64))], name)

    def _large(self, name: str, arrays: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]]) -> None:
        """One value everywhere, positions along an axis, or a triangle."""
        import onnx

        shape = self._vector(list(zip(*shapes, strict=True)), name)
        dtype, first = arrays[0].dtype, arrays[0].ravel()[:1]
        if all(a.size and (a == first[0]).all() for a in arrays):
            self._add("ConstantOfShape", [shape], name, value=onnx.numpy_helper.from_array(first))
            return
        long = [axis for axis, n in enumerate(shapes[0]) if n != 1]
        if len(long) == 1 and all(np.array_equal(a.ravel(), np.arange(a.size)) for a in arrays):
            self._add("Reshape", [self._add("Cast", [self._counted(shape, long[0])], to=onnx_code(dtype)), shape], name)
            return
        if len(long) == len(shapes[0]) == 2 and all(_is_triangle(a) and a[1, 0] == arrays[0][1, 0] for a in arrays):
            rows = self._add("Unsqueeze", [self._counted(shape, 0), self._value(np.array([1]))])
            below = self._add("GreaterOrEqual", [rows, self._counted(shape, 1)])
            low, high = (np.asarray(arrays[0][at]) for at in ((1, 0), (0, 1)))
            if dtype.kind == "b":
                self._add("Identity" if low else "Not", [below], name)
            else:
                self._add("Where", [below, self._value(low), self._value(high)], name)
            return
        raise UnwrittenError(
            f"onnx.export: the constant {name} of shape {list(shapes[0])} depends on a symbolic extent",
            "make it from the input: sg.arange(x.shape[0]), sg.zeros_like(x)",
        )

    def _counted(self, shape: str, axis: int) -> str:
        """0, 1, ... up to an extent."""
        one = self._add("Gather", [shape, self._value(np.array(axis))])
        return self._add("Range", [self._value(np.array(0)), one, self._value(np.array(1))])


def _is_triangle(a: np.ndarray) -> bool:
    """Whether a matrix has one value in its lower triangle, and another one above."""
    return min(a.shape) > 1 and np.array_equal(a, np.where(np.tri(*a.shape) > 0, a[1, 0], a[0, 1]))


def onnx_code(dtype: np.dtype) -> int:
    from .records import CODES

    return CODES[dtype]
