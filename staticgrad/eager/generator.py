"""The random generator: a seed and a draw counter; the numbers come from the ops in `ops/random.py`.

Each random op takes the next draw. Eager programs, sessions and compiled steps count draws in program order, so the
same program draws the same numbers in every mode.

Outside of `with graph.as_default():` a draw is eager, like every tensor that is not computed from a graph's tensors. A graph
that captured such a tensor would have one constant, the same in every run: `static/capture.py` refuses it. Eager draws are
therefore marked, and so are results computed from them while the default graph is being built.
"""

from __future__ import annotations

import weakref
from typing import Any, Unpack

import numpy as np

from ..base.dtypes import HALF, PART_OF, as_dtype
from ..base.interpreter import rlock
from ..base.types import FLOATING, DTypeLike, ShapeLike, TensorType, as_shape, float32, get_default_dtype, is_number
from ..errors import ArgumentError, DTypeError
from ..ir import OpDef
from ..ops.host_functions import binomial_op, poisson_op
from ..ops.operands import extent, extents, integer
from ..ops.operators import (
    F,
    LikePlacement,
    MetaTensor,
    Operators,
    Options,
    Placement,
    Symbol,
    apply,
    default_graph,
    dispatch,
    factory,
    frontends,
    one_node,
    public,
    state,
    torch_function,
)
from ..ops.operators import Tensor as AnyTensor
from ..ops.random import DrawPosition, Generator, current, dropout_mask, next_place, normal_op, stream_op, uniform_op
from ..ops.random import generator as generator
from .calls.composites import composite
from .execution import run
from .tensor import Tensor


def manual_seed(seed: int) -> Generator:
    """Restart the generator that all modes share. Raises ArgumentError for a negative or non-integer seed.

    Examples:
        >>> _ = sg.manual_seed(0)
        >>> a = sg.rand(3)
        >>> _ = sg.manual_seed(0)
        >>> (a == sg.rand(3)).all().item()
        True
    """
    return generator.manual_seed(seed)


def _place(x: Any = None, source: Generator | None = None) -> DrawPosition:
    """The next draw of the graph being built, or the next one of the generator (`source` if that is given).

    Raises ArgumentError for a generator of the user's in a graph, whose draws are counted by itself, and TraceError in a trace.
    """
    graph = None
    if frontends.tracing and state.tracer is not None:
        if source is not None and source is not generator:
            state.tracer.refuse("generator= can't be traced: a plan counts the draws of the default generator")
        graph = state.tracer.graph
    elif isinstance(x, Symbol):
        graph = x.graph
    elif x is None and state.graphs:
        graph = state.graphs[-1]
    if source is not None and source is not generator:
        if graph is not None:
            raise ArgumentError("generator= is for eager code: a graph counts the draws of the default generator")
        return DrawPosition(Tensor(source.take()), None, 0)
    return DrawPosition(Tensor(current().take()), None, 0) if graph is None else next_place(graph)


