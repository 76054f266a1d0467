"""ONNX models as modules: their initializers are parameters, and they work in every mode and train."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...eager import Tensor
from ...errors import ArgumentError, GraphError, StaticgradError, UnknownExtentError
from ...nn import Module, Parameter
from ...ops.control.subgraph_tracing import symbol
from ...ops.deferred import Definition, defer, value_of
from ...ops.operators import Symbol, frontends, state
from .reading import OnnxGraph, OnnxNode, Parser, all_steps, inferred_types, parsed
from .records import BUFFERS, NodeContext

Values = dict[str, Any]


class OnnxModule(Module):
    """An ONNX model as a module: called with its inputs, by position or name, it returns its outputs.

    Initializers of floating dtypes that values are computed from are parameters, or buffers where they are statistics; single
    numbers, and those that shapes or axes follow from, are constants. Each keeps its name: `layer.weight` is the attribute
    `weight` of `layer`. It works eagerly, under `sg.compile` and on placeholders.
    """

    def __init__(self, source: Any, *, trainable: bool | Callable[[str], bool] = True):
        super().__init__()
        model, folder = parsed(source)
        self._parser = Parser(model, folder)
        self._block = self._parser.block(model.graph)
        self._leaves: dict[str, tuple[Module, str]] = {}
        self._constants: Values = {}
        block = self._block
        statistics, used = _uses(block)
        statistics |= {name for p in model.metadata_props if p.key == BUFFERS for name in json.loads(p.value)}
        for name, array in block.constants.items():
            if array.dtype.kind != "f" or not array.ndim or name not in used:
                self._constants[name] = array
            else:
                wanted = trainable(name) if callable(trainable) else trainable
                self._enter(name, array, wanted and name not in statistics)
        given = set(block.constants)
        self.input_names = tuple(name for name in block.inputs if name not in given)
        self.output_names = tuple(block.outputs)
        self._kinds = {i.name: i.type for i in model.graph.input}
        types = inferred_types(model)
        for step in block.steps:
            known = [types.get(name) for name in step.outputs if name]
            step.kinds = [kind for kind in known if kind is not None] if None not in known else None
        self._folded = _fold(self, block, self._constants)

    def _enter(self, name: str, array: np.ndarray, trained: bool) -> None:
        place: Module = self
        *path, last = [part for part in name.replace("/", ".").split(".") if part] or ["value"]
        for part in path:
            inner = place._modules.get(part)
            if inner is None:
                if hasattr(place, part):
                    part += "_"
                inner = place._modules.get(part) or Module()
                place.add_module(part, inner)
            place = inner
        while hasattr(place, last):
            last += "_"
        if trained:
            place.register_parameter(last, Parameter(Tensor(array.copy())))
        else:
            place.register_buffer(last, Tensor(array.copy()))
        self._leaves[name] = place, last

    def forward(self, *args: Any, **named: Any) -> Any:
        """The outputs: a tensor, or a tuple of tensors where there are several. Raises ArgumentError for other inputs than the
        model's."""
        if len(args) > len(self.input_names):
            names = ", ".join(self.input_names)
            raise ArgumentError(f"the model takes {len(self.input_names)} inputs, got {len(args)}", names)
        values: Values = dict(zip(self.input_names, map(_given, args), strict=False))
        for name, value in named.items():
            if name not in self.input_names:
                raise ArgumentError(f"the model has no input {name!r}", f"its inputs are {', '.join(self.input_names)}")
            values[name] = _given(value)
        missing = [name for name in self.input_names if name not in values]
        if missing:
            raise ArgumentError(f"the input {missing[0]!r} is missing", f"the inputs are {', '.join(self.input_names)}")
        values = {**self._constants, **self._folded, **{n: getattr(m, a) for n, (m, a) in self._leaves.items()}, **values}
        run = Run(self._parser)
        run.block(self._block, values)
        results = tuple(_result(values[name]) for name in self.output_names)
        return results[0] if len(results) == 1 else results

    def graph(self) -> Any:
        """The model as a graph, with placeholders of the inputs' names and variables that start from the parameters; its
        outputs are in `graph.outputs`. It can be differentiated and trained in a Session."""
        from ...static import Graph as StaticGraph
        from ...static import placeholder
        from .records import dtype_of

        graph = StaticGraph()
        with graph.as_default():
            inputs = []
            for name in self.input_names:
                kind = self._kinds[name].tensor_type
                shape = [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim]
                inputs.append(placeholder(dtype_of(kind.elem_type), shape, name=name))
            results = self(*inputs)
            results = results if isinstance(results, tuple) else (results,)
            found = [symbol(graph, r) for r in results]
        graph.outputs = {name: r.node for name, r in zip(self.output_names, found, strict=True)}
        return graph

    def __repr__(self) -> str:
        return f"OnnxModule({', '.join(self.input_names)} -> {', '.join(self.output_names)}; {len(self._block.steps)} nodes)"


