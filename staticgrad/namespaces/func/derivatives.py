"""Derivatives of functions: `grad`, `vjp`, `jvp`, Jacobians, Hessians, linearizations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...autodiff.forward import Dual, Forward, Recorded, Recording, TapeEntry, pull, push_steps
from ...base.types import INEXACT, shape_text
from ...eager import enable_grad
from ...errors import TransformError
from ...ops.operators import F
from ...ops.pytree import Structure, text, unflatten
from .mapping import is_tensor, kinds, leaves_of, name_of, selected, surroundings_of, vmap

Function = Callable[..., Any]
Argnums = int | Sequence[int]

# reverse mode ---------------------------------------------------------------------------------------------------------


class Tape(NamedTuple):
    """A function that was run on recorded tensors.

    outputs: its results; steps: where each was made, None for one that depends on no argument; leaves: the arguments' steps.
    """

    outputs: list[Any]
    structure: Structure
    steps: list[TapeEntry | None]
    leaves: list[TapeEntry]
    aux: Any

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the arguments: zeros where the results don't depend on one."""
        ends = [(step, g) for step, g in zip(self.steps, cotangents, strict=True) if step is not None]
        found = pull(ends, self.leaves)
        return [F.zeros_like(leaf.out) if g is None else g for leaf, g in zip(self.leaves, found, strict=True)]


def _recorded(name: str, func: Function, given: Sequence[Any], call: Callable[[list[Any]], Any], has_aux: bool) -> Tape:
    """Run `call` on recorded versions of the tensors `given`. Raises TransformError for what can't be differentiated."""
    with enable_grad(), Recording(name) as level:
        lifted = [level.leaf(x) for x in given]
        leaves = [x.step for x in lifted]
        value = call(lifted)
        aux: Any = None
        if has_aux:
            value, aux = _with_aux(name, func, value)
            auxiliary, structure = leaves_of(aux)
            aux = unflatten(structure, [_plain(level, x) for x in auxiliary])
        outputs, structure = leaves_of(value)
        steps = [x.step if isinstance(x, Recorded) and x.level is level else None for x in outputs]
        return Tape([_plain(level, x) for x in outputs], structure, steps, leaves, aux)


