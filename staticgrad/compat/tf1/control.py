"""Control flow: branches, loops and order of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import F, Symbol, TensorType, UnknownExtentError, bool_, has_rank, narrowed, pytree, static, using
from .dtypes import TensorShape
from .gradients import IndexedSlices
from .graph import control_dependencies, get_default_graph
from .handles import Handle, Operation
from .tensor import as_texts, built, define, graph_of, handles, is_text, known, mapped, operation, symbols, tensor
from .tensor_array import Parts, TensorArray, arrays, buffers, has_parts, invariants, large_enough, on_buffers, with_elements


class _Body:
    """A function of the dialect as one on symbols, whose plain results are constants. like: a nest of tensors from outside
    that are strings where its arguments are."""

    def __init__(self, fn: Callable[..., Any], like: Any = ()):
        self._fn, self._like = fn, _texts_in(like)
        self.texts: list[bool] = []
        """Which of its results are strings."""

    def __call__(self, *args: Any) -> Any:
        graph = get_default_graph()
        before = set(graph.undeclared)
        _mark(args, self._like)
        found = _tensors(self._fn(*handles(graph, args)))
        for node in set(graph.undeclared) - before:
            del graph.undeclared[node]
            raise NotImplementedError(
                f"{graph.name_of(node)}: the result of py_func in the body of a loop or branch needs a known shape: call its "
                "set_shape before it is used"
            )
        self.texts = _texts_in(found)
        return found


def _texts_in(nest: Any) -> list[bool]:
    """Which tensors of a nest are strings."""
    return [is_text(x) for x in pytree.flatten(nest, pytree.ordered)[0]]


def _mark(nest: Any, texts: list[bool]) -> None:
    """Let these tensors of a nest be strings."""
    if any(texts):
        for x, text in zip(pytree.flatten(nest, pytree.ordered)[0], texts, strict=False):
            if text:
                as_texts(x)


def _entered(graph: Any, found: Any, name: str, texts: list[bool]) -> Any:
    """The results of a loop or branch as handles with names."""
    _mark(found, texts)
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
        rows = _Rows()
        branches = _Body(rows.first(true_fn)), _Body(rows.other(false_fn))
        found = built(graph, lambda: F.cond(_scalar(tensor(pred)), *branches))
        return rows.joined(_entered(graph, found, "Merge", branches[0].texts))


class _Rows:
    """`IndexedSlices` among the results of branches, which are tensors there: values, indices, and the shape of the whole where
    the graph does not know it. Of the second branch a result is what it is in the first one."""

    def __init__(self) -> None:
        self._structure: Any = None
        self._forms: list[Any] = []
        """Of each result of the first branch (dtype of the indices, shape of the whole), None for a tensor."""

    def first(self, fn: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            found = fn()
            leaves, self._structure = pytree.flatten(found, pytree.ordered)
            self._forms = [(x.indices.dtype, _whole(x)) if isinstance(x, IndexedSlices) else None for x in leaves]
            return self._parted(found, leaves)

        return call

    def other(self, fn: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            found = fn()
            leaves, structure = pytree.flatten(found, pytree.ordered)
            return self._parted(found, leaves) if structure == self._structure else found

        return call

    def _parted(self, found: Any, leaves: list[Any]) -> Any:
        if not any(self._forms):
            return found
        return pytree.unflatten(self._structure, [_parts(*each) for each in zip(leaves, self._forms, strict=True)])

    def joined(self, found: Any) -> Any:
        """The results with slices in the places of their parts."""
        if not any(self._forms):
            return found
        rest = iter(pytree.flatten(found, pytree.ordered)[0])

        def leaf(form: Any) -> Any:
            if form is None:
                return next(rest)
            shape = form[1]
            return IndexedSlices(next(rest), next(rest), (shape or None) if isinstance(shape, list) else next(rest))

        return pytree.unflatten(self._structure, map(leaf, self._forms))


def _whole(x: IndexedSlices) -> Any:
    """The shape of the whole: a list, which is empty where it is unknown, or a tensor where the run decides it."""
    shape = x.dense_shape
    try:
        return [] if shape is None else list(known(symbols(shape)))
    except UnknownExtentError:
        return shape


def _parts(x: Any, form: Any) -> Any:
    """A result in the form that the first branch has it in."""
    if form is None:
        return x
    dtype, shape = form
    if not isinstance(x, IndexedSlices):
        whole = tensor(x)
        x = IndexedSlices(whole, F.reshape(F.index_along(whole, 0), (-1,)))
    found = x.values, F.astype(x.indices.symbol, dtype.numpy)
    return found if isinstance(shape, list) else (*found, x.dense_shape)


def _bare(fn: Callable[[], Any]) -> Callable[[], Any]:
    """A function whose only result comes without the list around it."""

    def call() -> Any:
        found = fn()
        return found[0] if isinstance(found, (list, tuple)) and len(found) == 1 and not hasattr(found, "_fields") else found

    return call


def _scalar(pred: Any) -> Any:
    """A condition of unknown rank is a scalar: a run with another value raises ShapeError."""
    if pred.dtype != bool_:
        raise TypeError(f"Input 'pred' of 'Switch' Op has type {pred.dtype} that does not match expected type of bool.")
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
        return while_loop(cond, body, variables, maximum_iterations=maximum_iterations, return_same_structure=True)

    given = with_elements(body, large_enough(given, counting))
    cond, body, wrap = on_buffers(cond, given), on_buffers(body, given), given
    given = buffers(given)
    graph = graph_of(given)
    texts: list[bool] = []
    with using(graph), graph.name_scope(name or "while"):

        def loop() -> Any:
            first = tuple(_tensors(symbols(v)) for v in given)
            texts[:] = _texts_in(first)
            return F.while_loop(
                _holds(_Body(cond, first)),
                _same_length(_Body(body, first), len(given)),
                first,
                max_steps=None if maximum_iterations is None else symbols(maximum_iterations),
                shape_invariants=_kept(first, shape_invariants, wrap),
            )

        found = built(graph, loop)
        if not back_prop:
            found = tuple(F.stop_gradient(x) for x in found)
        found = _entered(graph, list(found), "Exit", texts)
    found = arrays(found, wrap)
    return found[0] if len(found) == 1 and not return_same_structure else found


def _holds(cond: Callable[..., Any]) -> Callable[..., Any]:
    """A condition, which has to be a boolean."""

    def call(*args: Any) -> Any:
        found = cond(*args)
        if found.dtype != bool_:
            raise TypeError(f"Input 'input' of 'LoopCond' Op has type {found.dtype} that does not match expected type of bool.")
        return found

    return call


def _kept(variables: Any, given: Any, wrap: Any) -> Any:
    """The extents that loop variables keep; None for all."""
    if given is not None:
        return _shapes(variables, given, wrap)
    return invariants(list(variables), wrap) if has_parts(wrap) else None


def _shapes(variables: Any, invariants: Any, given: Any) -> Any:
    """The extents of loop variables, by shapes in the structure of `given`, in which arrays keep theirs."""
    if isinstance(given, Parts):
        return invariants(variables, given)
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
    return _accumulated(fn, elems, initializer, reverse, name or "scan")


def _accumulated(fn: Any, elems: Any, initializer: Any, reverse: bool, name: str, last: bool = False) -> Any:
    """Every accumulated value, or the last one."""
    graph = graph_of([elems, initializer])
    with using(graph), graph.name_scope(name):
        texts: list[bool] = []
        out = built(graph, lambda: _scanned(fn, elems, initializer, reverse, texts, last))
        return _entered(graph, out, "Exit" if last else "TensorArrayStack", texts)


def _scanned(fn: Any, elems: Any, initializer: Any, reverse: bool, texts: list[bool], last: bool) -> Any:
    """See `_accumulated`. texts: gets which of the results are strings."""
    items = _items(elems)
    if initializer is None:
        first = mapped(lambda x: x[-1] if reverse else x[0], items)
        rest = mapped(lambda x: x[:-1] if reverse else x[1:], items)
    else:
        first, rest = _tensors(symbols(initializer)), items
    body = _Body(fn, (first, items))
    final, out = F.scan((lambda carry, item: (body(carry, item), ())) if last else _doubled(body), first, rest, reverse=reverse)
    texts[:] = body.texts
    if last:
        return final
    if initializer is None:
        edges = mapped(lambda x: F.expand_dims(x, 0), first)
        out = mapped(lambda e, o: F.concatenate([o, e] if reverse else [e, o], axis=0), edges, out)
    return out


def _items(elems: Any) -> Any:
    """The tensors of elems, whose items along the first axis a function takes. Raises ValueError for one without axes, and
    UnknownExtentError for one of unknown rank."""

    def checked(x: Any) -> Any:
        if not x.ndim:
            raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
        return x

    return mapped(checked, _tensors(symbols(elems)))


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
        texts: list[bool] = []

        def each() -> Any:
            items = _items(elems)
            body = _Body(fn, items)
            found = F.scan(lambda carry, item: (carry, body(item)), (), items)[1]
            texts[:] = body.texts
            return found

        return _entered(graph, built(graph, each), "TensorArrayStack", texts)


def foldl(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None, **options: Any) -> Any:
    """fn(accumulated, item) from the first item to the last; the last accumulated value."""
    return _accumulated(fn, elems, initializer, False, name or "foldl", last=True)


def foldr(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None, **options: Any) -> Any:
    """fn(accumulated, item) from the last item to the first; the last accumulated value."""
    return _accumulated(fn, elems, initializer, True, name or "foldr", last=True)


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