class _Marks:
    """Eager tensors of random numbers. While the default graph has nodes, results of marked tensors are marked, too: every
    op goes through `run` here as long as a marked tensor is alive."""

    def __init__(self) -> None:
        self.lock = rlock()  # a garbage collection may call `_gone` anywhere
        self.alive = 0
        self.graphs = 0
        """How many default graphs there were before this one: tensors marked then don't count."""

    def mark(self, tensor: Any) -> Any:
        if isinstance(tensor, Tensor):
            tensor._drawn = True
            if len(default_graph()):
                with self.lock:
                    self.alive += 1
                    if self.alive == 1:
                        dispatch.begin(self)
                        frontends.eager = self.run
                weakref.finalize(tensor, self._gone, self.graphs).atexit = False
        return tensor

    def forget(self) -> None:
        """The default graph is empty again: no operation has to ask whether its operands are marked."""
        with self.lock:
            self.graphs += 1
            if self.alive:
                self._end()

    def run(self, op: OpDef, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        result = run(op, args, attrs)
        if any(isinstance(a, Tensor) and a._drawn and i not in op.shape_only for i, a in enumerate(args)):
            self.mark(result)
        return result

    def _gone(self, graphs: int) -> None:
        with self.lock:
            if graphs == self.graphs:
                self.alive -= 1
                if self.alive == 0:
                    self._end()

    def _end(self) -> None:
        self.alive = 0
        dispatch.end(self)
        frontends.eager = run


marks = _Marks()


def _draw(op: Any, shape: tuple[Any, ...], dtype: Any, source: Generator | None = None) -> Any:
    extents = as_shape(shape[0] if len(shape) == 1 else shape)
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    if frontends.tracing and state.on_meta is not None:
        return MetaTensor(TensorType(extents, kind))
    if kind in PART_OF:
        return _parts(op, *(_draw(op, (extents,), PART_OF[kind], source) for _ in range(2)))
    if kind in HALF:
        return F.astype(_draw(op, (extents,), float32, source), kind)
    if kind.kind not in FLOATING:
        raise ArgumentError(f"random numbers are floating, got dtype {kind}")
    return marks.mark(_place(None, source).draw(op, shape=extents, dtype=kind))


def _parts(op: Any, re: Any, im: Any) -> Any:
    """Random complex numbers: uniform in both parts, or normal with a variance of 1, of which each part has half."""
    scale = 0.5**0.5 if op is normal_op else 1
    return F.complex(re * scale, im * scale)


def _draw_like(op: Any, x: Any, dtype: Any = None, source: Generator | None = None) -> Any:
    """A draw of x's shape, in x's dtype unless one is given."""
    kind = as_dtype(x.dtype if dtype is None else dtype)
    if isinstance(x, MetaTensor):
        return MetaTensor(TensorType(tuple(x.shape), kind))
    x = F.real(x) if x.dtype in PART_OF else x
    if kind in PART_OF:
        return _parts(op, *(_draw_like(op, x, PART_OF[kind], source) for _ in range(2)))
    if kind in HALF:
        return F.astype(_draw_like(op, x, float32, source), kind)
    if kind.kind not in FLOATING:
        raise ArgumentError(f"random numbers are floating, got dtype {kind}")
    return marks.mark(_place(x, source).draw(op, x, shape=None, dtype=kind))


def _with_grad(x: AnyTensor, requires_grad: bool) -> AnyTensor:
    return x.requires_grad_(True) if requires_grad else x


@factory(Options)
def rand(
    *shape: ShapeLike | AnyTensor,
    size: ShapeLike | None = None,
    generator: Generator | None = None,
    **options: Unpack[Options],
) -> AnyTensor:
    """Uniform in [0, 1), the same numbers in every mode; 24 random bits in float32, 53 in float64.

    Inside `with graph.as_default():`, and in `sg.compile`, drawn anew in each run; elsewhere now, an eager tensor, which a
    graph refuses to take for a constant (GraphError).

    Examples:
        >>> sg.rand(2, 3).shape
        torch.Size([2, 3])
    """
    drawn = _draw(uniform_op, shape if size is None else (size,), options.get("dtype"), generator)
    return _with_grad(drawn, options.get("requires_grad", False))


@factory(Options)
def randn(
    *shape: ShapeLike | AnyTensor,
    size: ShapeLike | None = None,
    generator: Generator | None = None,
    **options: Unpack[Options],
) -> AnyTensor:
    """Standard normal (Box-Muller), the same numbers in every mode; drawn when `rand` is.

    Examples:
        >>> sg.randn(2, 3).shape
        torch.Size([2, 3])
    """
    drawn = _draw(normal_op, shape if size is None else (size,), options.get("dtype"), generator)
    return _with_grad(drawn, options.get("requires_grad", False))


def _bounds(name: str, low: Any, high: Any) -> tuple[int, int]:
    """(low, high) of integers to draw; 0 and `low` where there is no high. Raises ArgumentError unless low < high."""
    first, last = (0, integer(name, "high", low)) if high is None else (integer(name, "low", low), integer(name, "high", high))
    if last <= first:
        raise ArgumentError(f"{name}: need low < high, got {first} and {last}")
    return first, last


@factory(Placement)
def randint(
    low: int = 0, high: int | tuple[int, ...] | list[int] | None = None, size: ShapeLike | None = None,
    dtype: DTypeLike | None = np.int64, *, shape: ShapeLike | None = None, generator: Generator | None = None,
    requires_grad: bool = False, **options: Unpack[Placement],
) -> AnyTensor:  # fmt: skip
    """Integers in [low, high), or [0, low) when `high` is left out; drawn when `rand` is.

    Examples:
        >>> sg.randint(0, 10, (2, 3)).dtype
        torch.int64
    """
    if isinstance(high, (tuple, list)):
        high, size = None, high
    size = shape if size is None else size
    low, high = _bounds("randint", low, high)
    u = _draw(uniform_op, (as_shape(() if size is None else size),), np.float64, generator)
    return F.astype(F.astype(F.floor(u * (high - low)), np.int64) + low, np.int64 if dtype is None else dtype)


@factory(Placement)
def randperm(
    n: int, *, dtype: DTypeLike | None = np.int64, generator: Generator | None = None, requires_grad: bool = False,
    **options: Unpack[Placement],
) -> AnyTensor:  # fmt: skip
    """A random order of 0 ... n-1, int64; drawn when `rand` is.

    Examples:
        >>> sorted(sg.randperm(4).tolist())
        [0, 1, 2, 3]
    """
    keys = _draw(uniform_op, (as_shape((n,)),), np.float64, generator)
    return _with_grad(F.astype(F.argsort(keys, stable=True), np.int64 if dtype is None else dtype), requires_grad)


# like another tensor, and from distributions ----------------------------------------------------------------------------


def _like(name: str, op: OpDef) -> Any:
    @factory(LikePlacement)
    def function(
        input: AnyTensor, *, dtype: DTypeLike | None = None, generator: Generator | None = None, requires_grad: bool = False,
        **options: Unpack[LikePlacement],
    ) -> AnyTensor:  # fmt: skip
        return _with_grad(_draw_like(op, input, dtype, generator), requires_grad)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name[:-5]}` of the shape of `input`, and of its dtype unless one is given."
    return public(function)


rand_like, randn_like = _like("rand_like", uniform_op), _like("randn_like", normal_op)


@public
@factory(LikePlacement)
def randint_like(
    input: AnyTensor, low: int = 0, high: int | None = None, *, dtype: DTypeLike | None = None,
    generator: Generator | None = None, requires_grad: bool = False, **options: Unpack[LikePlacement],
) -> AnyTensor:  # fmt: skip
    """`randint` of the shape of `input`, and of its dtype unless one is given."""
    low, high = _bounds("randint_like", low, high)
    u = _draw_like(uniform_op, input, np.float64, generator)
    return F.astype(F.astype(F.floor(u * (high - low)), np.int64) + low, input.dtype if dtype is None else dtype)


@torch_function(method=False)
@factory(Options)
def normal(
    mean: float | AnyTensor = 0.0, std: float | AnyTensor = 1.0, size: ShapeLike | None = None, *,
    generator: Generator | None = None, **options: Unpack[Options],
) -> AnyTensor:  # fmt: skip
    """Normal numbers of this mean and standard deviation: numbers with a size, or tensors, broadcast. Gradients flow to
    neither. Raises ArgumentError for a negative deviation, or without a shape."""
    dtype = options.get("dtype")
    if is_number(std) and not isinstance(std, Operators) and std < 0:
        raise ArgumentError(f"normal expects std >= 0.0, but found std {std}")
    given = [F.stop_gradient(v) for v in (mean, std) if isinstance(v, Operators)]
    if size is not None:
        drawn = _draw(normal_op, (as_shape(size),), dtype, generator)
    elif given:
        drawn = _draw_like(normal_op, given[0] if len(given) == 1 else F.add(*given), dtype, generator)
    else:
        raise ArgumentError("normal: give a size, or tensors of means or deviations")
    return _with_grad(drawn * F.stop_gradient(std) + F.stop_gradient(mean), options.get("requires_grad", False))


@torch_function()
def bernoulli(input: AnyTensor, p: float | None = None, *, generator: Generator | None = None) -> AnyTensor:
    """1 with the probabilities in `input` (or p, in its shape), else 0, in its dtype. Raises ArgumentError outside [0, 1]."""
    chance = F.stop_gradient(input) if p is None else p
    if isinstance(chance, Tensor):
        values = chance._data
        if values.size and not (values.min() >= 0 and values.max() <= 1):
            raise ArgumentError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    u = _draw_like(uniform_op, input, input.dtype if input.dtype.kind in FLOATING else get_default_dtype(), generator)
    return F.astype(F.lt(u, chance), input.dtype)


@torch_function()
def multinomial(
    input: AnyTensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> AnyTensor:
    """Positions along the last axis, drawn with the weights in `input` (1-D or 2-D), int64. Raises ArgumentError."""
    weights, num_samples = F.stop_gradient(input), integer("multinomial", "num_samples", num_samples)
    if len(input.shape) not in (1, 2):
        raise ArgumentError("prob_dist must be 1 or 2 dim")
    if num_samples < 1:
        raise ArgumentError(f"cannot sample n_sample <= 0 samples, got {num_samples}")
    if input.dtype.kind not in FLOATING:
        raise DTypeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}", "write x.float()")
    if isinstance(weights, Tensor):
        values = weights._data
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ArgumentError("probability tensor contains either `inf`, `nan` or element < 0")
        if values.size and not (values.sum(-1) > 0).all():
            raise ArgumentError("invalid multinomial distribution (sum of probabilities <= 0)")
        if not replacement and num_samples > values.shape[-1]:
            raise ArgumentError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not replacement:  # the largest of log(weight) + Gumbel's noise
        u = _draw_like(uniform_op, weights, np.float64, generator)
        keys = F.log(F.astype(weights, np.float64)) - F.log(-F.log(F.clip(u, 1e-300, 1.0 - 1e-16)))
        return F.topk(keys, num_samples, -1).indices
    totals = F.cumsum(F.astype(weights, np.float64), -1)
    u = _draw(uniform_op, ((*extents("multinomial", input, 0, -1), num_samples),), np.float64, generator)
    last = F.getitem(totals, (..., slice(-1, None)))
    return F.clip(F.searchsorted(totals, u * last, right=True), 0, extent("multinomial", input, -1) - 1)


for _name in ("bernoulli", "multinomial"):  # entered after the other methods
    setattr(Operators, _name, getattr(F, _name))


@torch_function(method=False)
def poisson(input: AnyTensor, generator: Generator | None = None) -> AnyTensor:
    """Poisson numbers with the rates in `input`, in its dtype."""
    rate = F.stop_gradient(input)
    u = _draw_like(uniform_op, rate, np.float64, generator)
    return F.astype(apply(poisson_op, u, F.astype(rate, np.float64)), input.dtype)


@torch_function(method=False)
def binomial(count: AnyTensor, prob: AnyTensor, generator: Generator | None = None) -> AnyTensor:
    """The numbers of successes in `count` trials with probability `prob` (broadcast), in their dtype.

    Raises ArgumentError for negative counts and for probabilities outside [0, 1].
    """
    count, prob = F.stop_gradient(count), F.stop_gradient(prob)
    if isinstance(prob, Tensor) and prob._data.size and not (prob._data.min() >= 0 and prob._data.max() <= 1):
        raise ArgumentError("binomial: probabilities have to be in [0, 1]")
    if isinstance(count, Tensor) and count._data.size and not count._data.min() >= 0:
        raise ArgumentError("binomial: counts have to be >= 0")
    if count.dtype.kind not in FLOATING or count.dtype != prob.dtype:
        raise DTypeError(f"binomial: count and prob have to be of one floating dtype, got {count.dtype} and {prob.dtype}")
    n, p = F.astype(count, np.float64), F.astype(prob, np.float64)
    u = _draw_like(uniform_op, n * p, np.float64, generator)
    return F.astype(apply(binomial_op, u, n, p), count.dtype)


def draw_seed(x: AnyTensor) -> Any:
    """The seed of random numbers of one operation on x, which takes one draw: int64 (2,)."""
    return marks.mark(_place(x).draw(stream_op))


@public
@one_node
def dropout(x: AnyTensor, p: float = 0.5, training: bool = True) -> AnyTensor:
    """Zero each element with probability p and scale the rest by 1 / (1 - p); x itself when not training.

    Raises ArgumentError unless 0 <= p <= 1.

    Examples:
        >>> sg.dropout(sg.ones(3), 0.5, training=False)
        tensor([1., 1., 1.])
    """
    if not is_number(p) or not 0 <= p <= 1:
        raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return x
    if x.dtype.kind not in FLOATING:
        raise DTypeError(f"dropout: x has to be floating, got {x.dtype}")
    if p == 1:
        return F.where(False, x, 0)
    place = _place(x)
    if isinstance(x, Tensor) and isinstance(place.rng, Tensor) and not state.levels:
        return _dropped(x, marks.mark(place.rng), p)
    return dropout_mask(x, marks.mark(place.draw(uniform_op, x, shape=None, dtype=x.dtype)), p)


@composite
def _dropped(x: AnyTensor, seed: AnyTensor, p: float) -> AnyTensor:
    """`dropout` by the numbers of a seed (seed, draw)."""
    return dropout_mask(x, apply(uniform_op, seed, x, shape=None, dtype=x.dtype, index=0), p)
