"""Control flow: branches, loops and order of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import F, Symbol, TensorType, UnknownExtentError, has_rank, narrowed, pytree, static, using
from .graph import control_dependencies, get_default_graph
from .handles import Handle, Operation
from .shapes import TensorShape
from .tensor import define, graph_of, handles, mapped, operation, put_off_function, symbols, tensor
from .tensor_array import TensorArray, arrays, buffers, large_enough, on_buffers, with_elements


def _built(graph: Any, build: Callable[[], Any]) -> Any:
    """A loop or branch; where an operand has no known rank, it is built in the run."""
    try:
        return build()
    except UnknownExtentError:
        return put_off_function(graph, build)


def _body(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the dialect as one on symbols, whose plain results are constants."""

    def call(*args: Any) -> Any:
        graph = get_default_graph()
        before = set(graph.undeclared)
        found = _tensors(fn(*handles(graph, args)))
        for node in set(graph.undeclared) - before:
            del graph.undeclared[node]
            raise NotImplementedError(
                f"{graph.name_of(node)}: the result of py_func in the body of a loop or branch needs a known shape: call its "
                "set_shape before it is used"
            )
        return found

    return call


def _entered(graph: Any, found: Any, name: str) -> Any:
    """The results of a loop or branch as handles with names."""
    for x in pytree.flatten(found, pytree.ordered)[0]:
        if isinstance(x, Symbol) and not graph.known(x.node) and not x.node.name:
            graph.adopt(x.node, name, name)
    return handles(graph, found)


def _tensors(value: Any) -> Any:
    return mapped(_tensor, value)


def _tensor(value: Any) -> Any:
    if isinstance(value, Operation):
        with control_dependencies([value]):
            return static.constant(True)
    return tensor(value)


