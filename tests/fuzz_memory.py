"""Random programs of views, changes in place and results that share memory, run eagerly and compiled.

    python -m tests.fuzz_memory --count 5000 --seed 0 --jobs 2

The caller of a step changes its results, which may be views of arguments, of the state and of one another, and differentiates
them; then everything that it can see is compared: values, which memory is shared, which tensors require grad, gradients. See
`tests.fuzz_programs` for the numbers of programs and for `--fast`.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad.errors import StaticgradError
from tests import fuzz_programs as fuzz
from tests import fuzzing
from tests.fuzz_programs import LoopBuilder, Program, Scene, Statement, floating

CALLS = 3
KEPT = "state"
"""The name of an object that lives as long as the step."""


@dataclass(frozen=True)
class MemoryProgram(Program):
    """after: what the caller does with the results, which have their names."""

    after: tuple[Statement, ...] = ()

    def leaf_text(self, argument: bool) -> str:
        return super().leaf_text(argument) + ("" if argument else f"\n{KEPT} = type('State', (), {{}})()\n{KEPT}.kept = None")

    def text(self) -> str:
        """It runs by itself."""
        names, results = ", ".join(self.arguments), "".join(f"{name}, " for name in self.results)
        calls = [self.leaf_text(True), f"{results}= step({names})" if results else f"step({names})"]
        calls += [*(s.text for s in self.after), f"print([{results}{names}])"]
        inner = [self.leaf_text(False), self.step_text(), "step = compile(step)", f"for _ in range({CALLS}):"]
        body = [textwrap.indent("\n".join(inner), "    "), textwrap.indent("\n".join(calls), "        ")]
        head = [f"# {self.label}", "import numpy as np", "import staticgrad as sg", "", "", "def run(compile):"]
        return "\n".join([*head, *body, "", "", "for compile in (lambda step: step, sg.compile):", "    run(compile)"])


# drawing ------------------------------------------------------------------------------------------------------------------


VIEWS = [
    "{0}[KEY]", "{0}[KEY]", "{0}[KEY]", "{0}.reshape(SHAPE)", "{0}.reshape(SHAPE)", "{0}.view(SHAPE)", "{0}.T", "{0}.T",
    "{0}.detach()", "{0}.data", "{0}[None]", "{0}.squeeze()", "{0}.expand((2,) + {0}.shape)", "{0}.contiguous()",
    "{0}.flatten()", "{0}.ravel()", "{0}.clone()", "{0}.chunk(2)[0]", "{0}.unbind(0)[-1]", "{0}.unfold(0, 2, 1)",
    "{0}.diagonal()", "{0}.movedim(0, -1)", "{0}.to({0}.dtype)", "{0}.narrow(0, 0, 1)", "{0}.expand_as({0})",
    "{0}.view_as({0})", "sg.flip({0}, (0,))", "sg.roll({0}, 0)",
]  # fmt: skip


def _form(d: LoopBuilder, forms: Sequence[str]) -> str:
    """A form; of what the caller does none of which backward passes take no notice."""
    return d.choose([form for form in forms if d.names.get("after") is None or ".data" not in form])


def view(d: LoopBuilder) -> bool:
    x = d.pick(fuzz.anything)
    if x is None:
        return False
    form = _form(d, VIEWS).replace("KEY", fuzz._key(d, x)).replace("SHAPE", fuzz._shape(d, x)).format(x)
    text = f"NEW = {form}"
    if d.rng.random() < 0.1:
        text = f"with sg.no_grad():\n    {text}"
    return d.add(text)


def compute(d: LoopBuilder) -> bool:
    x, y = d.pick(floating), d.pick(floating)
    form = d.choose(["{0} * 2", "{0} + 1", "{0} * {1}", "{0} + {1}", "{0} - {1} * 0.5", "sg.tanh({0})", "sg.relu({0})"])
    return x is not None and y is not None and d.add(f"NEW = {form.format(x, y)}")


def change(d: LoopBuilder) -> bool:
    x, y = d.pick(lambda v: floating(v) and v._data.flags.writeable), d.pick(floating)
    if x is None or y is None:
        return False
    forms = ["{0}.add_(1)", "{0}.mul_(2)", "{0}.add_({1})", "{0}.mul_({1})", "{0}.copy_({1})", "{0}.zero_()", "{0}[KEY] = 0.5",
             "{0}[KEY] = {1}", "{0}[KEY].add_(1)", "{0}[KEY] *= 2", "{0}.detach().add_(1)", "{0}.data.mul_(0.5)",
             "{0}.data = {0}.data * 0.5", "{0}.masked_fill_({0} > 0, 0.5)", "{0}.fill_(0.25)", "{0}.T.sub_(1)"]  # fmt: skip
    text = _form(d, forms).replace("KEY", fuzz._key(d, x)).format(x, y)
    if d.rng.random() < 0.3:
        text = f"with sg.no_grad():\n    {text}"
    return d.add(text, "inplace")


def keep(d: LoopBuilder) -> bool:
    """Put a tensor into the state, which the next call may read."""
    x = d.pick(fuzz.anything)
    return x is not None and d.rng.random() < 0.5 and d.add(f"{KEPT}.kept = {x}")


def differentiate(d: LoopBuilder) -> bool:
    """A backward pass inside."""
    roots = [name for name in d.values if d.at(name).requires_grad]
    if not roots or d.rng.random() < 0.5:
        return False
    retain = d.choose(["", "retain_graph=True"])
    return d.add(f"{d.choose(roots[-4:])}.sum().backward({retain})", "backward")


MAKERS: dict[Callable[[LoopBuilder], bool], int] = {view: 8, compute: 4, change: 6, keep: 1, differentiate: 1}


def draw(seed: int, number: int) -> MemoryProgram:
    """Program `number` of a seed."""
    d = LoopBuilder(random.Random(f"memory {seed}/{number}"))
    exec(f"{KEPT} = type('State', (), {{}})()", d.names)
    for _ in range(d.choose([1, 2, 2, 3])):
        d.leaf(d.shape(), d.float)
    if d.rng.random() < 0.3:
        base = d.choose(d.leaves)
        forms = ["{}", "{}.detach()", "{} * 2", "{} * 1", "{}.detach()[1:]", "{}.detach().T", "{}[:1]", "{}.reshape(-1)"]
        with suppress(StaticgradError):
            d.leaf((), base.dtype, d.choose(forms if base.shape else forms[:3]).format(base.name))
    wanted, tries = d.choose([2, 3, 5, 8, 12]), 0
    makers, weights = list(MAKERS), list(MAKERS.values())
    while len(d.statements) < wanted and tries < 4 * wanted:
        tries += 1
        d.rng.choices(makers, weights)[0](d)
    statements = tuple(d.statements)
    own = [name for name in d.values if name.startswith(("v", "x"))]
    results = [*dict.fromkeys(d.choose(own[-6:]) for _ in range(d.choose([1, 2, 3])))]
    results = [name for name in results if name.startswith("v") or not d.rng.random() < 0.5]
    d.values = [*dict.fromkeys([*results, *(leaf.name for leaf in d.leaves if leaf.argument)])]
    d.names["after"] = True
    for _ in range(d.choose([0, 1, 2, 3])):
        d.rng.choices([change, view, differentiate], [5, 1, 2])[0](d)
    after = tuple(d.statements[len(statements) :])
    return MemoryProgram(tuple(d.leaves), statements, tuple(results), f"seed {seed}, program {number}", after)


# running ------------------------------------------------------------------------------------------------------------------


def seen(tensors: Sequence[Any]) -> list[Any]:
    """What a caller sees of its tensors."""
    values: list[Any] = []
    for x in tensors:
        grad = None if x._gradient is None else np.array(x._gradient.detach())
        values.append((np.array(x.detach()), x.requires_grad, x.is_leaf, grad))
    shared = [[np.shares_memory(a._data, b._data) for a in tensors] for b in tensors]
    return [values, shared, [[a is b for a in tensors] for b in tensors]]


def call(scene: Scene, step: Callable[..., Any]) -> Any:
    """What a caller sees after a call and after its own changes; None where an operation lost a value that it needs."""
    program: Any = scene.program
    arguments = scene.arguments()
    local = {**scene.names, **dict(zip(program.arguments, arguments, strict=True))}
    try:
        with np.errstate(all="ignore"):
            results = step(*arguments)
            local.update(zip(program.results, results, strict=True))
            for statement in program.after:
                exec(statement.text, local)
            live = [x for x in results if x.requires_grad and not x.is_leaf]
            if live:
                sum((x * x).sum() for x in live).backward()
    except sg.GradientError:
        return None
    kept = scene.names[KEPT].kept
    reached = [scene.names[leaf.name] for leaf in program.leaves if not leaf.argument]
    return seen([*results, *arguments, *reached, *([] if kept is None else [kept])])


def same(a: Any, b: Any) -> bool:
    """Equal but for rounding."""
    if isinstance(a, (list, tuple)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, 1e-4, 1e-5, equal_nan=True)
    if (a is None or b is None) and not (a is None and b is None):  # no gradient is one of zeros
        return not np.any(a if b is None else b)
    return bool(a == b)


def segments(step: Callable[..., Any]) -> Any:
    """The step after a cut."""

    @sg.compile(on_break="split")
    def cut(*args: Any) -> Any:
        if sg.zeros(()) > 1:
            raise AssertionError
        return step(*args)

    return cut


MODES: dict[str, Callable[..., Any]] = {
    "strict": lambda step: sg.compile(step, numerics="strict"),
    "segments": segments,
    "fast": sg.compile,
}


def check(program: Any, fast: bool, counts: Counter[str] | None = None) -> str | None:
    """How a program differs between the modes, in words; None for not at all."""
    counts = Counter() if counts is None else counts
    scene = Scene(program)
    expected = [call(scene, scene.step) for _ in range(CALLS)]

    def outcome(scene: Scene, step: Any, mode: str, number: int) -> str | None:
        found = call(scene, step)
        if expected[number] is None or found is None:
            return None  # a plan saves other values than eager mode
        return "" if same(found, expected[number]) else f"\n{found}\neagerly:\n{expected[number]}"

    modes = {mode: compile for mode, compile in MODES.items() if fast or mode != "fast"}
    return fuzz.compared(program, modes, outcome, CALLS, counts)


def examine(seed: int, number: int, fast: int, counts: Counter[str] | None = None) -> str | None:
    """Check one program; its text, made small, with what differs, or None. fast: kernels for every so many programs."""
    program, compiles = draw(seed, number), fast > 0 and number % fast == 0
    if check(program, compiles, counts) is None:
        return None
    return fuzz.smallest(program, lambda p: check(p, compiles), _smaller)


def _smaller(program: MemoryProgram) -> Iterator[Any]:
    yield from fuzz._smaller(program)
    for i in reversed(range(len(program.after))):
        yield replace(program, after=program.after[:i] + program.after[i + 1 :])


def _examined(seed: int, number: int, options: argparse.Namespace, counts: Counter[str]) -> str | None:
    return examine(seed, number, options.fast, counts)


def main(argv: Sequence[str] | None = None) -> int:
    return fuzzing.run(fuzzing.parser(__doc__).parse_args(argv), _examined, lambda seed, number: draw(seed, number).text())


if __name__ == "__main__":
    os.environ.setdefault("STATICGRAD_TIERS", "0")  # what runs is native
    sys.exit(main())