def _given(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [_given(item) for item in x]
    return x if x is None or isinstance(x, (Tensor, Symbol)) else Tensor(x)


def _result(x: Any) -> Any:
    if isinstance(x, list):
        return [_result(item) for item in x]
    return Tensor(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x


def _uses(block: OnnxGraph) -> tuple[set[str], set[str]]:
    """The names that are read where statistics belong, and all that are read where no value decides."""
    statistics, used = set(), set(block.outputs)
    for step in all_steps(block):
        known = step.reader
        for i, name in enumerate(step.inputs):
            if known is None or i not in known.values:
                used.add(name)
            if known is not None and i in known.state:
                statistics.add(name)
    return statistics, used


def _fold(module: OnnxModule, block: OnnxGraph, constants: Values) -> Values:
    """The results of steps that depend on constants alone."""
    known = dict(constants)
    run = Run(module._parser)
    rest = []
    for step in block.steps:
        fixed = (
            step.reader is not None
            and all(name in known for name in step.inputs if name)
            and not any(isinstance(value, OnnxGraph) for value in step.attrs.values())
        )
        if fixed and not step.op.startswith("Random"):
            run.step(step, known, block.opsets)
            if all(isinstance(known[name], np.ndarray) for name in step.outputs if name):
                continue
        rest.append(step)
    block.steps = rest
    return {name: value for name, value in known.items() if name not in constants and isinstance(value, np.ndarray)}


class Run:
    """One evaluation of a model."""

    def __init__(self, parser: Parser):
        self.parser = parser

    def block(self, block: OnnxGraph, values: Values) -> None:
        """Evaluate the steps; `values` gets their results by name."""
        for step in block.steps:
            self.step(step, values, block.opsets)

    def inner(self, block: OnnxGraph, outer: Values) -> Callable[..., Any]:
        """A graph inside a node as a function of its inputs."""

        def call(*args: Any) -> Any:
            values = {**outer, **block.constants, **dict(zip(block.inputs, args, strict=False))}
            self.block(block, values)
            return [values[name] for name in block.outputs]

        return call

    def step(self, step: OnnxNode, values: Values, opsets: Mapping[str, int]) -> None:
        """Evaluate a node. Raises GraphError for an op that is unknown, and the errors of the functions."""
        try:
            inputs = [values[name] if name else None for name in step.inputs]
        except KeyError as missing:
            raise GraphError(f"ONNX {_title(step)}: the input {missing} is not computed before it") from None
        opset = opsets.get(step.domain, 1)
        if step.reader is None:
            block = step.inner
            if block is None:
                block = self.parser.expanded(step, opset, [_kind(x) for x in inputs], opsets)
            if block is None:
                raise GraphError(f"ONNX op {_title(step)} of opset {opset} is not supported")
            inside = dict(zip(block.inputs, inputs, strict=False))
            inside |= dict.fromkeys(block.inputs[len(inputs) :])
            inside[""] = None
            self.block(block, inside)
            results: Any = tuple(inside.get(name) for name in block.outputs[: len(step.outputs)])
        else:
            results = self.call(step, inputs, opset, values)
        results = results if isinstance(results, tuple) else (results,)
        for name, result in zip(step.outputs, results, strict=False):
            if name:
                values[name] = result

    def call(self, step: OnnxNode, inputs: Sequence[Any], opset: int, values: Values) -> Any:
        """The result of a reader on inputs of any kind."""
        record = step.reader
        assert record is not None
        attrs = dict(step.attrs)
        if "call" in record.names:
            bodies = [body for body in attrs.values() if isinstance(body, OnnxGraph)]
            symbolic = any(
                isinstance(values.get(n), Symbol) for body in bodies for inner in all_steps(body) for n in inner.inputs
            )
            attrs["call"] = NodeContext(opset, _count(step.outputs), lambda body: self.inner(body, values), symbolic)
        write = record.write
        if record.raw:
            return write(*inputs, **attrs)
        if all(x is None or isinstance(x, np.ndarray) for x in inputs):
            return _folded(lambda *xs: write(*xs, **attrs), inputs, record.values)
        try:
            return write(*(_known(x) if i in record.values else x for i, x in enumerate(inputs)), **attrs)
        except UnknownExtentError:
            graph = next((x.graph for x in inputs if isinstance(x, Symbol)), None)
            if graph is None or state.tracer is not None:
                raise
            return _deferred(graph, step, lambda *xs: write(*xs, **attrs), inputs, record.values)


def _count(outputs: Sequence[str]) -> int:
    return max((i + 1 for i, name in enumerate(outputs) if name), default=0)


def _title(step: OnnxNode) -> str:
    op = f"{step.domain}.{step.op}" if step.domain else step.op
    return f"{op} {step.name!r}" if step.name else op


def _kind(x: Any) -> Any:
    return None if x is None else (x.dtype, tuple(x.shape))


def _known(x: Any) -> Any:
    """The value of an operand as an array. A compiled function goes on in a new segment, a graph defers the operation."""
    if x is None or isinstance(x, np.ndarray):
        return x
    if isinstance(x, Symbol):
        if frontends.tracing and state.tracer is not None:
            return np.asarray(x.tolist(), x.dtype).reshape(x.shape)
        return value_of(x)
    return x.detach().numpy()


def _folded(write: Callable[..., Any], arrays: Sequence[Any], known: Sequence[int]) -> Any:
    """The result for arrays, as arrays: computed now, and no part of a trace."""
    tracer, deferral = state.tracer, state.deferral
    state.tracer = state.deferral = None
    try:
        found = write(*(x if x is None or i in known else Tensor(x) for i, x in enumerate(arrays)))
    finally:
        state.tracer, state.deferral = tracer, deferral
    return tuple(map(_plain, found)) if isinstance(found, tuple) else _plain(found)


def _plain(x: Any) -> Any:
    return x._data if isinstance(x, Tensor) else x


def _deferred(
    graph: Any, step: OnnxNode, write: Callable[..., Any], inputs: Sequence[Any], known: Sequence[int]
) -> tuple[Any, ...]:
    """The results of an operation that needs values of a graph's tensors: it is written in the run."""
    places = [i for i, x in enumerate(inputs) if x is not None and not isinstance(x, np.ndarray)]

    def put(symbols: list[Symbol]) -> list[Any]:
        operands = list(inputs)
        for i, x in zip(places, symbols, strict=True):
            operands[i] = value_of(x) if i in known else x
        try:
            found = write(*operands)
        except StaticgradError:
            raise
        except Exception as error:  # of a guess at a value that does not fit, or of one that is fed
            raise ArgumentError(f"ONNX {_title(step)}: {error}") from error
        return list(found) if isinstance(found, tuple) else [found]

    return tuple(defer(graph, Definition(put, type(graph)), [symbol(graph, inputs[i]) for i in places], step.kinds))
