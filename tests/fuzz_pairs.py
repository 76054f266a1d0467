"""Pairs of almost equal control flow, side by side and in turn: each has to keep its own values and gradients.

    python -m tests.fuzz_pairs --count 3000 --seed 0

A block is a function with scans, folds, maps, while loops, branches, functions with a gradient of their own and recomputed
ones, nested. It is written by a sequence of choices; its twin by the same ones, of which one is another: an operation, a
constant, a captured value, an order of operands, a bound, a direction. What is right is computed without the package: values by
NumPy, gradients by differences of them. A pair is then run eagerly, compiled in several ways, in a Session and in TensorFlow's
dialect: in one program, by one function that runs one of them at a time, and by a function each, with another number in each
call.
"""

from __future__ import annotations

import argparse
import linecache
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import staticgrad as sg
import staticgrad.compat.tf1 as tf
from tests import fuzzing
from tests.helpers import directional

KINDS = (np.float64, np.float32)
TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 2e-4}
SETTINGS: dict[str, dict[str, Any]] = {"strict": {"numerics": "strict"}, "in segments": {"on_break": "split", "wait": True}}
WAYS = [*SETTINGS, "in turn", "apart", "session", "TensorFlow's session"]
"""Besides eager mode and one compiled program. Each pair is run in some of them."""
NUMBERS = (0.5, -2.0, -0.0, 1.5)
"""Values of `K`, which blocks may read: another one in each call."""


# what blocks are written in ---------------------------------------------------------------------------------------------------


class Plain:
    """NumPy: what each word means."""

    tanh, sin, cos, choose = np.tanh, np.sin, np.cos, np.where

    @staticmethod
    def total(ys: Any) -> Any:
        return ys.sum(0)

    @staticmethod
    def signed(x: Any, like: float) -> Any:
        return np.copysign(x, like)

    @staticmethod
    def leaky(x: Any, slope: float) -> Any:
        return np.where(x >= 0, x, x * slope)

    @staticmethod
    def scan(fn: Any, first: Any, xs: Any, reverse: bool = False, every: int | None = None) -> Any:
        ys = []
        for v in xs[::-1] if reverse else xs:
            first, y = fn(first, v)
            ys.append(y)
        return first, np.stack(ys[::-1] if reverse else ys)

    @staticmethod
    def fold(fn: Any, first: Any, xs: Any, reverse: bool = False) -> Any:
        return Plain.scan(lambda h, v: (fn(h, v), h), first, xs, reverse)[0]

    @staticmethod
    def each(fn: Any, xs: Any) -> Any:
        return np.stack([fn(v) for v in xs])

    @staticmethod
    def loop(holds: Any, body: Any, first: Any) -> Any:
        i = 0
        while holds(first, i):
            first, i = body(first), i + 1
        return first

    @staticmethod
    def branch(holds: Any, yes: Any, no: Any) -> Any:
        return yes() if holds else no()

    @staticmethod
    def custom(value: Any, slope: Any) -> Any:
        return value

    @staticmethod
    def again(fn: Any, x: Any) -> Any:
        return fn(x)