def cond(
    pred: Any, true_fn: Callable[[], Any] | None = None, false_fn: Callable[[], Any] | None = None, strict: bool = False,
    name: str | None = None, fn1: Callable[[], Any] | None = None, fn2: Callable[[], Any] | None = None,
) -> Any:  # fmt: skip
    """The results of `true_fn` where `pred` holds, else those of `false_fn`; only that branch runs."""
    if fn1 is not None and true_fn is not None:
        raise TypeError("cond(): true_fn and fn1 may not be set simultaneously.")
    if fn2 is not None and false_fn is not None:
        raise TypeError("cond(): false_fn and fn2 may not be set simultaneously.")
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("true_fn and false_fn must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    if not strict:
        true_fn, false_fn = _bare(true_fn), _bare(false_fn)
    graph = graph_of([pred])
    with using(graph), graph.name_scope(name or "cond"):
        found = _built(graph, lambda: F.cond(_scalar(tensor(pred)), _body(true_fn), _body(false_fn)))
        found = _entered(graph, found, "Merge")
    return found


def _bare(fn: Callable[[], Any]) -> Callable[[], Any]:
    """A function whose only result comes without the list around it."""

    def call() -> Any:
        found = fn()
        return found[0] if isinstance(found, (list, tuple)) and len(found) == 1 and not hasattr(found, "_fields") else found

    return call


def _scalar(pred: Any) -> Any:
    """A condition of unknown rank is a scalar: a run with another value raises ShapeError."""
    return pred if has_rank(pred) else narrowed(pred, TensorType((), pred.dtype))


def case(pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False, strict: bool = False,
         name: str = "case") -> Any:  # fmt: skip
    """The result of the first function whose condition holds, else that of `default`; without one a run in
    which none holds raises InvalidArgumentError."""
    if not isinstance(pred_fn_pairs, (list, tuple, dict)):
        raise TypeError("pred_fn_pairs must be a list, tuple, or dict")
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if not pairs:
        raise ValueError("case: pred_fn_pairs has to have an entry")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {pair[0]} must be callable.")
    result = default
    if result is None:
        result = _asserted(*pairs.pop())
    elif not callable(result):
        raise TypeError("default must be callable.")
    if exclusive:
        from .py_functions import Assert

        given = pairs if default is not None else list(
            pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs
        )  # fmt: skip
        count = _how_many([pred for pred, _ in given])
        text = "Input error: more than one condition evaluated as True but exclusive=True"
        with control_dependencies([Assert(_at_most_one(count), [text])]):
            return mapped(_after, _first_of(pairs, result, name)())
    return _first_of(pairs, result, name)()


def _first_of(pairs: list[Any], result: Callable[[], Any], name: str) -> Callable[[], Any]:
    for pred, fn in reversed(pairs):
        result = _else(pred, fn, result, name)
    return result


@operation("Sum")
def _how_many(conditions: list[Any]) -> Any:
    return F.sum(F.stack([F.astype(tensor(c), np.int32) for c in conditions]))


_at_most_one = define("_at_most_one", "LessEqual", lambda count: F.le(count, 1))


def _asserted(pred: Any, fn: Callable[[], Any]) -> Callable[[], Any]:
    """The last function of a `case` without a default: a run in which its condition does not hold either raises an error."""

    def call() -> Any:
        from .py_functions import Assert

        text = "Input error: None of conditions evaluated as True."
        with control_dependencies([Assert(pred, [text])]):
            return mapped(_after, fn())

    return call


def _else(pred: Any, fn: Callable[[], Any], otherwise: Callable[[], Any], name: str) -> Callable[[], Any]:
    return lambda: cond(pred, fn, otherwise, name=name)


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, shape_invariants: Any = None,
    parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False, name: str | None = None,
    maximum_iterations: Any = None, return_same_structure: bool = False,
) -> Any:  # fmt: skip
    """Repeat `body` while `cond` holds; returns the last loop variables, which keep their shapes.

    shape_invariants: a TensorShape for each loop variable; extents that it leaves open may change from one iteration to the
    next. parallel_iterations and swap_memory are accepted. back_prop=False: no gradient flows through the loop.
    """
    if not callable(cond) or not callable(body):
        raise TypeError("cond and body must be callable.")
    given = list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars]

    def counting(variables: list[Any]) -> list[Any]:
        return while_loop(cond, body, variables, maximum_iterations=maximum_iterations, return_same_structure=True)  # type: ignore[no-any-return]

    given = with_elements(body, large_enough(given, counting))
    cond, body, wrap = on_buffers(cond, given), on_buffers(body, given), given
    given = buffers(given)
    graph = graph_of(given)
    with using(graph), graph.name_scope(name or "while"):

        def loop() -> Any:
            first = tuple(_tensors(symbols(v)) for v in given)
            return F.while_loop(
                _body(cond),
                _same_length(_body(body), len(given)),
                first,
                max_steps=None if maximum_iterations is None else symbols(maximum_iterations),
                shape_invariants=None if shape_invariants is None else _shapes(first, shape_invariants, wrap),
            )

        found = _built(graph, loop)
        if not back_prop:
            found = tuple(F.stop_gradient(x) for x in found)
        found = _entered(graph, list(found), "Exit")
    found = arrays(found, wrap)
    return found[0] if len(found) == 1 and not return_same_structure else found


def _shapes(variables: Any, invariants: Any, given: Any) -> Any:
    """The extents of loop variables, by shapes in the structure of `given`, in which arrays keep theirs."""
    if isinstance(given, TensorArray):
        return variables.shape if has_rank(variables) else None
    if isinstance(variables, dict):
        return {key: _shapes(variables[key], invariants[key], given[key]) for key in variables}
    if isinstance(variables, (list, tuple)):
        if not isinstance(invariants, (list, tuple)) or len(invariants) != len(variables):
            raise ValueError("The two structures don't have the same nested structure: loop_vars and shape_invariants")
        return [_shapes(*each) for each in zip(variables, invariants, given, strict=True)]
    if not isinstance(invariants, TensorShape):
        raise TypeError(
            "'shape_invariants' must be a (possibly nested) list or tuple of TensorShapes, one for each loop variable, got "
            f"{invariants!r}"
        )
    return None if invariants.ndims is None else tuple(invariants.as_list())


