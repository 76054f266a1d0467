"""Counter-based random numbers: Philox 4x32-10, keyed by seed and draw, counted by element.

One block per element and draw: key = the 64-bit seed; counter = (element, draw), 64 bits each. The numbers depend on
nothing else, so eager, Session and compiled programs draw the same ones, in any order and thread count.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11 (2011).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..base.devices import CPU, check_device, is_device
from ..base.interpreter import lock
from ..base.types import TensorType, int64
from ..errors import ArgumentError
from ..ir import REGISTRY, Cell, Graph, OpDef, Pointwise, define
from . import rules as at
from .operators import F, Symbol, append, apply, check_change, frontends, state
from .rules import keep

M0, M1, LOW, HALF = (np.array(number, np.uint64) for number in (0xD2511F53, 0xCD9E8D57, 0xFFFFFFFF, 32))
SHIFTS = {count: np.array(count, np.uint64) for count in (5, 6, 8, 26)}
HOST_DRAW = "a random number is drawn in Python"
PIECE = 1 << 14
"""Elements whose numbers are made at a time."""


def philox(seed: int, draw: int, n: int, first: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The four 32-bit words (held in uint64) of n blocks from the first on."""
    (a, c), (b, d) = _blocks(seed, draw, n, first)
    return a, b, c, d


def _blocks(seed: int, draw: int, n: int, first: int) -> tuple[np.ndarray, np.ndarray]:
    """The words of `philox` as two arrays of two rows: the first and the third, and the second and the fourth."""
    low, high, products = np.empty((3, 2, n), np.uint64)
    (a, c), (b, d), (p, q) = low, high, products
    element = np.arange(first, first + n, dtype=np.uint64)
    np.bitwise_and(element, LOW, a)
    np.right_shift(element, HALF, b)
    c[...], d[...] = draw & 0xFFFFFFFF, (draw >> 32) & 0xFFFFFFFF
    for k0, k1 in _keys(seed):  # NumPy is quickest with operands of one shape and with 0-d ones
        np.multiply(a, M0, p)
        np.multiply(c, M1, q)
        np.right_shift(q, HALF, a)
        np.right_shift(p, HALF, c)
        low ^= high
        a ^= k0
        c ^= k1
        np.bitwise_and(q, LOW, b)
        np.bitwise_and(p, LOW, d)
    return low, high


