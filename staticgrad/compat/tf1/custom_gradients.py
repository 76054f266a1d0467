"""Gradients that the program writes: `custom_gradient`, and registered gradients of op types."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...ir.walks import postorder
from ...operators import F, Symbol
from ...ops import pytree
from ...ops.custom_gradient import call_symbols
from ...ops.deferred import Definition, Written
from ...static.graphs import using
from .graph import MAKERS, Graph
from .tensor import graph_of, handles, symbols, tensor

REGISTRY: dict[str, Callable[..., Any] | None] = {}
"""By the registered name: a function of an operation and the gradients of its results; None: no gradient flows."""


class RegisterGradient:
    """A decorator that registers a gradient under a name for `Graph.gradient_override_map`.

    The function takes the operation (`inputs`, `outputs`, `type`, `name`) and a gradient for each of its results, and returns
    one for each input, None where none flows. Raises KeyError for a name that is taken.
    """

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        _register(self._type, f)
        return f


def _register(name: str, fn: Callable[..., Any] | None) -> None:
    if name in REGISTRY:
        raise KeyError(f"Registering two gradient with name '{name}'!")
    REGISTRY[name] = fn


def NotDifferentiable(op_type: str) -> None:
    """Register that no gradient flows through operations of a type."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _register(op_type, None)


no_gradient = NoGradient = NotDifferentiable


class DifferentiatedOp:
    """What a registered gradient knows of the operation."""

    def __init__(self, graph: Graph, type_: str, name: str, inputs: list[Any], outputs: list[Any], attrs: Any):
        self.graph, self.type, self.name, self.inputs, self.outputs = graph, type_, name, inputs, outputs
        self._attrs = attrs

    def get_attr(self, name: str) -> Any:
        """Raises ValueError for an attribute that the operation does not have."""
        if name not in self._attrs:
            raise ValueError(f"Operation {self.name!r} has no attr named {name!r}.")
        return self._attrs[name]


def _in_dialect(given: Sequence[Any], write: Callable[[Graph, list[Any]], list[Any]]) -> list[Any]:
    """`write(graph, symbols)` in the graph of the symbols; where that is no graph of the dialect, as in the gradient of a
    loop, in one of its own, whose nodes are copied. Returns symbols, and None where there is none."""
    target = given[0].graph
    if isinstance(target, Graph):
        return write(target, list(given))
    places: list[int | None] = []

    def definition(operands: list[Symbol]) -> list[Any]:
        found = write(operands[0].graph, operands)  # type: ignore[arg-type]  # a graph of `Graph`
        kept = [x for x in found if x is not None]
        places[:] = [None if x is None else kept.index(x) for x in found]
        return kept

    made = Written(Definition(definition, Graph), [(x.node, x.node.type) for x in given], {}, None)
    moved = dict(zip(made.parameters, [x.node for x in given], strict=True))
    for node in postorder(made.results, lambda n: n.inputs, moved):
        moved[node] = target.add(node.op, tuple(moved[i] for i in node.inputs), node.attrs, node.type, node.name, node.where)
    return [None if p is None else Symbol(target, moved[made.results[p]]) for p in places]