def _same_length(body: Callable[..., Any], count: int) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        out = body(*args)
        return tuple(out) if isinstance(out, (list, tuple)) and (count > 1 or len(out) == 1) else (out,)

    return call


def scan(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, infer_shape: bool = True, reverse: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """fn(accumulated, item) along the leading axis, and every accumulated value; the first item begins without initializer."""
    graph = graph_of([elems, initializer])
    with using(graph), graph.name_scope(name or "scan"):
        out = _built(graph, lambda: _scanned(_body(fn), elems, initializer, reverse))
        out = _entered(graph, out, "TensorArrayStack")
    return out


def _scanned(body: Callable[..., Any], elems: Any, initializer: Any, reverse: bool) -> Any:
    """Every accumulated value."""
    items = _tensors(symbols(elems))
    if isinstance(items, Symbol) and not items.ndim:
        raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
    if initializer is None:
        if isinstance(items, (list, tuple, dict)):
            raise ValueError("scan: several elems need an initializer")
        first = items[-1] if reverse else items[0]
        _, rest = F.scan(_doubled(body), first, items[:-1] if reverse else items[1:], reverse=reverse)
        edge = F.expand_dims(first, 0)
        out = F.concatenate([rest, edge] if reverse else [edge, rest], axis=0)
    else:
        _, out = F.scan(_doubled(body), _tensors(symbols(initializer)), items, reverse=reverse)
    return out


def _doubled(body: Callable[..., Any]) -> Callable[..., Any]:
    def call(carry: Any, item: Any) -> Any:
        out = body(carry, item)
        return out, out

    return call


def map_fn(
    fn: Callable[[Any], Any], elems: Any, dtype: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, infer_shape: bool = True, name: str | None = None, fn_output_signature: Any = None,
) -> Any:  # fmt: skip
    """fn of each item along the leading axis, stacked."""
    graph = graph_of([elems])
    with using(graph), graph.name_scope(name or "map"):
        body = _body(fn)
        out = _built(graph, lambda: F.scan(lambda carry, item: (carry, body(item)), (), _tensors(symbols(elems)))[1])
        return _entered(graph, out, "TensorArrayStack")


def foldl(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None, **options: Any) -> Any:
    """fn(accumulated, item) from the first item to the last; the last accumulated value."""
    return scan(fn, elems, initializer, name=name or "foldl", **options)[-1]


def foldr(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None, **options: Any) -> Any:
    """fn(accumulated, item) from the last item to the first; the last accumulated value."""
    return scan(fn, elems, initializer, reverse=True, name=name or "foldr", **options)[0]


def group(*inputs: Any, name: str | None = None) -> Operation:
    """One operation that runs all inputs."""
    graph = graph_of(inputs)
    for item in inputs:
        if not (hasattr(item, "op") or isinstance(item, (Operation, list, tuple))):
            raise TypeError(f"Expected tf.group() expected Tensor objects not None or {item!r} of type {type(item).__name__}")
    with using(graph):
        made = static.group(*_effects(inputs), name=graph.full_name(name or "group_deps"))
    return Operation(graph, made.node)


def _effects(inputs: Any) -> list[Any]:
    """What the library's functions take for tensors and operations."""
    return [_effects(i) if isinstance(i, (list, tuple)) else i.symbol if isinstance(i, Handle) else i for i in inputs]


def no_op(name: str | None = None) -> Operation:
    """Does nothing; useful under `control_dependencies`."""
    return group(name=name or "NoOp")


_after = define("_after", "Identity", lambda x: static.identity(x), default="tuple")


def tuple_(tensors: Any, name: str = "tuple", control_inputs: Any = None) -> list[Any]:
    """The tensors, each available once all of them are computed."""
    before = [*(t for t in tensors if t is not None), *(control_inputs or [])]
    with static.control_dependencies(before):
        return [None if t is None else _after(t, name=f"{name}/control_dependency") for t in tensors]


def vectorized_map(fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """`map_fn`, which is compiled to native loops."""
    return map_fn(fn, elems)
