"""Random programs as Python text, run eagerly, compiled (strict and fast), in a Session and by the interpreter.

    python -m tests.fuzz_programs --count 50000 --seed 0 --jobs 2

Program number n of seed s is always the same one: `--first n --count 1 --seed s` runs it alone. `--fast k` compiles kernels
for every k-th program only, since each new kernel takes some 50 ms. A program that differs is made as small as it can be,
and printed as text that runs by itself.
"""

from __future__ import annotations

import argparse
import functools
import linecache
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

os.environ.setdefault("STATICGRAD_EAGER", "wait:1000")  # strict mode has the bits of eager mode's NumPy
import staticgrad as sg
from staticgrad.errors import StaticgradError, TraceError
from staticgrad.ir.graph import interpret
from tests import fuzzing

STRICT_LOOPS = True
"""Whether strict mode is held to eager mode's bits in gradients of loops and branches, and to any in those of loops of
unknown length."""

EPS = {np.dtype(np.float32): 2.0**-23, np.dtype(np.float64): 2.0**-52}
FLOATS = ("float32", "float64")
LARGEST = 60  # elements of a value

HEADER = """import numpy as np
import staticgrad as sg


def grad(y, xs):
    if hasattr(y, "graph") and not hasattr(y, "tracer"):
        return sg.gradients(y, xs)
    return sg.grad(y, xs, create_graph=True, allow_unused=True)
"""