@lru_cache(maxsize=64)
def _keys(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The two words of the key in each round."""
    words = [(seed + i * 0x9E3779B9, (seed >> 32) + i * 0xBB67AE85) for i in range(10)]
    return [(np.array(k0 & 0xFFFFFFFF, np.uint64), np.array(k1 & 0xFFFFFFFF, np.uint64)) for k0, k1 in words]


def _draw(rng: np.ndarray, index: int) -> tuple[int, int]:
    return int(rng[0]), int(rng[1]) + index


def _uniform_eval(rng: np.ndarray, *like: np.ndarray, shape: Any, dtype: np.dtype, index: int) -> np.ndarray:
    """In [0, 1): the top 24 bits of a word (float32), or 53 of two (float64)."""
    extents = like[0].shape if like else shape
    return _filled(extents, dtype, rng, index, lambda low, high: unit(low[0], high[0], dtype))


def _filled(extents: Any, dtype: np.dtype, rng: np.ndarray, index: int, numbers: Callable[..., np.ndarray]) -> np.ndarray:
    """`numbers` of the words of each element, see `_blocks`, in chunks: intermediate values take many times their memory."""
    out = np.empty(math.prod(extents), dtype)
    for first in range(0, len(out), PIECE):
        part = out[first : first + PIECE]
        part[...] = numbers(*_blocks(*_draw(rng, index), len(part), first))
    return out.reshape(extents)


def unit(a: np.ndarray, b: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype == np.float32:
        return (a >> SHIFTS[8]).astype(np.float32) * np.float32(2.0**-24)
    bits = a >> SHIFTS[5]
    bits <<= SHIFTS[26]
    bits |= b >> SHIFTS[6]
    found: np.ndarray = bits.astype(np.float64)
    found *= 2.0**-53
    return found


def _normal_eval(rng: np.ndarray, *like: np.ndarray, shape: Any, dtype: np.dtype, index: int) -> np.ndarray:
    """Box-Muller: sqrt(-2 log(1 - u)) cos(2 pi v), in float64 and rounded once."""
    extents = like[0].shape if like else shape

    def numbers(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        u, v = unit(low, high, np.dtype(np.float64))
        np.log1p(np.negative(u, u), u)
        u *= -2
        v *= 2 * math.pi
        result: np.ndarray = np.sqrt(u, u)
        result *= np.cos(v, v)
        return result

    return _filled(extents, dtype, rng, index, numbers)


def stream_seed(seed: int, draw: int) -> int:
    """The seed of the numbers inside a loop or branch, which take one draw of those around it: 63 bits of a block of a key
    that no seed is."""
    a, b, _, _ = philox(seed | 1 << 63, draw, 1)
    return int(a[0]) << 31 | int(b[0]) >> 1


def _stream_eval(rng: np.ndarray, index: int) -> np.ndarray:
    return np.array([stream_seed(*_draw(rng, index)), 0], np.int64)


rng_op_type = TensorType((2,), int64)


def _infer(rng: TensorType, *like: TensorType, shape: Any, dtype: np.dtype, index: int) -> TensorType:
    _check_generator(rng)
    if len(like) > 1 or (not like and (shape is None or None in shape)):
        raise ArgumentError("the shape is given, or that of one operand is taken")
    return TensorType(like[0].shape if like else shape, dtype)


def _stream_infer(rng: TensorType, index: int) -> TensorType:
    _check_generator(rng)
    return rng_op_type


def _check_generator(rng: TensorType) -> None:
    if rng != rng_op_type:
        raise ArgumentError(f"a generator's state is {rng_op_type}, got {rng}")


def _in_loop(infer: Callable[..., TensorType]) -> Callable[..., TensorType]:
    """With the number of draws that earlier iterations took as a second operand."""

    def inferred(rng: TensorType, step: TensorType, *like: TensorType, **attrs: Any) -> TensorType:
        if step != TensorType((), int64):
            raise ArgumentError(f"a number of draws is {TensorType((), int64)}, got {step}")
        return infer(rng, *like, **attrs)

    return inferred


DRAWN = {"shape": at.drawn_shape, "dtype": at.floating_dtype, "index": at.integer(0)}


def _record(
    name: str, evaluate: Any, scalar: str, cost: int, doc: str, infer: Any = _infer, attrs: Any = DRAWN
) -> tuple[OpDef, OpDef]:
    """A draw, and the same in a loop, whose second operand counts the draws of earlier iterations."""
    plain = define(
        name=name, infer=infer, eval=evaluate, vjp=lambda i: None, emit=Pointwise(scalar, cost),
        promote=keep, shape_only=(1,), doc=doc, attrs=attrs, draws=True,
    )  # fmt: skip
    stepped = define(
        name=f"{name}_in_loop",
        attrs=attrs,
        infer=_in_loop(infer),
        eval=lambda rng, step, *like, **attrs: evaluate(np.array([rng[0], rng[1] + step]), *like, **attrs),
        vjp=lambda i: None,
        emit=Pointwise(scalar, cost),
        promote=keep,
        shape_only=(2,),
        draws=True,
        doc=f"{doc} After the generator: how many of its draws earlier iterations took.",
    )
    return plain, stepped


uniform_op, _uniform_in_loop = _record(
    "random_uniform", _uniform_eval, "uniform", 30,
    "Uniform in [0, 1). Inputs: the generator's (seed, draw), and optionally a tensor whose shape is taken.",
)  # fmt: skip
normal_op, _normal_in_loop = _record(
    "random_normal", _normal_eval, "normal", 80,
    "Standard normal. Inputs as for random_uniform.",
)  # fmt: skip
stream_op, _stream_in_loop = _record(
    "random_stream", _stream_eval, "uniform_seed", 30,
    "The generator of a loop or branch: (seed, 0), of a draw of the generator around it.",
    _stream_infer, {"index": at.integer(0)},
)  # fmt: skip


def _seeded(name: str, evaluate: Any, doc: str) -> OpDef:
    """Numbers that a seed alone decides, the same in each run. The host computes them: kernels read the run's generator."""
    return define(
        name=name, infer=lambda seed, shape, dtype: _infer(seed, shape=shape, dtype=dtype, index=0),
        eval=lambda seed, shape, dtype: evaluate(seed, shape=shape, dtype=dtype, index=0), vjp=lambda i: None, emit=None,
        fails=False,
        promote=keep, doc=doc, attrs={"shape": at.drawn_shape, "dtype": at.floating_dtype},
    )  # fmt: skip


seeded_uniform_op = _seeded("seeded_uniform", _uniform_eval, "Uniform in [0, 1), of a seed (seed, draw).")
seeded_normal_op = _seeded("seeded_normal", _normal_eval, "Standard normal, of a seed (seed, draw).")
IN_LOOP = {uniform_op: _uniform_in_loop, normal_op: _normal_in_loop, stream_op: _stream_in_loop}
STREAMS = (stream_op, _stream_in_loop)


class DrawPosition(NamedTuple):
    """Where a draw is: the generator, how many of its draws earlier iterations of a loop took (None outside of loops),
    and which draw it is."""

    rng: Any
    step: Any
    number: int

    def draw(self, op: OpDef, *like: Any, **attrs: Any) -> Any:
        mapped = state.levels and any(level.maps for level in state.levels)
        return frontends.draw(self, op, like, attrs) if mapped else self.apply(op, *like, **attrs)

    def apply(self, op: OpDef, *like: Any, **attrs: Any) -> Any:
        """The numbers, also where functions run under `vmap`."""
        operands = (self.rng,) if self.step is None else (self.rng, self.step)
        return apply(op if self.step is None else IN_LOOP[op], *operands, *like, **attrs, index=self.number)


def next_place(graph: Graph) -> DrawPosition:
    """The next draw of a graph, or of the body that is being built in it."""
    with graph.lock:
        if graph.generator is None:
            graph.generator = append(graph, REGISTRY["generator"], (), {"type": rng_op_type})
        graph.draws += 1
        return DrawPosition(graph.generator, graph.step, graph.draws - 1)


class OwnGenerator:
    """The generator of one operation: a session begins it with a seed, and each run that draws from it advances it."""

    def __init__(self, graph: Graph, seed: int):
        cell = Cell("_generator", rng_op_type, trainable=False, stream=(seed, 0))
        node = append(graph, REGISTRY["variable"], (), {"cell": cell}, name="_generator").node
        cell.name = node.name
        self.graph, self.state, self.draws = graph, Symbol(graph, node), 0

    def next_place(self) -> DrawPosition:
        """The next draw. In a loop or branch it counts as one of those in the body, so that iterations differ."""
        graph, rng = self.graph, self.state
        if not graph.around:
            self.draws += 1
            return DrawPosition(rng, None, self.draws - 1)
        number = next_place(graph).number
        for step in graph.around[:-1]:
            if step is not None:
                rng = DrawPosition(rng, step, 0).apply(stream_op)
        return DrawPosition(rng, graph.step, number)


def dropout_mask(x: Any, u: Any, p: float) -> Any:
    """x / (1 - p) where u >= p, else 0."""
    return F.where(u >= p, x * (1 / (1 - p)), 0)


# the generator --------------------------------------------------------------------------------------------------


DEFAULT_SEED = 67280421310721
"""Of a generator that the user makes, as in PyTorch."""


class Generator:
    """Seed and draw counter. `manual_seed` restarts it; `state` can be saved and set."""

    def __init__(self, seed: Any = DEFAULT_SEED, *, device: Any = None):
        if is_device(seed):
            seed, device = DEFAULT_SEED, seed
        check_device(device)
        self.device = CPU
        self.lock = lock()
        self.seed_value = seed
        self.draws = 0

    def manual_seed(self, seed: int) -> Generator:
        """Start anew from a seed; returns the generator."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**63:
            raise ArgumentError(f"a seed is an integer in [0, 2**63), got {seed!r}")
        check_change(self, "a random generator is seeded")
        with self.lock:
            self.seed_value, self.draws = int(seed), 0
        return self

    def initial_seed(self) -> int:
        """The seed that it was started with."""
        check_change(self, "the seed of a random generator is read")
        return self.seed_value

    def seed(self) -> int:
        """Restart it with a random seed, and return that."""
        check_change(self, "a random generator is seeded")
        seed = int.from_bytes(os.urandom(7), "little")
        self.manual_seed(seed)
        return seed

    @property
    def state(self) -> tuple[int, int]:
        """What the next numbers follow from; it can be kept and assigned."""
        check_change(self, "the state of a random generator is read")
        return self.seed_value, self.draws

    @state.setter
    def state(self, value: tuple[int, int]) -> None:
        check_change(self, "the state of a random generator is set")
        with self.lock:
            self.seed_value, self.draws = value

    def take(self, draws: int = 1) -> np.ndarray:
        """(seed, draw) as int64[2], and move on by `draws`. Raises TraceError in a trace, whose runs draw for themselves."""
        if frontends.tracing:
            check_change(self, HOST_DRAW)
        return self._taken(draws)

    def _taken(self, draws: int = 1) -> np.ndarray:
        with self.lock:
            at = np.array([self.seed_value, self.draws], np.int64)
            self.draws += draws
        return at


generator = Generator(int.from_bytes(os.urandom(7), "little"))


def current() -> Generator:
    """The source of eager draws: the generator, or the stream of the enclosing loop or branch."""
    return generator if state.stream is None else state.stream


class _Stream(Generator):
    """The numbers inside an eager loop or branch, from one draw of those around it."""

    def __init__(self, around: Generator):
        super().__init__(-1)
        self.around = around
        self.at: np.ndarray | None = None

    def open(self) -> None:
        if self.at is None:
            self.at = self.around._taken()  # given back where the loop belongs to a graph

    def _taken(self, draws: int = 1) -> np.ndarray:
        self.open()
        if self.seed_value < 0:
            assert self.at is not None
            self.seed_value = stream_seed(*map(int, self.at))
        return super()._taken(draws)

    def undo(self) -> None:
        """Give the draw back: the loop belongs to a graph."""
        if self.at is not None:
            self.around.draws = int(self.at[1])


@contextmanager
def stream(always: bool) -> Iterator[_Stream]:
    """Around an eager loop or branch, whose numbers are a stream of their own. always: it takes its draw whether it uses
    one or not, where another run of the same text might."""
    around = state.stream
    found = state.stream = _Stream(current())
    try:
        if always:
            found.open()
        yield found
    finally:
        state.stream = around