def _with_aux(name: str, func: Function, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise TransformError(
            f"{name}(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True",
            f"{name_of(func)} returned {type(value).__name__}",
        )
    return value


def _plain(level: Any, x: Any) -> Any:
    """A result without the transform."""
    return x.value if isinstance(x, (Recorded, Dual)) and x.level is level else x


def _check_floating(name: str, x: Any) -> Any:
    """A tensor to differentiate. Raises TransformError for anything else."""
    if not is_tensor(x):
        if isinstance(x, np.ndarray) and x.dtype.kind in INEXACT:
            return F.clone(x)
        raise TransformError(
            f"{name}: expected tensors to differentiate with respect to, got {type(x).__name__}", "give a tensor there"
        )
    if x.dtype.kind not in INEXACT:
        raise TransformError(f"{name}: only tensors of floating point dtype can require gradients, got {x.dtype}")
    return x


def value_and_grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function of the same arguments that returns (value, gradient) of `func`; ((value, aux), gradient) with `has_aux`.

    See `grad`, for which this is the whole.
    """

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        chosen = selected(args, argnums, "grad")
        parts = [leaves_of(args[n]) for n in chosen]
        flat = [_check_floating("grad_and_value(f)(*args)", x) for leaves, _ in parts for x in leaves]

        def run(lifted: list[Any]) -> Any:
            given, rest = list(args), iter(lifted)
            for n, (leaves, structure) in zip(chosen, parts, strict=True):
                given[n] = unflatten(structure, [next(rest) for _ in leaves])
            return func(*given, **kwargs)

        out, aux, slopes = _scalar_gradients(func, flat, run, has_aux)
        found = iter(slopes)
        gradients = tuple([unflatten(structure, [next(found) for _ in leaves]) for leaves, structure in parts])
        gradient = gradients if isinstance(argnums, (tuple, list)) else gradients[0]
        return ((out, aux) if has_aux else out), gradient

    return call


def _scalar_gradients(
    func: Function, flat: Sequence[Any], run: Callable[[list[Any]], Any], has_aux: bool
) -> tuple[Any, Any, list[Any]]:
    """The value of a scalar function, aux, and the gradients."""
    around = surroundings_of(flat)
    if around is None:
        tape = _recorded("grad", func, flat, run, has_aux)
        out = _scalar(unflatten(tape.structure, tape.outputs))
        return out, tape.aux, tape.pull([F.ones_like(out)])
    with enable_grad():
        given = [around.enter(x) for x in flat]
        value = run(list(given))
    aux: Any = None
    if has_aux:
        value, aux = _with_aux("grad_and_value", func, value)
    out = _scalar(value)
    slopes = around.pull(out, given)
    slopes = [F.zeros_like(x) if g is None else g for g, x in zip(slopes, flat, strict=True)]
    return around.leave(out, given), around.leave(aux, given), slopes


def _scalar(out: Any) -> Any:
    """The only result. Raises TransformError unless it is one floating number."""
    if not is_tensor(out):
        raise TransformError(f"grad_and_value(f)(*args): Expected f(*args) to return a tensor, got {type(out).__name__}")
    if len(out.shape):
        raise TransformError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with {len(out.shape)} dims. "
            "Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    if out.dtype.kind not in INEXACT:
        raise TransformError(f"grad_and_value(f)(*args): only floating results have gradients, got {out.dtype}")
    return out


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function of the same arguments that returns the gradient of `func`, which returns a scalar.

    argnums: the argument, or a tuple of them, to differentiate; each may be a nest of tensors, and the gradient has its form.
    has_aux: `func` returns (scalar, aux), and the result is (gradient, aux). Raises TransformError for a result that is no
    floating scalar, and for arguments that can't be differentiated.

    Examples:
        >>> slope = sg.func.grad(lambda x: x**3)
        >>> slope(sg.tensor(2.0)), sg.func.grad(slope)(sg.tensor(2.0))
        (tensor(12.), tensor(12.))
    """
    both = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return call


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """PyTorch's order: a function that returns (gradient, value), or (gradient, (value, aux)) with `has_aux`. See `grad`."""
    both = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return gradient, value

    return call


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """(outputs, vjp_fn) of `func` at `primals`, and aux with `has_aux`: vjp_fn(cotangents) gives those of the primals.

    Cotangents have the form and shapes of the outputs, and vjp_fn returns a tuple with an entry for each primal, or the entry
    of a single one. It may be called many times, also under `vmap`. Raises TransformError for cotangents of another form.

    Examples:
        >>> out, pull = sg.func.vjp(sg.sin, sg.tensor([0.0, 1.0]))
        >>> pull(sg.ones(2))
        tensor([1.0000, 0.5403])
    """
    parts = [leaves_of(p) for p in primals]
    flat = [_check_floating("vjp(f, *primals)", x) for leaves, _ in parts for x in leaves]

    def run(lifted: list[Any]) -> Any:
        rest = iter(lifted)
        return func(*[unflatten(structure, [next(rest) for _ in leaves]) for leaves, structure in parts])

    tape = _recorded("vjp", func, flat, run, has_aux)
    for x in tape.outputs:
        if not is_tensor(x):
            raise TransformError(f"vjp(f, *primals): Expected f to be a function that has non-empty output (got {x!r})",
                                 "f returns tensors, in any nest")  # fmt: skip

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, structure = leaves_of(cotangents)
        if kinds(structure) != kinds(tape.structure):
            raise TransformError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {text(structure)}, primal output: {text(tape.structure)}"
            )
        for g, out in zip(given, tape.outputs, strict=True):
            if tuple(np.shape(g) if not hasattr(g, "shape") else g.shape) != tuple(out.shape):
                raise TransformError(
                    f"vjp_fn: a cotangent of shape {shape_text(tuple(g.shape))} for an output of {shape_text(tuple(out.shape))}"
                )
        given = [F.astype(g, x.dtype) if hasattr(g, "dtype") else np.asarray(g, x.dtype)
                 for g, x in zip(given, tape.outputs, strict=True)]  # fmt: skip
        with enable_grad():
            found = iter(tape.pull(given))
        results = tuple([unflatten(structure, [next(found) for _ in leaves]) for leaves, structure in parts])
        return results[0] if len(results) == 1 else results

    outputs = unflatten(tape.structure, tape.outputs)
    return (outputs, vjp_fn, tape.aux) if has_aux else (outputs, vjp_fn)


# forward mode ---------------------------------------------------------------------------------------------------------