class Ours:
    """Eager, compiled, and in a graph."""

    tanh, sin, cos, choose = sg.tanh, sg.sin, sg.cos, sg.where

    @staticmethod
    def total(ys: Any) -> Any:
        return ys.sum(0)

    @staticmethod
    def signed(x: Any, like: float) -> Any:
        return sg.copysign(x, like)

    @staticmethod
    def leaky(x: Any, slope: float) -> Any:
        return sg.nn.functional.leaky_relu(x, slope)

    @staticmethod
    def scan(fn: Any, first: Any, xs: Any, reverse: bool = False, every: int | None = None) -> Any:
        if hasattr(xs, "graph") and not hasattr(xs, "tracer"):  # in blocks of a number that is not known
            every = None
        return sg.scan(fn, first, xs, reverse=reverse, checkpoint_every=every)

    @staticmethod
    def fold(fn: Any, first: Any, xs: Any, reverse: bool = False) -> Any:
        return sg.scan(lambda h, v: (fn(h, v), None), first, xs, reverse=reverse)[0]

    @staticmethod
    def each(fn: Any, xs: Any) -> Any:
        return sg.func.vmap(fn)(xs)

    @staticmethod
    def loop(holds: Any, body: Any, first: Any) -> Any:
        return sg.while_loop(holds, lambda v, i: (body(v), i + 1), (first, np.int64(0)))[0]

    @staticmethod
    def branch(holds: Any, yes: Any, no: Any) -> Any:
        return sg.cond(holds, yes, no)

    @staticmethod
    def custom(value: Any, slope: Any) -> Any:
        class Own(sg.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(p: Any) -> Any:
                return value(p)

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * slope(ctx.saved_tensors[0])

        return Own.apply

    @staticmethod
    def again(fn: Any, x: Any) -> Any:
        return sg.utils.checkpoint.checkpoint(fn, x, use_reentrant=False)


class TensorFlow1:
    """TensorFlow's dialect."""

    tanh, sin, cos, choose = tf.tanh, tf.sin, tf.cos, tf.where

    @staticmethod
    def total(ys: Any) -> Any:
        return tf.reduce_sum(ys, 0)

    @staticmethod
    def signed(x: Any, like: float) -> Any:
        return tf.abs(x) * float(np.copysign(1.0, like))

    @staticmethod
    def leaky(x: Any, slope: float) -> Any:
        return tf.where(x >= 0.0, x, x * slope)

    @staticmethod
    def scan(fn: Any, first: Any, xs: Any, reverse: bool = False, every: int | None = None) -> Any:
        carried, ys = tf.scan(lambda hy, v: fn(hy[0], v), xs, (first, first * 0.0), reverse=reverse)
        return carried[0 if reverse else -1], ys

    @staticmethod
    def fold(fn: Any, first: Any, xs: Any, reverse: bool = False) -> Any:
        return (tf.foldr if reverse else tf.foldl)(fn, xs, first)

    @staticmethod
    def each(fn: Any, xs: Any) -> Any:
        return tf.map_fn(fn, xs)

    @staticmethod
    def loop(holds: Any, body: Any, first: Any) -> Any:
        return tf.while_loop(holds, lambda v, i: (body(v), i + 1), (first, tf.constant(0)))[0]

    @staticmethod
    def branch(holds: Any, yes: Any, no: Any) -> Any:
        return tf.cond(holds, yes, no)

    @staticmethod
    def custom(value: Any, slope: Any) -> Any:
        return tf.custom_gradient(lambda p: (value(p), lambda g: g * slope(p)))

    @staticmethod
    def again(fn: Any, x: Any) -> Any:
        return fn(x)


# writing ----------------------------------------------------------------------------------------------------------------------


class Choices:
    """The choices by which a block is written: each is made by its place in the block, so that another one at one place changes
    nothing elsewhere. made: the places of all choices with several options."""

    def __init__(self, seed: str, other: str | None = None, place: str = "", made: list[str] | None = None):
        self.seed, self.other, self.place, self.count = seed, other, place, 0
        self.made: list[str] = [] if made is None else made

    def inner(self, name: str) -> Choices:
        """Those of a part."""
        return Choices(self.seed, self.other, f"{self.place}.{name}", self.made)

    def __call__(self, *options: Any) -> Any:
        place = f"{self.place}/{self.count}"
        self.count += 1
        if len(set(options)) > 1:
            self.made.append(place)
        chosen = random.Random(f"{self.seed}{place}").choice(options)
        rest = [option for option in options if option != chosen]
        return random.Random(f"{self.seed}{place}/other").choice(rest) if place == self.other and rest else chosen


def constant(pick: Choices) -> str:
    return str(pick("0.5", "0.25", "1.0", "1", "2.0", "2", "-0.5", "0.0", "-0.0", "K", "K"))


def bound(pick: Choices) -> str:
    """Between the values that `a`, and the elements of `x`, can have."""
    return str(pick("-1.03", "-0.53", "0.07", "0.41", "1.04"))


def expression(pick: Choices, names: Sequence[str], depth: int) -> str:
    """A row, of moderate size, of rows with these names, the nearest first."""

    def part(name: str) -> str:
        return expression(pick.inner(name), names, depth - 1)

    if depth <= 0:
        return str(pick(*names[:2], *names))
    form = pick("unary", "sum", "product", "scaled", "signed", "leaky", "chosen", "control", "control")
    if form == "unary":
        return f"F.{pick('tanh', 'sin', 'cos')}({part('a')})"
    if form == "sum":
        return f"({part('a')} {pick('+', '-')} {part('b')})"
    if form == "product":
        return f"F.sin({part('a')}) * {part('b')}"
    if form == "scaled":
        return f"({part('a')} {pick('*', '+', '-')} {constant(pick)})"
    if form == "signed":
        return f"F.signed(F.tanh({part('a')}) + 1.5, {constant(pick)})"
    if form == "leaky":
        return f"F.leaky({part('a')}, {constant(pick)})"
    if form == "chosen":
        return f"F.choose({pick('x[0]', 'x[1]')} > {bound(pick)}, {part('a')}, {part('b')})"
    return control(pick.inner("a"), names, depth)


def control(pick: Choices, names: Sequence[str], depth: int) -> str:
    def body(name: str, *more: str) -> str:
        return expression(pick.inner(name), [*more, *names], depth - 1)

    n = sum(name.startswith(("h", "v")) for name in names)  # each level has names of its own
    h, v, first, items = f"h{n}", f"v{n}", pick(*names), pick("x", "x", "x * 0.5")
    form = pick("scan", "scan", "scan", "fold", "fold", "each", "loop", "loop", "branch", "custom", "again")
    if form == "scan":
        settings = pick("", "", ", reverse=True", ", every=2")
        text = f"F.scan(lambda {h}, {v}: (F.tanh({body('carry', h, v)}), {body('y', v, h)}), {first}, {items}{settings})"
        return str(pick("{}[0]", "{}[0]", "{}[1][1]", "F.total({}[1])")).format(text)
    if form == "fold":
        return f"F.fold(lambda {h}, {v}: F.sin({body('carry', h, v)}), {first}, {items}{pick('', '', ', reverse=True')})"
    if form == "each":
        return f"F.each(lambda {v}: {body('y', v)}, {items})[{pick(0, 1, -1)}]"
    if form == "loop":
        ends = f"i < {pick(1, 2, 3)}"
        if pick(0, 0, 1):
            ends = f"(i < 3) & ({pick('a', 'c[0]', 'x[0][0]')} > {bound(pick)})"
        return f"F.loop(lambda {h}, i: {ends}, lambda {h}: F.tanh({body('carry', h)}), {first})"
    if form == "branch":
        seen = pick("a", "c[0]", *(f"{name}[0]" for name in names if name.startswith("v")))
        return f"F.branch({seen} > {bound(pick)}, lambda: {body('yes')}, lambda: {body('no')})"
    if form == "custom":
        k, word = constant(pick), pick("tanh", "sin")
        slope = {"tanh": f"(1.0 - F.tanh({h} * {k}) * F.tanh({h} * {k}))", "sin": f"F.cos({h} * {k})"}[word]
        return f"F.custom(lambda {h}: F.{word}({h} * {k}), lambda {h}: {slope} * {k})({body('a')})"
    return f"F.again(lambda {h}: {body('y', h)}, {body('a')})"


def block(choices: Choices, name: str) -> str:
    return f"def {name}(F, x, w, a):\n    return {control(choices, ['w', 'c', 'x[0]'], choices(2, 2, 3))}\n"


class Pair:
    """Pair `number` of a seed: blocks A, its twin B, and a third that is another twin of A or A again."""

    def __init__(self, seed: int, number: int):
        self.label = f"seed {seed}, pair {number}"
        rng = random.Random(f"{seed}/{number}")
        plain = Choices(f"{seed}/{number}")
        texts = [block(plain, "A")]
        others = rng.sample(plain.made, min(2, len(plain.made)))
        texts.append(block(Choices(plain.seed, others[0]), "B"))
        texts.append(block(Choices(plain.seed, rng.choice([None, others[-1]])), "C"))
        self.text = "\n".join(texts)
        self.dtype = np.dtype(rng.choice(KINDS))
        self.order = [rng.choice("ABC") for _ in range(5)]
        draw = np.random.default_rng(rng.randrange(10**6))
        self.rows = [*rng.sample([2, 3, 4, 5], 3), 3, 3]
        self.calls = [self._arguments(draw, n) for n in self.rows]
        self.c = self._row(draw)
        self.numbers = [rng.choice(NUMBERS) for _ in range(5)]
        self.orders = rng.choice([1, 1, 2])
        """Of gradients."""
        self.ways = rng.sample(WAYS, 3)

    def _row(self, draw: np.random.Generator, *rows: int) -> np.ndarray:
        """No element is 0, where some words have no slope."""
        return ((draw.integers(-12, 12, (*rows, 2)) + 0.5) / 8).astype(self.dtype)

    def _arguments(self, draw: np.random.Generator, n: int) -> list[np.ndarray]:
        return [self._row(draw, n), self._row(draw), np.asarray(draw.choice([-0.75, 0.25, 0.75]), self.dtype)]

    def names(self, c: Any) -> dict[str, Any]:
        """The namespace of the blocks' own: `c` and `K` are globals."""
        file = f"<{self.label}>"
        linecache.cache[file] = len(self.text), None, self.text.splitlines(True), file
        names = {"c": c, "K": self.numbers[0]}
        exec(compile(self.text, file, "exec"), names)
        return names


# running ----------------------------------------------------------------------------------------------------------------------


def derived(F: Any, fn: Any, orders: int, x: Any, w: Any, a: Any) -> list[Any]:
    """A block's value, its gradients and those of a product with them."""
    y = fn(F, x, w, a)
    wanted = [x, w]
    graph = hasattr(y, "graph") and not hasattr(y, "tracer")
    total = tf.reduce_sum if F is TensorFlow1 else sg.sum
    grad = tf.gradients if F is TensorFlow1 else sg.gradients if graph else lambda z, xs: sg.grad(z, xs, create_graph=True)
    found = [[y], grad(total(y * y) + total(y) + total(x * w), wanted)]
    if orders > 1:
        found.append(grad(total(found[1][0] * x) + total(found[1][1] * x[0]), wanted))
    return [v if graph else v.detach() for values in found for v in values]


def tensors(arrays: Sequence[np.ndarray]) -> list[sg.Tensor]:
    return [sg.tensor(array, requires_grad=True) for array in arrays[:2]] + [sg.tensor(array) for array in arrays[2:]]


def arrays_of(values: Sequence[Any]) -> list[np.ndarray]:
    return [np.asarray(v.detach() if isinstance(v, sg.Tensor) else v) for v in values]


def right(pair: Pair) -> Iterator[dict[str, tuple[np.ndarray, float]]]:
    """For each call, by the name of a block: its value, and its slope along the direction of ones, without the package."""
    names = pair.names(pair.c.astype(np.float64))
    for arguments, number in zip(pair.calls, pair.numbers, strict=True):
        names["K"] = number
        x, w, a = (array.astype(np.float64) for array in arguments)
        found = {}
        for name in "ABC":

            def loss(x: Any, w: Any, fn: Any = names[name], a: Any = a) -> Any:
                y = fn(Plain, x, w, a)
                return (y * y).sum() + y.sum() + (x * w).sum()

            slope = directional(loss, [x, w], [np.ones_like(x), np.ones_like(w)])
            found[name] = np.asarray(names[name](Plain, x, w, a)), float(slope)
        yield found


def near(found: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    """Within the tolerance of the largest element, or 1."""
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    return found.shape == expected.shape and bool(np.all(np.abs(found - expected) <= tolerance * scale))


class Differs(Exception):
    pass


class Examination:
    """Runs a pair in each way. Raises Differs."""

    def __init__(self, pair: Pair):
        self.pair = pair
        self.tolerance = TOLERANCE[pair.dtype]
        self.expected: list[dict[str, list[np.ndarray]]] = []
        """By call and block, what eager mode computes, which was compared with NumPy."""

    def run(self) -> None:
        self.eager()
        self.together("compiled", {"wait": True})
        for way in self.pair.ways:
            if way in SETTINGS:
                self.together(way, SETTINGS[way])
            elif way == "session":
                self.session(Ours, sg)
            elif way == "TensorFlow's session":
                self.session(TensorFlow1, tf)
            else:
                self.in_turn() if way == "in turn" else self.apart()

    def compare(self, how: str, call: int, name: str, found: Sequence[Any]) -> None:
        for i, (a, b) in enumerate(zip(arrays_of(found), self.expected[call][name], strict=True)):
            if not near(a, b, self.tolerance):
                raise Differs(f"{how}, call {call}, block {name}, value {i}:\n{a}\neagerly:\n{b}")

    def eager(self) -> None:
        pair = self.pair
        names = pair.names(sg.tensor(pair.c))
        for call, known in enumerate(right(pair)):
            names["K"] = pair.numbers[call]
            self.expected.append({})
            for name in "ABC":
                found = arrays_of(derived(Ours, names[name], pair.orders, *tensors(pair.calls[call])))
                self.expected[call][name] = found
                value, slope = known[name]
                if not near(found[0], value, self.tolerance):
                    raise Differs(f"eagerly, call {call}, block {name}:\n{found[0]}\nby NumPy:\n{value}")
                along = np.asarray(found[1].sum(dtype=np.float64) + found[2].sum(dtype=np.float64))
                if not near(along, np.asarray(slope), max(self.tolerance, 1e-6) * 10):
                    raise Differs(f"eagerly, call {call}, block {name}: slope {along}, by differences {slope}")

    def together(self, how: str, settings: dict[str, Any]) -> None:
        """All blocks in one program."""
        names = self.pair.names(sg.tensor(self.pair.c))

        def step(x: Any, w: Any, a: Any) -> Any:
            return [derived(Ours, names[name], self.pair.orders, x, w, a) for name in "ABC"]

        compiled = sg.compile(step, **settings)
        for call in range(2 if how == "compiled" else 1):
            names["K"] = self.pair.numbers[call]
            try:
                results = compiled(*tensors(self.pair.calls[call]))
            except sg.CompileError as error:
                if "can't repeat the gradient of Own" in str(error):
                    return
                raise
            for name, found in zip("ABC", results, strict=True):
                self.compare(f"together, {how}", call, name, found)

    def in_turn(self) -> None:
        """One function, which runs one of them."""
        names = self.pair.names(sg.tensor(self.pair.c))

        @sg.compile
        def step(name: str, x: Any, w: Any, a: Any) -> Any:
            return derived(Ours, names[name], self.pair.orders, x, w, a)

        for call, name in enumerate(self.pair.order):
            names["K"] = self.pair.numbers[call]
            self.compare("in turn", call, name, step(name, *tensors(self.pair.calls[call])))

    def apart(self) -> None:
        """A function for each, all of one text."""
        names = self.pair.names(sg.tensor(self.pair.c))

        def made(fn: Any) -> Any:
            return sg.compile(lambda x, w, a: derived(Ours, fn, self.pair.orders, x, w, a))

        steps = {name: made(names[name]) for name in "ABC"}
        for call, name in enumerate(self.pair.order[:3]):
            names["K"] = self.pair.numbers[call]
            self.compare("apart", call, name, steps[name](*tensors(self.pair.calls[call])))

    def session(self, F: Any, place: Any) -> None:
        pair = self.pair
        with place.Graph().as_default(), place.Session() as session:
            x, w, a, c = (place.placeholder(pair.dtype.name, shape) for shape in ([None, 2], [2], [], [2]))
            names = pair.names(c)
            fetches = [derived(F, names[name], pair.orders, x, w, a) for name in "ABC"]
            for call in [call for call, number in enumerate(pair.numbers) if number == pair.numbers[0]][:2]:
                feeds = dict(zip([x, w, a, c], [*pair.calls[call], pair.c], strict=True))
                for name, found in zip("ABC", session.run(fetches, feeds), strict=True):
                    self.compare(f"Session of {F.__name__}", call, name, found)


def examine(seed: int, number: int, counts: Counter[str]) -> str | None:
    """The text of a pair with what differs, or None."""
    pair = Pair(seed, number)
    counts.update(pair.ways)
    try:
        with np.errstate(all="ignore"):
            Examination(pair).run()
    except Differs as error:
        found = str(error)
    except Exception as error:  # the pair's text is what is needed
        found = f"{type(error).__name__}: {error}"
    else:
        return None
    comment = "".join(f"# {line}\n" for line in found.splitlines())
    return f"# {pair.label}, K = {pair.numbers}, order {''.join(pair.order)}\n{pair.text}{comment}"


def _examined(seed: int, number: int, options: argparse.Namespace, counts: Counter[str]) -> str | None:
    return examine(seed, number, counts)


def main(argv: Sequence[str] | None = None) -> int:
    return fuzzing.run(fuzzing.parser(__doc__).parse_args(argv), _examined, lambda seed, number: Pair(seed, number).text)


if __name__ == "__main__":
    sys.exit(main())