def overridden(graph: Graph, type_: str, given: Any, out: Any) -> Any:
    """The results of an operation, with the gradient that the graph has in place of that of its type."""
    name = graph.gradient_overrides.get(type_)
    if name is None:
        return out
    if name not in REGISTRY:
        raise LookupError(f"gradient registry has no entry for: {name}")
    register, tensors = REGISTRY[name], [x for x in pytree.flatten(given, pytree.ordered)[0] if isinstance(x, Symbol)]
    results, structure = pytree.flatten(out, pytree.ordered)
    smooth = [i for i, x in enumerate(results) if isinstance(x, Symbol) and x.dtype.kind == "f"]
    if not tensors or not smooth:
        return out
    saved = [results[i] for i in smooth]
    attrs = results[smooth[0]].node.attrs

    def rule(gs: Sequence[Any], operands: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        if register is None:
            return [None] * len(operands)
        fn, n, m = register, len(operands), len(values)

        def write(owner: Graph, given: list[Any]) -> list[Any]:
            inputs, outputs, cotangents = given[:n], given[n : n + m], given[n + m :]
            op = DifferentiatedOp(owner, type_, type_, handles(owner, inputs), handles(owner, outputs), attrs)
            found = _listed(fn(op, *handles(owner, cotangents)))
            if len(found) != n:
                raise ValueError(f"Num gradients {len(found)} generated for op {name!r} do not match num inputs {n}")
            return _converted(found, inputs)

        return _in_dialect([*operands, *values, *_cotangents(gs, dict(zip(smooth, values, strict=True)))], write)

    return pytree.unflatten(structure, call_symbols(name, results, smooth, tensors, saved, rule))


MAKERS["overridden"] = overridden


def _cotangents(gs: Sequence[Any], values: dict[int, Any]) -> list[Any]:
    """One per result that a gradient flows through: zeros where there is none."""
    return [F.zeros_like(value) if gs[i] is None else gs[i] for i, value in values.items()]


def _converted(gradients: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    return [None if g is None else tensor(g, x.dtype) for g, x in zip(gradients, operands, strict=True)]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function with a gradient of its own: `f(*args)` returns its results and `grad(*gradients of the results)`, which
    returns one gradient per argument.

    Raises TypeError for an `f` that reads trainable variables which are no arguments, ValueError for keywords and for another
    number of gradients.
    """
    if f is None:
        return custom_gradient
    fn = f

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when eager execution is enabled."
            )
        graph = graph_of(args)
        graph.check_open()
        with using(graph):
            places = handles(graph, [tensor(a) for a in args])
            before = len(graph.nodes)
            out, grad = fn(*places)
            _refuse_variables(graph, before, places)
            results, structure = pytree.flatten(symbols(out), pytree.ordered)
            results = [tensor(x) for x in results]
            smooth = [i for i, x in enumerate(results) if x.dtype.kind == "f"]

            def rule(gs: Sequence[Any], operands: Sequence[Any], saved: Sequence[Any]) -> list[Any]:
                cotangents, n = _cotangents(gs, dict(zip(smooth, saved, strict=True))), len(operands)

                def write(owner: Graph, given: list[Any]) -> list[Any]:
                    here = grad
                    if owner is not graph or any(r.node not in owner for r in results):  # in the body of a loop: anew
                        _, here = fn(*handles(owner, given[:n]))
                    found = _listed(here(*handles(owner, given[n:])))
                    if len(found) != n:
                        raise ValueError(
                            f"custom_gradient function expected to return {n} gradients, but returned {len(found)} instead."
                        )
                    return _converted(found, given[:n])

                return _in_dialect([*operands, *cotangents], write)

            tensors = [p.symbol for p in places]
            made = (
                call_symbols(fn.__name__, results, smooth, tensors, [results[i] for i in smooth], rule) if tensors else results
            )
            for x in made:
                if not graph.known(x.node):
                    graph.adopt(x.node, "IdentityN", "IdentityN")
        return handles(graph, pytree.unflatten(structure, made))

    return call


def _refuse_variables(graph: Graph, before: int, places: Sequence[Any]) -> None:
    """Raise TypeError where a function read a trainable variable that it was not given."""
    given = {p.node for p in places}
    for node in graph.nodes[before:]:
        for operand in node.inputs:
            variable = graph.variable_of.get(operand)
            if variable is not None and variable.trainable and operand not in given:
                raise TypeError(
                    "If using @custom_gradient with a function that uses variables, then grad_fn must accept a 'variables' "
                    f"keyword argument. Here a variable has to be an argument: hand in {graph.name_of(operand)!r} instead"
                )


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Accepted: what the backward pass keeps and what it computes again is the compiler's decision."""
    return f


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """f with the gradient of the identity."""

    @custom_gradient
    def call(*args: Any) -> Any:
        return f(*args), lambda *gs: gs

    return call