def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(outputs, tangents of the outputs) of `func` at `primals` in the direction `tangents`, and aux with `has_aux`.

    primals, tangents: tuples of the arguments, of one form. strict: an output that doesn't depend on the primals is an error,
    otherwise its tangent is 0. Raises TransformError for what is no tuple, and for tangents of another form.

    Examples:
        >>> sg.func.jvp(sg.sin, (sg.tensor(0.0),), (sg.tensor(2.0),))
        (tensor(0.), tensor(2.))
    """
    flat, along, structure = _directions("jvp(f, primals, tangents)", primals, tangents)
    with Forward() as level:
        lifted = [level.lift(x, t) for x, t in zip(flat, along, strict=True)]
        value = func(*unflatten(structure, lifted))
        aux: Any = None
        if has_aux:
            value, aux = _with_aux("jvp", func, value)
            leaves, form = leaves_of(aux)
            aux = unflatten(form, [_plain(level, x) for x in leaves])
        outputs, form = leaves_of(value)
        found = []
        for x in outputs:
            if not is_tensor(x):
                raise TransformError(f"jvp(f, primals, tangents): Expected f to return only tensors, got {type(x).__name__}")
            depends = isinstance(x, Dual) and x.level is level
            if strict and not depends:
                raise TransformError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                    "allowed with strict=True."
                )
            found.append(x.tangent if depends else F.zeros_like(x))
        result = unflatten(form, [_plain(level, x) for x in outputs]), unflatten(form, found)
    return (*result, aux) if has_aux else result


def _directions(what: str, primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Structure]:
    """The leaves of primals and of tangents, checked to be alike."""
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise TransformError(
                f"{what}: Expected {name} to be a tuple. E.g. it should be valid to call f(*{name}).",
                f"got {type(given).__name__}",
            )
    (flat, structure), (along, other) = leaves_of(primals), leaves_of(tangents)
    if kinds(structure) != kinds(other):
        raise TransformError(
            f"{what}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals {text(structure)} and tangents {text(other)}"
        )
    flat = [_check_floating(what, x) for x in flat]
    along = [t if hasattr(t, "shape") else np.asarray(t, x.dtype) for x, t in zip(flat, along, strict=True)]
    for x, t in zip(flat, along, strict=True):
        if tuple(t.shape) != tuple(x.shape):
            raise TransformError(f"{what}: a tangent of shape {shape_text(t.shape)} for a primal of {shape_text(x.shape)}")
    return flat, [F.astype(t, x.dtype) for x, t in zip(flat, along, strict=True)], structure


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """(outputs, jvp_fn) of `func` at `primals`: jvp_fn(*tangents) gives the tangents of the outputs.

    `func` runs once; each jvp_fn computes with the values of that run. Raises TransformError for tangents of another form.

    Examples:
        >>> out, push = sg.func.linearize(sg.sin, sg.tensor(0.0))
        >>> push(sg.tensor(1.0)), push(sg.tensor(2.0))
        (tensor(1.), tensor(2.))
    """
    flat, structure = leaves_of(primals)
    flat = [_check_floating("linearize(f, *primals)", x) for x in flat]
    tape = _recorded("linearize", func, flat, lambda lifted: func(*unflatten(structure, lifted)), False)

    def jvp_fn(*tangents: Any) -> Any:
        _, along, _ = _directions("linearize(f, *primals)", primals, tangents)
        found = push_steps(tape.steps, dict(zip(tape.leaves, along, strict=True)))
        return unflatten(
            tape.structure, [F.zeros_like(x) if t is None else t for x, t in zip(tape.outputs, found, strict=True)]
        )

    return unflatten(tape.structure, tape.outputs), jvp_fn


# Jacobians ------------------------------------------------------------------------------------------------------------


def jacrev(func: Function, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Function:
    """A function that returns the Jacobian of `func` by reverse mode: for each output and each chosen argument a tensor of
    shape (*output, *argument), nested as the outputs and, in them, as the arguments.

    chunk_size: how many rows are computed at a time. has_aux: `func` returns (outputs, aux), and the result is (Jacobian,
    aux). Raises TransformError for outputs that are no tensors.

    Examples:
        >>> sg.func.jacrev(lambda x: x**2)(sg.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        run, flat, parts, several = _of_arguments("jacrev", func, args, kwargs, argnums)
        tape = _recorded("jacrev", func, flat, run, has_aux)
        outputs = [_output("jacrev", x) for x in tape.outputs]
        sizes = [int(np.prod(x.shape, dtype=np.int64)) for x in outputs]

        def rows(*seeds: Any) -> Any:
            return tuple(tape.pull(list(seeds)))

        seeds = _bases(outputs, sizes)
        with enable_grad():
            found = vmap(rows, chunk_size=chunk_size)(*seeds) if sum(sizes) else rows_of_none(flat)
        made, start = [], 0
        for x, size in zip(outputs, sizes, strict=True):
            blocks = iter([F.reshape(g[start : start + size], (*x.shape, *g.shape[1:])) for g in found])
            per = [unflatten(structure, [next(blocks) for _ in leaves]) for leaves, structure in parts]
            made.append(tuple(per) if several else per[0])
            start += size
        jacobian = unflatten(tape.structure, made)
        return (jacobian, tape.aux) if has_aux else jacobian

    return call


def rows_of_none(flat: Sequence[Any]) -> list[Any]:
    """The Jacobian of no elements."""
    return [F.expand_dims(F.zeros_like(x), 0)[:0] for x in flat]


def _bases(like: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """The unit vectors of the tensors together, as one tensor (number, *shape) for each."""
    total, start, found = sum(sizes), 0, []
    for x, size in zip(like, sizes, strict=True):
        found.append(np.eye(total, size, -start, dtype=x.dtype).reshape(total, *x.shape))
        start += size
    return found


def _output(name: str, x: Any) -> Any:
    if not is_tensor(x):
        raise TransformError(
            f"{name}: Expected all outputs to be Tensors, got {type(x).__name__}", "return tensors, or use has_aux=True"
        )
    if None in x.shape:
        raise TransformError(f"{name}: an output of shape {shape_text(x.shape)} has unknown extents",
                             "give the placeholder known extents")  # fmt: skip
    return x


def _of_arguments(
    name: str, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums
) -> tuple[Callable[[list[Any]], Any], list[Any], list[tuple[list[Any], Structure]], bool]:
    """`func` as a function of the leaves of the chosen arguments; these leaves, and how they make the arguments."""
    chosen = selected(args, argnums, name)
    parts = [leaves_of(args[n]) for n in chosen]
    flat = [_check_floating(name, x) for leaves, _ in parts for x in leaves]

    def run(lifted: list[Any]) -> Any:
        given, rest = list(args), iter(lifted)
        for n, (leaves, structure) in zip(chosen, parts, strict=True):
            given[n] = unflatten(structure, [next(rest) for _ in leaves])
        return func(*given, **kwargs)

    return run, flat, parts, isinstance(argnums, (tuple, list))


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """As `jacrev`, by forward mode: cheaper where there are fewer arguments than outputs. randomness: see `vmap`."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        run, flat, parts, several = _of_arguments("jacfwd", func, args, kwargs, argnums)
        sizes = [int(np.prod(_output("jacfwd", x).shape, dtype=np.int64)) for x in flat]
        forms: list[Structure] = []
        extra: list[Any] = []

        def columns(*tangents: Any) -> Any:
            result = jvp(lambda *lifted: run(list(lifted)), tuple(flat), tangents, has_aux=has_aux)
            values, form = leaves_of(result[0])
            tangent, _ = leaves_of(result[1])
            forms.append(form)
            if has_aux:
                leaves, shape = leaves_of(result[2])
                extra.append(shape)
                return tuple(tangent), tuple(leaves)
            return tuple(_output("jacfwd", t) for t in tangent), tuple(values)

        found, last = vmap(columns, randomness=randomness)(*_bases(flat, sizes))
        made = []
        for block in found:
            start, blocks = 0, []
            for x, size in zip(flat, sizes, strict=True):
                part = block[start : start + size]
                order = (*range(1, len(part.shape)), 0)
                blocks.append(F.reshape(F.permute(part, order), (*part.shape[1:], *x.shape)))
                start += size
            rest = iter(blocks)
            per = [unflatten(structure, [next(rest) for _ in leaves]) for leaves, structure in parts]
            made.append(tuple(per) if several else per[0])
        jacobian = unflatten(forms[-1], made)
        return (jacobian, unflatten(extra[-1], [x[0] for x in last])) if has_aux else jacobian

    return call


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """A function that returns the second derivatives of `func`, by forward mode over reverse mode: for an output and
    arguments of shape s, a tensor (*output, *s, *s).

    Examples:
        >>> sg.func.hessian(lambda x: (x**3).sum())(sg.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