# programs -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaf:
    """An argument of the step, or a tensor that it reaches. alias: an expression of other leaves whose memory it shares."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    seed: int
    requires_grad: bool = False
    argument: bool = True
    alias: str = ""

    def array(self) -> np.ndarray:
        """Multiples of 1/8, so that ties happen."""
        rng = np.random.default_rng(self.seed)
        if self.dtype == "bool":
            return rng.integers(0, 2, self.shape).astype(bool)
        if self.dtype in FLOATS:
            return (rng.integers(-12, 13, self.shape) / 8).astype(self.dtype)
        return rng.integers(-3, 4, self.shape).astype(self.dtype)

    def text(self) -> str:
        if self.alias:
            return f"{self.name} = {self.alias}"
        values = f"np.array({self.array().tolist()!r}, np.{self.dtype if self.dtype != 'bool' else 'bool_'})"
        return f"{self.name} = sg.tensor({values}{', requires_grad=True' if self.requires_grad else ''})"


@dataclass(frozen=True)
class Statement:
    """A line of the step (or several, indented). kinds: what it does, of "inplace", "loop", "while", "grad", "jump"."""

    text: str
    kinds: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Program:
    """results: names that the step returns; those that are unknown, for a statement was dropped, are left out."""

    leaves: tuple[Leaf, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]
    label: str = field(default="", compare=False)

    @property
    def kinds(self) -> set[str]:
        return set().union(*(s.kinds for s in self.statements)) if self.statements else set()

    @property
    def arguments(self) -> list[str]:
        return [leaf.name for leaf in self.leaves if leaf.argument]

    def step_text(self) -> str:
        lines = [f"def step({', '.join(self.arguments)}):"]
        for statement in self.statements:
            lines += [f"    {line}" for line in statement.text.splitlines()]
        return "\n".join([*lines, f"    return [{', '.join(self.results)}]"])

    def leaf_text(self, argument: bool) -> str:
        return "\n".join(leaf.text() for leaf in self.leaves if leaf.argument is argument)

    def text(self) -> str:
        """It runs by itself."""
        names = ", ".join(self.arguments)
        made = "\n".join(f"    {line}" for line in self.leaf_text(True).splitlines())
        parts = [
            f"# {self.label}", HEADER, self.leaf_text(False), f"\ndef arguments():\n{made}\n    return [{names}]\n",
            f"\n{self.step_text()}\n",
            "\nfor run in (step, sg.compile(step, numerics='strict'), sg.compile(step)):\n    print(run(*arguments()))",
        ]  # fmt: skip
        return "\n".join(parts)


# drawing ------------------------------------------------------------------------------------------------------------------


class LoopBuilder:
    """A program being drawn: each statement runs eagerly as it is drawn; one that raises, or whose values grow, is dropped."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.choose = rng.choice
        self.float = self.choose(FLOATS)
        self.extents = [self.choose([1, 2, 3, 4]) for _ in range(2)]
        self.leaves: list[Leaf] = []
        self.statements: list[Statement] = []
        self.names: dict[str, Any] = {}
        exec(HEADER, self.names)
        self.values: list[str] = []
        """Names of tensors, oldest first."""
        self.changes = rng.random() < 0.6
        self.untraceable = self.changes and rng.random() < 0.25
        """Whether it has statements that a trace refuses: changes of views and of parts."""
        self.followed = True
        """Whether gradients may follow."""

    def at(self, name: str) -> Any:
        return self.names[name]

    def leaf(self, shape: tuple[int, ...], dtype: str, alias: str = "") -> str:
        argument = bool(alias) or not self.leaves or self.rng.random() < 0.6
        name = f"{'x' if argument else 'w'}{len(self.leaves)}"
        trains = dtype in FLOATS and not alias and self.rng.random() < 0.6
        self.leaves.append(Leaf(name, shape, dtype, self.rng.randrange(10**6), trains, argument, alias))
        exec(self.leaves[-1].text(), self.names)
        self.values.append(name)
        return name

    def shape(self) -> tuple[int, ...]:
        return tuple(self.choose(self.extents) for _ in range(self.choose([0, 1, 2, 2, 2, 3])))

    def pick(self, fits: Callable[[Any], bool]) -> str | None:
        known = [name for name in self.values if fits(self.at(name))]
        return self.choose(known[-8:]) if known else None

    def add(self, text: str, *kinds: str) -> bool:
        """Run a statement; `v` in it is a new name, or no name is made."""
        name = f"v{len(self.statements)}"
        statement = Statement(text.replace("NEW", name), frozenset(kinds))
        before = {n: self.at(n).detach().numpy().copy() for n in self.values} if "inplace" in kinds else {}
        try:
            with np.errstate(all="ignore"):
                exec(statement.text, self.names)
        except (StaticgradError, ValueError, IndexError):
            return False
        made = self.names.get(name)
        checked = [made] if made is not None else [self.at(n) for n in self.values]
        if not all(isinstance(v, sg.Tensor) and v._data.size <= LARGEST and _tame(v) for v in checked):
            for n, old in before.items():
                if self.at(n)._data.flags.writeable:
                    self.at(n)._data[...] = old
            self.names.pop(name, None)
            return False
        self.statements.append(statement)
        if made is not None:
            self.values.append(name)
        return True


def _tame(x: Any) -> bool:
    data = x._data
    return data.dtype.kind != "f" or bool(np.isfinite(data).all() and np.abs(data).max(initial=0) < 50)


def floating(x: Any) -> bool:
    return x.dtype.kind == "f"


def numeric(x: Any) -> bool:
    return x.dtype != bool


def anything(x: Any) -> bool:
    return True


def _axis(d: LoopBuilder, x: str) -> str:
    n = d.at(x).ndim
    return str(d.choose([None, *range(n), *([(0, 1)] if n > 1 else [])]))


def _one_axis(d: LoopBuilder, x: str) -> str:
    return str(d.choose(range(max(d.at(x).ndim, 1))))


def _key(d: LoopBuilder, x: str) -> str:
    """A basic subscript."""
    parts = [d.choose([":", ":", "1:", ":-1", "::2", "::-1", "-1", "0", ":1"]) for _ in range(d.at(x).ndim)]
    return ", ".join(parts) if parts else "..."


