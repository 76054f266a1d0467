"""Random programs as data: inputs and steps from a table of ops, to be run eagerly, interpreted and compiled.

`random_program(choose)` draws one: `choose(options)` picks an element of a sequence, so hypothesis or `random.Random`
can drive it. Shapes are valid by construction: each step runs eagerly while it is drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad.autodiff.reverse import gradients
from staticgrad.base.types import TensorType
from staticgrad.errors import StaticgradError
from staticgrad.ir import REGISTRY, Cell, Graph, Node, literal
from staticgrad.operators import F, append

Choose = Callable[[Sequence[Any]], Any]

EXTENTS = (0, 1, 2, 3, 5, 17)
LARGEST = 700  # elements of a value
SEED = 7  # of the generator
F32, F64, I64, I32, U8, BOOL = map(np.dtype, ("f4", "f8", "i8", "i4", "u1", "?"))


@dataclass(frozen=True)
class Input:
    """A leaf. `role`: feed, variable or constant; `high`: integers lie in [0, high); `special`: some NaN and inf."""

    shape: tuple[int, ...]
    dtype: np.dtype
    role: str
    seed: int
    high: int = 0
    special: bool = False

    def array(self) -> np.ndarray:
        """Multiples of 1/4, so that sums and products are exact and ties happen."""
        rng = np.random.default_rng(self.seed)
        if self.dtype == BOOL:
            return rng.integers(0, 2, self.shape).astype(bool)
        if self.dtype.kind != "f":
            low = 0 if self.high or self.dtype == U8 else -4
            return rng.integers(low, self.high if self.high else 5, self.shape).astype(self.dtype)
        array = rng.integers(-8, 9, self.shape) / 4
        if self.special:
            array = np.where(rng.random(self.shape) < 0.15, rng.choice([np.nan, np.inf, -np.inf, -0.0], self.shape), array)
        return np.asarray(array, self.dtype)


@dataclass(frozen=True)
class Step:
    """One op on earlier values, by position."""

    name: str
    operands: tuple[int, ...]
    params: tuple[Any, ...] = ()


@dataclass
class Program:
    """Values in order; `outputs` are fetched; with `grads`, so are the gradients of the floating outputs' sum with
    respect to these inputs; `assigns`: (variable, value)."""

    values: list[Input | Step]
    outputs: list[int]
    grads: list[int] = field(default_factory=list)
    assigns: list[tuple[int, int]] = field(default_factory=list)

    def __repr__(self) -> str:
        lines = [f"    {i}: {v}" for i, v in enumerate(self.values)]
        return "\n".join(["Program(", *lines, f"    {self.outputs}, {self.grads}, {self.assigns})"])


# the table
# ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Op:
    """`fits(x)`: takes this first operand. `draw(draft, x)` -> (further operands, parameters), or None."""

    run: Callable[..., Any]
    fits: Callable[[Any], bool]
    draw: Callable[[LoopBuilder, int], Any] = lambda draft, x: ((), ())


def floating(x: Any) -> bool:
    return x.dtype.kind == "f"


def numeric(x: Any) -> bool:
    return x.dtype != BOOL


def anything(x: Any) -> bool:
    return True


def partner(fits: Callable[[Any], bool], *, same_kind: bool = False) -> Callable[[LoopBuilder, int], Any]:
    def draw(draft: LoopBuilder, x: int) -> Any:
        other = draft.partner(x, fits, same_kind)
        return None if other is None else ((other,), ())

    return draw


def scalar_partner(draft: LoopBuilder, x: int) -> Any:
    options = (1, 2, 0, 3, -1) if draft.at(x).dtype.kind != "f" else (0.5, 2, -1.0, 1.5, 0, 1.0)
    return (), (draft.choose(options),)


def axes_of(draft: LoopBuilder, x: int) -> Any:
    n = draft.at(x).ndim
    subsets = [s for k in range(n + 1) for s in itertools.combinations(range(n), k)]
    axis = draft.choose([None, *subsets])
    return (), (axis, draft.choose([False, True]))


def nonempty_axes(draft: LoopBuilder, x: int) -> Any:
    (), (axis, keepdims) = axes_of(draft, x)
    shape = draft.at(x).shape
    if any(shape[a] == 0 for a in (range(len(shape)) if axis is None else axis)):
        return None
    return (), (axis, keepdims)


def one_axis(draft: LoopBuilder, x: int) -> Any:
    n = draft.at(x).ndim
    return ((), (draft.choose(range(n)),)) if n else None


def nonempty_axis(draft: LoopBuilder, x: int) -> Any:
    axes = [a for a, d in enumerate(draft.at(x).shape) if d]
    return ((), (draft.choose(axes), draft.choose([False, True]))) if axes else None


def some_axes(draft: LoopBuilder, x: int) -> Any:
    n = draft.at(x).ndim
    if not n:
        return None
    return (), (draft.choose([s for k in range(1, n + 1) for s in itertools.combinations(range(n), k)]),)


def new_shape(draft: LoopBuilder, x: int) -> Any:
    shape = draft.at(x).shape
    size = math.prod(shape)
    options = [(-1,), (*shape, 1), (1, *shape)] if size else [shape, (0,), (0, 3)]
    if size:
        options += [(d, size // d) for d in EXTENTS if d and size % d == 0]
        if len(shape) > 1:
            options += [(shape[0] * shape[1], *shape[2:]), (*shape[:-2], shape[-2] * shape[-1])]
        if size == 1:
            options.append(())
    return (), (draft.choose(options),)


def order(draft: LoopBuilder, x: int) -> Any:
    return (), (draft.choose(list(itertools.permutations(range(draft.at(x).ndim)))),)


def larger_shape(draft: LoopBuilder, x: int) -> Any:
    shape = draft.at(x).shape
    lead = draft.choose([(), (draft.extent(),)])
    target = (*lead, *(draft.extent() if d == 1 else d for d in shape))
    return ((), (target,)) if math.prod(target) <= LARGEST else None


def subscript(draft: LoopBuilder, x: int) -> Any:
    keys: list[Any] = []
    for d in draft.at(x).shape:
        options: list[Any] = [slice(None), slice(None, None, -1), slice(1, None), slice(None, -1), slice(None, None, 2),
                              slice(-2, None), slice(3, 0, -2), None]  # fmt: skip
        if d:
            options += [0, -1]
        key = draft.choose(options)
        keys += [None, slice(None)] if key is None else [key]
    return (), (tuple(keys),)


def joined(draft: LoopBuilder, x: int) -> Any:
    """Another value with equal extents away from an axis."""
    shape, n = draft.at(x).shape, draft.at(x).ndim
    if not n:
        return None
    axis = draft.choose(range(n))
    extent = draft.extent()
    other = draft.choose([x, draft.input((*shape[:axis], extent, *shape[axis + 1 :]), draft.at(x).dtype)])
    return (other,), (axis,)


def product(draft: LoopBuilder, x: int) -> Any:
    """A right operand, batched or not, plain or as a transposed view."""
    value = draft.at(x)
    if not value.ndim:
        return None
    k, n = value.shape[-1], draft.extent()
    batch = value.shape[:-2] if value.ndim > 2 else ()
    known = [
        i for i in range(len(draft.values)) if draft.at(i).ndim == 2 and draft.at(i).shape[0] == k and floating(draft.at(i))
    ]
    shapes = [(k,), (k, n), (*batch, k, n), (*(1 for _ in batch), k, n), (2, k, n)]
    if known and draft.choose([True, False]):
        return (draft.choose(known),), (False,)
    if draft.choose([True, False]):
        return (draft.input((n, k), value.dtype),), (True,)
    shape = draft.choose(shapes)
    return (draft.input(shape, value.dtype),), (False,)


def index_of(draft: LoopBuilder, x: int) -> Any:
    axes = [a for a, d in enumerate(draft.at(x).shape) if d]
    if not axes:
        return None
    axis = draft.choose(axes)
    shape = draft.choose([(), (3,), (2, 2), (0,), (1,)])
    index = draft.input(shape, draft.choose([I64, I32]), high=draft.at(x).shape[axis])
    return (index,), (axis,)


def index_along(draft: LoopBuilder, x: int) -> Any:
    shape = draft.at(x).shape
    axes = [a for a, d in enumerate(shape) if d]
    if not axes:
        return None
    axis = draft.choose(axes)
    extent = draft.choose([1, 1, 2])
    index = draft.input((*shape[:axis], extent, *shape[axis + 1 :]), I64, high=shape[axis])
    return (index,), (axis,)


def select(draft: LoopBuilder, x: int) -> Any:
    other = draft.partner(x, numeric, True)
    if other is None:
        return None
    condition = draft.partner(x, lambda v: v.dtype == BOOL, False, dtype=BOOL)
    return None if condition is None else ((other, condition), ())


def bounds(draft: LoopBuilder, x: int) -> Any:
    return (), draft.choose([(-1, 1), (None, 1), (0, None), (-0.5, 0.5)] if floating(draft.at(x)) else [(0, 2), (1, None)])


def dtype_of(draft: LoopBuilder, x: int) -> Any:
    here = draft.at(x)
    options = [F32, F64] if floating(here) else [F32, F64, I64, I32, BOOL, U8] if here.dtype != I64 else [F32, F64, I32, BOOL]
    return (), (draft.choose(options),)


def _unary(*names: str, fits: Callable[[Any], bool] = floating) -> dict[str, Op]:
    return {name: Op(getattr(F, name), fits) for name in names}


def _binary(*names: str, fits: Callable[[Any], bool] = numeric) -> dict[str, Op]:
    return {name: Op(getattr(F, name), fits, partner(fits)) for name in names}


OPS: dict[str, Op] = {
    **_unary("exp", "log1p", "expm1", "sin", "cos", "tanh", "sigmoid", "erf", "floor", "ceil", "round", "softplus", "isnan"),
    **_unary("isfinite", "log", "rsqrt"),
    **_unary("neg", "abs", "square", "relu", fits=lambda x: x.dtype not in (BOOL, U8)),
    **_unary("sign", fits=numeric),
    "root": Op(lambda x: F.sqrt(F.abs(x)), floating),
    "log_abs": Op(lambda x: F.log(F.abs(x) + 0.5), floating),
    **_binary("add", "sub", "mul", "maximum", "minimum"),
    **_binary("eq", "ne", "lt", "le", "gt", "ge", fits=anything),
    **_binary("div", fits=floating),
    "pow_abs": Op(lambda x, y: F.pow(F.abs(x) + 0.25, y), floating, partner(floating)),
    "add_number": Op(lambda x, c: x + c, numeric, scalar_partner),
    "mul_number": Op(lambda x, c: x * c, numeric, scalar_partner),
    "from_number": Op(lambda x, c: c - x, lambda x: x.dtype not in (BOOL, U8), scalar_partner),
    "pow_number": Op(lambda x, c: F.pow(F.abs(x) + 0.5, c), floating, scalar_partner),
    "remainder": Op(lambda x: F.remainder(x, 3), numeric),
    "floor_divide": Op(lambda x: F.floor_divide(x, 2), numeric),
    **_unary("logical_not", fits=lambda x: x.dtype == BOOL),
    **_binary("logical_and", "logical_or", "logical_xor", fits=lambda x: x.dtype == BOOL),
    "where": Op(lambda x, y, c: F.where(c, x, y), numeric, select),
    "clip": Op(F.clip, lambda x: x.dtype not in (BOOL, U8), bounds),
    "astype": Op(F.astype, anything, dtype_of),
    "sum": Op(F.sum, anything, axes_of),
    "mean": Op(F.mean, floating, axes_of),
    "max": Op(F.amax, anything, nonempty_axes),
    "min": Op(F.amin, anything, nonempty_axes),
    "all": Op(F.all, anything, axes_of),
    "any": Op(F.any, anything, axes_of),
    "var": Op(F.var, floating, axes_of),
    "norm": Op(lambda x, a, kept: F.norm(x, dim=a, keepdim=kept), floating, axes_of),
    "argmax": Op(F.argmax, numeric, nonempty_axis),
    "argmin": Op(F.argmin, numeric, nonempty_axis),
    "logsumexp": Op(F.logsumexp, floating, axes_of),
    "softmax": Op(F.softmax, floating, some_axes),
    "log_softmax": Op(F.log_softmax, floating, some_axes),
    "layer_norm": Op(
        lambda x, a: (x - F.mean(x, a, keepdims=True)) * F.rsqrt(F.var(x, a, keepdims=True, correction=0) + 0.125),
        floating,
        some_axes,
    ),
    "cumsum": Op(F.cumsum, numeric, one_axis),
    "reshape": Op(F.reshape, anything, new_shape),
    "permute": Op(F.permute, lambda x: x.ndim > 0, order),
    "expand_dims": Op(F.expand_dims, lambda x: x.ndim < 4, lambda d, x: ((), (d.choose(range(d.at(x).ndim + 1)),))),
    "squeeze": Op(F.squeeze, anything),
    "broadcast_to": Op(F.broadcast_to, lambda x: x.ndim < 4, larger_shape),
    "getitem": Op(F.getitem, anything, subscript),
    "concatenate": Op(lambda x, y, axis: F.concatenate([x, y], axis), anything, joined),
    "stack": Op(lambda x, y, axis: F.stack([x, y], axis), lambda x: x.ndim < 4, lambda d, x: ((x,), (0,))),
    "flip": Op(F.flip, lambda x: x.ndim > 0, one_axis),
    "matmul": Op(lambda x, y, turn: F.matmul(x, y.T if turn else y), floating, product),
    "gram": Op(lambda x: F.matmul(x, F.swapaxes(x, -1, -2)), lambda x: floating(x) and x.ndim > 1),
    "take": Op(F.take, anything, index_of),
    "take_along_axis": Op(F.take_along_axis, anything, index_along),
    "one_hot": Op(lambda x: F.one_hot(F.clip(x, 0, 3), 4), lambda x: x.dtype in (I64, I32) and x.ndim < 4),
    "dropout": Op(lambda x: F.dropout(x, 0.5), floating),
    "positions": Op(F.index_along, lambda x: x.ndim > 0, one_axis),
    "stop_gradient": Op(F.stop_gradient, anything),
}
NAMES = tuple(OPS)
LOOPS = (
    "add",
    "mul",
    "sub",
    "softmax",
    "sum",
    "exp",
    "max",
    "mean",
    "add_number",
    "layer_norm",
    "relu",
    "reshape",
    "permute",
)
"""Drawn more often: what most kernels are made of."""


# drawing
# ------------------------------------------------------------------------------------------------------------------


class LoopBuilder:
    """A program being drawn: its values, and what they are in eager mode."""

    def __init__(self, choose: Choose):
        self.choose = choose
        self.values: list[Input | Step] = []
        self.known: list[Any] = []
        self.extents = [choose(EXTENTS) for _ in range(3)]
        self.float = choose([F32, F32, F64])
        self.special = choose([False] * 7 + [True])

    def at(self, i: int) -> Any:
        return self.known[i]

    def extent(self) -> int:
        return self.choose(self.extents)

    def input(self, shape: tuple[int, ...], dtype: np.dtype, high: int = 0) -> int:
        role = self.choose(["feed", "feed", "variable", "constant"])
        leaf = Input(tuple(shape), dtype, role, self.choose(range(1000)), high, self.special)
        self.values.append(leaf)
        self.known.append(sg.tensor(leaf.array()))
        return len(self.values) - 1

    def partner(self, x: int, fits: Callable[[Any], bool], same_kind: bool, dtype: np.dtype | None = None) -> int | None:
        """A value, known or new, that broadcasts with x."""
        shape = self.at(x).shape
        if self.choose([True, True, False]):
            known = [
                i for i, v in enumerate(self.known)
                if fits(v) and (not same_kind or v.dtype == self.at(x).dtype) and _broadcasts(shape, v.shape)
            ]  # fmt: skip
            if known:
                return self.choose(known)
        mask = [d if self.choose([True, False]) else 1 for d in shape]
        drop = self.choose(range(len(shape) + 1)) if self.choose([True, False]) else 0
        if dtype is None:
            dtype = self.at(x).dtype
        return self.input(tuple(mask[drop:]), dtype)

    def step(self) -> bool:
        name = self.choose(NAMES + LOOPS * 2)
        op = OPS[name]
        options = [i for i, v in enumerate(self.known) if op.fits(v)]
        if not options:
            return False
        before = len(self.values)
        x = self.choose(options[-6:])
        drawn = op.draw(self, x)
        if drawn is not None:
            operands, params = (x, *drawn[0]), drawn[1]
            try:
                with np.errstate(all="ignore"):
                    result = op.run(*(self.at(i) for i in operands), *params)
            except StaticgradError:
                result = None  # not every draw is a valid program: shapes and dtypes that eager mode refuses
            if result is not None and math.prod(result.shape) <= LARGEST and result.ndim <= 5:
                self.values.append(Step(name, operands, params))
                self.known.append(result)
                return True
        del self.values[before:], self.known[before:]
        return False


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        return math.prod(np.broadcast_shapes(a, b)) <= LARGEST
    except ValueError:
        return False


def random_program(choose: Choose) -> Program:
    """Draw a program of 3 to 25 ops."""
    draft = LoopBuilder(choose)
    for _ in range(choose((1, 2))):
        draft.input(tuple(draft.extent() for _ in range(choose((2, 2, 3, 1, 0)))), draft.float)
    wanted = choose((3, 5, 8, 12, 18, 25))
    made = sum(draft.step() for _ in range(3 * wanted) if len(draft.values) < 2 * wanted)
    positions = range(len(draft.values))
    outputs = [len(positions) - 1] + [choose(positions) for _ in range(choose((0, 1, 1, 2)))]
    floats = [i for i in positions if isinstance(draft.values[i], Input) and floating(draft.at(i))]
    grads = floats[:3] if made and choose([True, True, False]) else []
    assigns = []
    for i, value in enumerate(draft.values):
        if isinstance(value, Input) and value.role == "variable" and choose([True, False]):
            fitting = [k for k in positions if draft.at(k).shape == value.shape and draft.at(k).dtype == value.dtype]
            assigns.append((i, choose(fitting)))
    return pruned(Program(draft.values, outputs, grads, assigns))


def pruned(program: Program) -> Program:
    """Without the values that nothing needs."""
    needed = {*program.outputs, *program.grads, *(i for pair in program.assigns for i in pair)}
    for i in reversed(range(len(program.values))):
        value = program.values[i]
        if i in needed and isinstance(value, Step):
            needed.update(value.operands)
    kept = sorted(needed)
    place = {old: new for new, old in enumerate(kept)}
    values = []
    for old in kept:
        value = program.values[old]
        if isinstance(value, Step):
            value = Step(value.name, tuple(place[i] for i in value.operands), value.params)
        values.append(value)
    return Program(
        values, [place[i] for i in program.outputs], [place[i] for i in program.grads],
        [(place[a], place[b]) for a, b in program.assigns],
    )  # fmt: skip


# running
# ------------------------------------------------------------------------------------------------------------------


@dataclass
class Built:
    """A program as a graph. `leaves`: values of feeds, variables and the generator; `store`: variables by cell."""

    graph: Graph
    fetches: list[Node]
    feeds: list[Node]
    arrays: list[np.ndarray]
    leaves: dict[Node, np.ndarray]
    store: dict[Cell, np.ndarray]
    effects: list[Node]
    targets: list[tuple[Cell, Node]]


def run_steps(program: Program, values: list[Any]) -> list[Any]:
    """`values`: the inputs in place, None for steps. Fills in the steps."""
    for i, value in enumerate(program.values):
        if isinstance(value, Step):
            values[i] = OPS[value.name].run(*(values[k] for k in value.operands), *value.params)
    return values


def run_eagerly(program: Program) -> tuple[list[np.ndarray | None], list[np.ndarray]]:
    """Outputs and gradients, and the values to assign."""
    sg.manual_seed(SEED)
    values: list[Any] = [None] * len(program.values)
    for i, value in enumerate(program.values):
        if isinstance(value, Input):
            values[i] = sg.tensor(value.array(), requires_grad=i in program.grads)
    with np.errstate(all="ignore"):
        run_steps(program, values)
        results = [values[i] for i in program.outputs]
        if program.grads:
            roots = [y for y in results if y.dtype.kind == "f" and y.requires_grad]
            wanted = [values[i] for i in program.grads]
            seeds = [sg.tensor(np.ones(y.shape, y.dtype)) for y in roots]
            found = sg.grad(roots, wanted, seeds, allow_unused=True) if roots else [None] * len(wanted)
            results += found
    arrays = [None if r is None else r.detach().numpy() for r in results]
    return arrays, [values[v].detach().numpy() for _, v in program.assigns]


def build(program: Program) -> tuple[Built, list[bool]]:
    """The graph, and for each gradient whether it exists."""
    graph = Graph()
    values: list[Any] = [None] * len(program.values)
    built = Built(graph, [], [], [], {}, {}, [], [])
    cells: dict[int, Cell] = {}
    for i, value in enumerate(program.values):
        if not isinstance(value, Input):
            continue
        array, kind = value.array(), TensorType(value.shape, value.dtype)
        if value.role == "constant":
            values[i] = append(graph, REGISTRY["constant"], (), literal(array))
            continue
        if value.role == "feed":
            values[i] = append(graph, REGISTRY["placeholder"], (), {"type": kind}, name=f"x{i}")
            built.feeds.append(values[i].node)
            built.arrays.append(array)
        else:
            cells[i] = Cell(f"w{i}", kind)
            values[i] = append(graph, REGISTRY["variable"], (), {"cell": cells[i]}, name=f"w{i}")
            built.store[cells[i]] = array
        built.leaves[values[i].node] = array.copy()
    run_steps(program, values)
    if graph.generator is not None:
        built.leaves[graph.generator.node] = np.array([SEED, 0])
    results = [values[i] for i in program.outputs]
    exists = []
    if program.grads:
        roots = [y for y in results if y.dtype.kind == "f"]
        wanted = [values[i] for i in program.grads]
        found = gradients(roots, wanted) if roots else [None] * len(wanted)
        exists = [g is not None for g in found]
        results += [g for g in found if g is not None]
    built.fetches = [r.node for r in results]
    for variable, value in program.assigns:
        effect = append(graph, REGISTRY["assign"], (values[variable], values[value]), {})
        built.effects.append(effect.node)
        built.targets.append((cells[variable], values[value].node))
    return built, exists
