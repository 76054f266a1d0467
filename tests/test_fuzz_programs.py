"""The random programs of `tests.fuzz_programs`: 125, and 375 in the sweep; what finds, shrinks and prints those that differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests import fuzz_memory
from tests import fuzz_programs as fuzz
from tests.helpers import sweep

PART = 25


@pytest.mark.parametrize("first", sweep(range(0, 500, PART), lambda i, _: i % 4 == 0))
def test_modes_agree(first: int):
    counts: Counter[str] = Counter()
    found = [fuzz.examine(0, number, 50, counts) for number in range(first, first + PART)]
    assert not any(found), "\n".join(text for text in found if text is not None)
    assert counts["strict"] > PART / 2, counts
    assert counts["session"] > 0, counts
    assert counts["interpreter"] > 0, counts


def test_programs_are_those_of_their_numbers():
    assert fuzz.draw(3, 14) == fuzz.draw(3, 14)
    assert len({fuzz.draw(3, number) for number in range(20)}) == 20


def test_the_generator_makes_everything():
    programs = [fuzz.draw(1, number) for number in range(200)]
    kinds = Counter(kind for program in programs for kind in program.kinds)
    assert set(kinds) >= {"inplace", "loop", "while", "grad", "second", "backward", "jump", "detached"}
    text = "\n".join(program.text() for program in programs)
    for word in ("no_grad", "detach()", "sg.cond", "sg.scan", "np.int32", "np.bool_", "np.float32", "np.float64", ".mul_("):
        assert word in text, word
    assert any(leaf.alias for program in programs for leaf in program.leaves)


def test_a_text_runs_by_itself(capsys: Any):
    program = next(p for n in range(50) if (p := fuzz.draw(0, n)).statements and not p.kinds & {"inplace"})
    exec(compile(program.text(), "program.py", "exec"), {})
    assert capsys.readouterr().out.count("tensor(") >= 3


def test_a_difference_is_made_small(monkeypatch: pytest.MonkeyPatch):
    """Of a long program with one statement that is another thing in strict mode, that one is left."""
    leaf = fuzz.Leaf("x0", (2,), "float64", 1)
    lines = ["v0 = x0 * 2", "v1 = v0 + 1"]
    lines += ["v2 = v1 * (1 + (type(v1) is sg.Tensor))", "v3 = sg.tanh(v2)", "v4 = v0 + v3", "v5 = x0 - 1"]
    program = fuzz.Program((leaf,), tuple(map(fuzz.Statement, lines)), ("v4", "v5"), "made by hand")
    monkeypatch.setattr(fuzz, "draw", lambda seed, number: program)
    text = fuzz.examine(0, 0, 0)
    assert text is not None
    assert "type(v1) is sg.Tensor" in text
    assert "v5" not in text
    assert "strict, call" in text


def test_a_wrong_slope_is_found():
    leaf = fuzz.Leaf("x0", (2,), "float64", 1, requires_grad=True)
    loss = fuzz.Statement("v0 = sg.sin(x0).sum()")
    program = fuzz.Program((leaf,), (loss, fuzz.Statement("v0.backward()", frozenset({"grad"}))), ("v0",))
    assert fuzz.slopes(program) is None
    wrong = replace(program, statements=(fuzz.Statement("v0 = (sg.sin(x0) + x0.detach()).sum()"), program.statements[1]))
    found = fuzz.slopes(wrong)
    assert found is not None
    assert "by its gradient" in found


def test_values_that_rounding_decides_are_no_difference():
    """A comparison of equal values falls either way when they are rounded otherwise."""
    leaf = fuzz.Leaf("x0", (3,), "float32", 1)
    program = fuzz.Program((leaf,), (fuzz.Statement("v0 = sg.exp(sg.log(sg.square(x0) + 1)) > sg.square(x0) + 1"),), ("v0",))
    judge = fuzz.Judge(program, 1)
    scene = fuzz.Scene(program)
    expected = scene.call(scene.step)
    assert judge.agree([~expected[0], expected[1], expected[2]], expected, 0)
    assert not judge.agree([expected[0], expected[1] + np.float32(0.01), expected[2]], expected, 0)


def test_loops_are_drawn_with_gradients_when_they_are_held_to_bits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fuzz, "STRICT_LOOPS", True)
    programs = [fuzz.draw(0, number) for number in range(300)]
    assert any({"while", "grad"} <= p.kinds and ".detach(), i + 1" not in p.text() for p in programs)


def test_the_command(capsys: Any):
    assert fuzz.main(["--count", "3", "--fast", "0", "--show"]) == 0
    printed = capsys.readouterr().out
    assert "3 programs, 0 differ" in printed
    assert "def step(" in printed
    assert sg.is_grad_enabled()


@pytest.mark.parametrize("first", sweep(range(0, 100, PART), lambda i, _: i == 0))
def test_memory_is_shared_as_eagerly(first: int):
    counts: Counter[str] = Counter()
    found = [fuzz_memory.examine(0, number, 50, counts) for number in range(first, first + PART)]
    assert not any(found), "\n".join(text for text in found if text is not None)
    assert counts["strict, one plan"] > PART / 2, counts
    assert counts["segments"] > PART / 2, counts