def _shape(d: LoopBuilder, x: str) -> str:
    shape = d.at(x).shape
    size = d.at(x)._data.size
    options: list[tuple[int, ...]] = [(-1,), (*shape, 1), (1, *shape)]
    options += [(k, size // k) for k in (1, 2, 3, 4) if size and size % k == 0]
    return str(d.choose(options))


UNARY = ("tanh({})", "sin({})", "cos({})", "sigmoid({})", "exp(-sg.square({}))", "square({})", "sqrt(sg.square({}) + 0.5)",
         "log(sg.square({}) + 0.5)", "erf({})", "softplus({})", "log1p(sg.square({}))", "expm1(sg.tanh({}))")  # fmt: skip
JUMPS = ("relu({})", "abs({})", "floor({})", "sign({})", "round({})", "clip({}, -0.5, 0.75)", "maximum({}, 0.25)")


def unary(d: LoopBuilder) -> bool:
    x = d.pick(floating)
    jump = d.rng.random() < 0.25
    return x is not None and d.add("NEW = sg." + d.choose(JUMPS if jump else UNARY).format(x), *(["jump"] if jump else []))


def binary(d: LoopBuilder) -> bool:
    x, y = d.pick(numeric), d.pick(numeric)
    if x is None or y is None:
        return False
    form = d.choose(["{} + {}", "{} - {}", "{} * {}", "{} * {}", "{} / (sg.square({}) + 1)", "sg.maximum({}, {})",
                     "sg.where({0} > {1}, {0}, {1} * 2)", "sg.minimum({}, {})"])  # fmt: skip
    return d.add(f"NEW = {form.format(x, y)}", *(["jump"] if "sg.m" in form or "where" in form else []))


def number(d: LoopBuilder) -> bool:
    x = d.pick(numeric)
    forms = ["{} * 0.5", "{} + 1", "2 - {}", "{} * 2", "-{}", "{} ** 2"]
    if x is not None and not floating(d.at(x)):
        forms += ["{} // 2", "{} % 3", "{} + 1"]
    return x is not None and d.add("NEW = " + d.choose(forms).format(x))


def reduction(d: LoopBuilder) -> bool:
    name = d.choose(["sum", "sum", "mean", "amax", "amin", "var", "logsumexp", "norm"])
    x = d.pick(floating if name in ("mean", "var", "logsumexp", "norm") else numeric)
    if x is None:
        return False
    keep = d.choose(["", ", keepdims=True"])
    smooth = "0.5 + sg.square({})" if name == "norm" else "{}"
    jump = ["jump"] if name in ("amax", "amin") else []
    return d.add(f"NEW = sg.{name}({smooth.format(x)}, dim={_axis(d, x)}{keep})", *jump)


def along(d: LoopBuilder) -> bool:
    x = d.pick(lambda v: floating(v) and v.ndim > 0)
    form = d.choose(["softmax({}, {})", "log_softmax({}, {})", "cumsum({}, {})", "flip({}, {})"])
    return x is not None and d.add(f"NEW = sg.{form.format(x, _one_axis(d, x))}")


def product(d: LoopBuilder) -> bool:
    x, y = d.pick(lambda v: floating(v) and v.ndim > 0), d.pick(lambda v: floating(v) and v.ndim > 0)
    if x is None or y is None:
        return False
    return d.add(f"NEW = {d.choose(['{} @ {}', '{} @ {}.T', '{0}.T @ {0}', '{0} @ {0}.T']).format(x, y)}")


def view(d: LoopBuilder) -> bool:
    x = d.pick(anything)
    if x is None:
        return False
    form = d.choose([f"{x}[{_key(d, x)}]", f"{x}[{_key(d, x)}]", f"{x}.reshape({_shape(d, x)})", f"{x}.T", f"{x}.detach()",
                     f"sg.expand_dims({x}, 0)", f"sg.squeeze({x})", f"sg.stop_gradient({x})"])  # fmt: skip
    return d.add(f"NEW = {form}", *(["detached"] if ".detach" in form or "stop_" in form else []))


def joining(d: LoopBuilder) -> bool:
    x = d.pick(lambda v: v.ndim > 0)
    if x is None:
        return False
    forms = ["sg.concatenate([{0}, {0}], 0)", "sg.stack([{0}, {0}], 0)", "sg.take({0}, sg.tensor([0, 0, -1]))",
             "{0}[[0, -1]]", "sg.broadcast_to({0}, (2,) + {0}.shape)"]  # fmt: skip
    return d.add(f"NEW = {d.choose(forms).format(x)}")


def comparison(d: LoopBuilder) -> bool:
    x, y = d.pick(numeric), d.pick(numeric)
    return x is not None and d.add(f"NEW = {d.choose(['{} > {}', '{} <= {}', '{} == {}']).format(x, y)}", "jump")


def integers(d: LoopBuilder) -> bool:
    form = d.choose(["sg.astype({}, sg.{})", "sg.argmax({}, {})"])
    x = d.pick(lambda v: "arg" not in form or (numeric(v) and v.ndim > 0))
    if x is None:
        return False
    last = _one_axis(d, x) if "arg" in form else d.choose(["int64", "int32", d.float])
    return d.add(f"NEW = {form.format(x, last)}", "jump")


def change(d: LoopBuilder) -> bool:
    """In place, recorded or not."""
    if not d.changes:
        return False
    x = d.pick(lambda v: v._data.flags.writeable)
    y = d.pick(numeric)
    if x is None or y is None:
        return False
    if not d.untraceable and (d.at(x)._base is not None and d.at(x)._record is not None):
        return False
    forms = ["{0}.add_({1})", "{0}.mul_({1})", "{0}.sub_({1} * 0.5)", "{0} += {1}", "{0}.copy_({1})", "{0}.zero_()",
             "{0}.mul_(0.5)", "{0}.tanh_()", "{0}.detach().mul_({1})", "{0}.masked_fill_({0} > 0, 0.5)"]  # fmt: skip
    if d.untraceable:
        forms += [f"{{0}}[{_key(d, x)}] = {{1}}", f"{{0}}[{_key(d, x)}].mul_({{1}})", "{0}[{0} > 0] = 0.5"]
    if x.startswith("w"):
        forms.remove("{0} += {1}")  # it would be a name of the step's own
    text = d.choose(forms).format(x, y)
    if d.rng.random() < 0.4:
        text = f"with sg.no_grad():\n    {text}"
    return d.add(text, "inplace", *(["jump"] if ">" in text else []), *(["detached"] if "detach" in text else []))


def control(d: LoopBuilder) -> bool:
    """A branch or a loop, with tensors that it captures."""
    x, y = d.pick(lambda v: floating(v) and v.ndim < 3), d.pick(lambda v: floating(v) and v.ndim < 2)
    if x is None or y is None:
        return False
    form = d.choose(["cond", "scan", "items", "while"])
    if form == "cond":
        return d.add(f"NEW = sg.cond({y}.sum() > 0.3, lambda: sg.tanh({x} * {y}), lambda: {x} * 0.5 + {y})", "loop", "jump")
    if form == "scan":
        body = d.choose([f"sg.tanh(c * 0.5 + {y})", f"sg.sin(c) + {y} * 0.1", "c * 0.5"])
        text = f"last, all_ = sg.scan(lambda c, _: ({body}, c * 2), {x}, length={d.choose([1, 2, 3])})\n"
        return d.add(f"{text}NEW = {d.choose(['last', 'all_', 'last + all_.sum(0)'])}", "loop")
    if form == "items":
        z = d.pick(lambda v: floating(v) and v.ndim > 0)
        text = f"last, all_ = sg.scan(lambda c, t: (sg.tanh(c + t.sum() * {y}), c.sum() * t), {x}, {z})\n"
        return z is not None and d.add(f"{text}NEW = {d.choose(['last', 'all_'])}", "loop")
    if not STRICT_LOOPS:
        d.followed = d.followed and not (d.at(x).requires_grad or d.at(y).requires_grad)
        x, y = f"{x}.detach()", f"{y}.detach()"
    text = f"NEW = sg.while_loop(lambda c, i: i < {d.choose([1, 3])}, lambda c, i: (c * 0.5 + {y}, i + 1), [{x}, 0])[0]"
    return d.add(text, "loop", "while", "detached")


MAKERS: dict[Callable[[LoopBuilder], bool], int] = {
    unary: 6, binary: 6, number: 3, reduction: 4, along: 2, product: 3, view: 5, joining: 2, comparison: 1, integers: 1,
    change: 6, control: 1,
}  # fmt: skip


def differentiate(d: LoopBuilder) -> None:
    """Gradients of what is there: by `backward`, or by `grad`, once or twice."""
    wanted = [leaf.name for leaf in d.leaves if leaf.requires_grad]
    roots = [name for name in d.values if d.at(name).requires_grad and name not in wanted][-3:]
    if not wanted or not roots:
        return
    first = f"NEW = {' + '.join(f'sg.sin({root}).sum()' for root in roots)}"
    if not d.add(first):
        return
    loss = d.values[-1]
    if d.rng.random() < 0.4:
        d.statements.append(Statement(f"{loss}.backward()", frozenset({"grad", "backward"})))
        return
    names = ", ".join(wanted)
    found = f"g = grad({loss}, [{names}])\n" + "\n".join(
        f"g{i} = g[{i}] if g[{i}] is not None else {name}.detach() * 0" for i, name in enumerate(wanted)
    )
    d.statements.append(Statement(found, frozenset({"grad"})))
    d.values += [f"g{i}" for i in range(len(wanted))]
    if d.rng.random() < 0.5:
        squares = " + ".join(f"(g{i} * g{i}).sum()" for i in range(len(wanted)))
        again = f"s = {squares} + {wanted[0]}.sum()\nh = grad(s, [{names}])\n" + "\n".join(
            f"h{i} = h[{i}] if h[{i}] is not None else {name}.detach() * 0" for i, name in enumerate(wanted)
        )
        d.statements.append(Statement(again, frozenset({"grad", "second"})))
        d.values += [f"h{i}" for i in range(len(wanted))]


def draw(seed: int, number: int) -> Program:
    """Program `number` of a seed."""
    d = LoopBuilder(random.Random(f"{seed}/{number}"))
    for _ in range(d.choose([1, 2, 2, 3])):
        d.leaf(d.shape(), d.choose([d.float] * 5 + ["int64", "int32", "bool"]))
    if d.rng.random() < 0.2:
        base = d.choose([leaf for leaf in d.leaves if leaf.argument or d.changes])
        forms = ["{}", "{}.detach()", "{}.detach()[1:]", "{}.detach().T", "{}.detach()[:1]"]
        with suppress(StaticgradError):
            d.leaf((), base.dtype, d.choose(forms[not base.argument :] if base.shape else forms[:2]).format(base.name))
    wanted, tries = d.choose([3, 5, 8, 12, 16]), 0
    makers, weights = list(MAKERS), list(MAKERS.values())
    while len(d.statements) < wanted and tries < 4 * wanted:
        tries += 1
        d.rng.choices(makers, weights)[0](d)
    before = set(d.values)
    if d.followed and d.rng.random() < 0.7:
        differentiate(d)
    made = [name for name in d.values if name not in before]
    own = [name for name in d.values if name in before and not any(name == leaf.name for leaf in d.leaves)]
    results = [*dict.fromkeys([*own[-1:], *(d.choose(own) for _ in range(2) if own), *made])]
    return Program(tuple(d.leaves), tuple(d.statements), tuple(results), f"seed {seed}, program {number}")


# running ------------------------------------------------------------------------------------------------------------------


class Scene:
    """A program's own namespace: its leaves, and the step."""

    def __init__(self, program: Program):
        self.program = program
        self.names: dict[str, Any] = {}
        text = f"{HEADER}\n{program.leaf_text(False)}\n{program.step_text()}\n"
        file = f"<{program.label}>"
        linecache.cache[file] = len(text), None, text.splitlines(True), file
        exec(compile(text, file, "exec"), self.names)
        self.step = self.names["step"]

    def arguments(self) -> list[Any]:
        local = dict(self.names)
        exec(self.program.leaf_text(True), local)
        return [local[name] for name in self.program.arguments]

    def call(self, step: Callable[..., Any], disturb: Callable[[np.ndarray], np.ndarray] | None = None) -> list[Any]:
        """Results, and what the call left in arguments and in tensors that are reached, with their gradients."""
        arguments = self.arguments()
        reached = [self.names[leaf.name] for leaf in self.program.leaves if not leaf.argument]
        if disturb is not None:
            for tensor in {id(t._data): t for t in (*arguments, *reached) if t._base is None}.values():
                tensor._data[...] = disturb(tensor._data)
        with np.errstate(all="ignore"):
            results = step(*arguments)
        left = [t for x in (*arguments, *reached) for t in (x, x.grad)]
        return [None if x is None else np.array(x.detach()) for x in (*results, *left)]


def identical(a: Any, b: Any) -> bool:
    """The same bits; any NaN is one; no gradient is one of zeros."""
    if a is None or b is None:
        return a is b or not np.any(a if b is None else b)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype.kind == "f":
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return False
        a, b = np.nan_to_num(a), np.nan_to_num(b)
        return np.array_equal(a, b)
    return np.array_equal(a, b)


class Judge:
    """Whether fast results are those of eager mode. Where they differ by more than rounding, the program may be
    ill-conditioned: it runs again on leaves that are disturbed by rounding errors."""

    def __init__(self, program: Program, calls: int):
        self.program, self.calls = program, calls
        self.spread: list[list[Any]] | None = None

    def agree(self, found: list[Any], expected: list[Any], call: int) -> bool:
        if len(found) != len(expected):
            return False
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            if a is None or b is None or b.dtype.kind != "f":
                if not identical(a, b) and not self._wild(i, call):
                    return False
                continue
            fits = a.shape == b.shape and a.dtype == b.dtype
            if not fits or not (self._close(a, b, 0.0) or self._close(a, b, self._width(i, call))):
                return False
        return True

    def _close(self, a: np.ndarray, b: np.ndarray, more: float) -> bool:
        if not np.isfinite(more):
            return True
        scale = max(float(np.abs(b[np.isfinite(b)]).max(initial=0)), 1.0)
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= 300 * EPS[b.dtype] * scale + 20 * more
            return bool(np.all(near | (a == b) | (np.isnan(a) & np.isnan(b))))

    def _runs(self) -> list[list[Any]]:
        if self.spread is None:
            self.spread = []
            for seed in range(5):
                rng = np.random.default_rng(seed)

                def disturb(x: np.ndarray, rng: Any = rng) -> np.ndarray:
                    if x.dtype.kind != "f":
                        return x
                    return x + (np.abs(x) + 0.1) * rng.uniform(-8, 8, x.shape).astype(x.dtype) * EPS[x.dtype]

                scene = Scene(self.program)
                self.spread.append([scene.call(scene.step, disturb) for _ in range(self.calls)])
        return self.spread

    def _values(self, i: int, call: int) -> list[Any]:
        return [run[call][i] for run in self._runs()]

    def _width(self, i: int, call: int) -> float:
        values = [v for v in self._values(i, call) if v is not None]
        if not values:
            return 0.0
        with np.errstate(all="ignore"):
            width = float(np.ptp(np.stack(values).astype(np.float64), axis=0).max(initial=0))
        return width if width < 0.1 * max(float(np.abs(values[0]).max(initial=0)), 1.0) else np.inf

    def _wild(self, i: int, call: int) -> bool:
        values = self._values(i, call)
        return any(not identical(v, values[0]) for v in values)


CALLS = 2


def compared(
    program: Program,
    modes: Mapping[str, Callable[..., Any]],
    outcome: Callable[[Scene, Any, str, int], str | None],
    calls: int,
    counts: Counter[str],
) -> str | None:
    """How a program differs in the modes, in words; None for not at all. modes: what compiles, by name; outcome(scene, step,
    mode, number): how a call differs, "" for not at all, None where the mode can't go on."""
    for mode, compile in modes.items():
        scene = Scene(program)
        step = compile(scene.step)
        for number in range(calls):
            try:
                found = outcome(scene, step, mode, number)
            except Exception as error:
                return f"{mode}, call {number}: {type(error).__name__}: {error}"
            if found:
                return f"{mode}, call {number}:{found}"
            if found is None:
                counts[f"{mode} refuses"] += 1
                break
        else:
            counts[mode] += 1
        counts[f"{mode}, one plan"] += getattr(step, "segmented", None) is None
    return None


def check(program: Program, fast: bool, counts: Counter[str] | None = None) -> str | None:
    """How a program differs between the modes, in words; None for not at all."""
    counts = Counter() if counts is None else counts
    scene = Scene(program)
    try:
        expected = [scene.call(scene.step) for _ in range(CALLS)]
    except StaticgradError as error:
        counts["eager raises"] += 1
        return None if isinstance(error, sg.GradientError) else f"eager raises {error}"
    judges = {mode: Judge(program, CALLS) for mode in ("strict", *(["fast"] if fast else []))}

    def outcome(scene: Scene, step: Any, mode: str, number: int) -> str | None:
        try:
            found = scene.call(step)
        except TraceError:
            return None
        except sg.GradientError as error:  # a compiled loop saves all that it reads
            if "which LoopBackward0 needs" not in str(error):
                raise
            return None
        exact = mode == "strict" and _exact(program) and not any(".T" in leaf.alias for leaf in program.leaves)
        known = expected[number]
        same = all(map(identical, found, known)) if exact else judges[mode].agree(found, known, number)
        return "" if same and len(found) == len(known) else f"\n{_shown(found)}\neagerly:\n{_shown(known)}"

    modes = {mode: functools.partial(sg.compile, numerics=mode) for mode in judges}
    differs = compared(program, modes, outcome, CALLS, counts)
    if differs is not None:
        return differs
    if not program.kinds & {"inplace", "backward"}:
        return _session(program, expected[0], counts)
    return None


def _exact(program: Program) -> bool:
    return STRICT_LOOPS or not {"loop", "grad"} <= program.kinds


def _session(program: Program, expected: list[Any], counts: Counter[str]) -> str | None:
    """In a strict Session, and by the interpreter on its graph."""
    scene = Scene(program)
    with sg.Graph().as_default() as graph:
        arrays, inputs = [], []
        for leaf in program.leaves:
            if leaf.alias:
                exec(leaf.text(), scene.names)
                continue
            arrays.append(leaf.array())
            inputs.append(sg.placeholder(leaf.dtype, leaf.shape))
            scene.names[leaf.name] = inputs[-1]
        try:
            fetches = scene.step(*[scene.names[name] for name in program.arguments])
            with sg.Session(numerics="strict") as session:
                found = session.run(fetches, dict(zip(inputs, arrays, strict=True)))
        except StaticgradError as error:
            return f"session: {type(error).__name__}: {error}"
        exact, judge = _exact(program), Judge(program, 1)
        for a, b in zip(found, expected, strict=False):
            if not (identical(np.asarray(a), b) if exact else judge.agree([np.asarray(a)], [b], 0)):
                return f"session:\n{_shown(found)}\neagerly:\n{_shown(expected[: len(found)])}"
        counts["session"] += 1
        if "loop" in program.kinds:
            return None
        nodes = [fetch.node for fetch in fetches]
        values = interpret(graph, nodes, dict(zip([x.node for x in inputs], arrays, strict=True)))
        for node, b in zip(nodes, expected, strict=False):
            if not identical(np.asarray(values[node]), b):
                return f"interpreter: {values[node]!r}\neagerly: {b!r}"
        counts["interpreter"] += 1
    return None


def _shown(values: Sequence[Any]) -> str:
    return "\n".join(f"  {v!r}" for v in values)


def slopes(program: Program) -> str | None:
    """Gradients beside differences of values, where the program is smooth and in float64; in words when they differ."""
    smooth = not program.kinds & {"jump", "inplace", "detached", "second"} and "grad" in program.kinds
    leaves = [leaf for leaf in program.leaves if leaf.requires_grad]
    if not smooth or any(leaf.alias or leaf.dtype == "float32" for leaf in program.leaves):
        return None
    at = next(i for i, s in enumerate(program.statements) if "grad" in s.kinds)
    loss = program.statements[at - 1].text.split(" = ")[0]
    plain = replace(program, statements=program.statements[:at], results=(loss,))
    first = Scene(replace(plain, statements=program.statements[:at] + (_gradients(loss, leaves),), results=("slope",)))
    exact = float(first.call(first.step)[0])
    h = 1e-4
    ahead, behind = (_moved(plain, sign * h) for sign in (1, -1))
    ahead2, behind2 = (_moved(plain, sign * h / 2) for sign in (1, -1))
    measured = (4 * (ahead2 - behind2) / h - (ahead - behind) / (2 * h)) / 3
    if abs(measured - exact) > 1e-5 * (1 + abs(exact)):
        return f"the slope is {measured}, by its gradient {exact}"
    return None


def _gradients(loss: str, leaves: Sequence[Leaf]) -> Statement:
    names = ", ".join(leaf.name for leaf in leaves)
    return Statement(f"slope = sum(g.sum() for g in grad({loss}, [{names}]) if g is not None) + {leaves[0].name}.sum() * 0")


def _moved(program: Program, h: float) -> float:
    scene = Scene(program)
    trained = {leaf.seed: leaf for leaf in program.leaves if leaf.requires_grad}
    arguments = scene.arguments()
    named = dict(zip(program.arguments, arguments, strict=True))
    for leaf in trained.values():
        tensor = named[leaf.name] if leaf.argument else scene.names[leaf.name]
        tensor._data[...] += h
    return float(scene.step(*arguments)[0].detach())


# shrinking ----------------------------------------------------------------------------------------------------------------


def _smaller(program: Program) -> Iterator[Program]:
    for i in reversed(range(len(program.statements))):
        kept = program.statements[:i] + program.statements[i + 1 :]
        known = {leaf.name for leaf in program.leaves}.union(*(_made(s) for s in kept))
        yield replace(program, statements=kept, results=tuple(r for r in program.results if r in known))
    for i in range(len(program.results)):
        yield replace(program, results=program.results[:i] + program.results[i + 1 :])
    for i in range(len(program.leaves)):
        yield replace(program, leaves=program.leaves[:i] + program.leaves[i + 1 :])


def _made(statement: Statement) -> set[str]:
    return {line.split(" = ")[0].strip() for line in statement.text.splitlines() if " = " in line}


def _kind(found: str | None) -> str:
    """What stays the same while a program is made smaller: the mode, and the first words of an error."""
    return re.sub(r"[^a-z :,]", "", (found or "").split("\n")[0])[:50]


def examine(seed: int, number: int, fast: int, counts: Counter[str] | None = None) -> str | None:
    """Check one program; its text, made small, with what differs, or None. fast: kernels for every so many programs."""
    program = draw(seed, number)
    compiles = fast > 0 and number % fast == 0
    if check(program, compiles, counts) is None:
        return smallest(program, slopes, _smaller)
    return smallest(program, lambda p: check(p, compiles), _smaller)


def smallest(program: Any, check: Callable[[Any], str | None], smaller: Callable[[Any], Iterator[Any]]) -> str | None:
    """The text of a program that differs, made small, with what differs; None for one that does not."""
    found = fuzzing.examined(program, check, smaller, _kind)
    return None if found is None else found[0].text() + "".join(f"\n# {line}" for line in found[1].splitlines()) + "\n"


def _examined(seed: int, number: int, options: argparse.Namespace, counts: Counter[str]) -> str | None:
    return examine(seed, number, options.fast, counts)


def main(argv: Sequence[str] | None = None) -> int:
    return fuzzing.run(fuzzing.parser(__doc__).parse_args(argv), _examined, lambda seed, number: draw(seed, number).text())


if __name__ == "__main__":
    os.environ.setdefault("STATICGRAD_TIERS", "0")  # what runs is native
    sys.exit(main())
