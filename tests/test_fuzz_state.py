"""The random steps of `tests.fuzz_state`: 40, and 60 in the sweep; faults that it found, and whether it shrinks others."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import staticgrad as sg
from tests import fuzz_state as fuzz
from tests.helpers import sweep

PART = 20
MODES = [{}, {"numerics": "strict"}, {"on_break": "split"}]


@pytest.mark.parametrize("first", sweep(range(0, 100, PART), lambda i, _: i < 2))
def test_modes_agree(first: int):
    counts: Counter[str] = Counter()
    found = [fuzz.examine(0, number, 100, None, counts) for number in range(first, first + PART)]
    assert not any(found), "\n".join(text for text in found if text is not None)
    assert counts["strict"] == counts["segments"] == PART, counts


@pytest.mark.oracle
def test_eager_mode_is_pytorch():
    torch = pytest.importorskip("torch")
    counts: Counter[str] = Counter()
    for number in range(200):
        program = fuzz.draw(1, number)
        found = fuzz.check(program, False, torch, counts, modes={})
        assert found is None, f"{program.text()}\n{found}"
    assert counts["torch"] > 120, counts  # PyTorch refuses the others


def test_a_difference_is_made_small(monkeypatch: pytest.MonkeyPatch):
    lines = ("nums.append(2)", "v0 = x * 2", "v1 = v0 * (1 + (type(v0) is sg.Tensor))", "d['k'] = 3")
    program = fuzz.Program(tuple(fuzz.WORLD.items()), lines, "(v1, nums)", (("obj.n += 1",), ()), label="made by hand")
    program = fuzz.replace(program, world=tuple((k, v if k != "opt" else "optim.SGD([w], lr=.1)") for k, v in program.world))
    monkeypatch.setattr(fuzz, "draw", lambda seed, number: program)
    text = fuzz.examine(0, 0, 0)
    assert text is not None
    assert "type(v0) is sg.Tensor" in text
    assert "d['k']" not in text
    assert "nums.append" not in text


def test_the_command(capsys: pytest.CaptureFixture[str]):
    assert fuzz.main(["--count", "2", "--fast", "0", "--show"]) == 0
    printed = capsys.readouterr().out
    assert "2 programs, 0 differ" in printed
    assert "def step(" in printed


@pytest.mark.parametrize("options", MODES, ids=str)
def test_an_argument_is_returned_and_another_value_stored(options):
    """The one tensor that a run computes is not the result."""
    items, base = [None], sg.tensor([1.0, 2.0])

    @sg.compile(**options)
    def step(x):
        items[-1] = base * 2
        return x

    for k in range(3):
        x = sg.ones(2) * k
        assert step(x) is x
        assert items[0].tolist() == [2.0, 4.0]


@pytest.mark.parametrize("options", MODES, ids=str)
def test_an_array_and_a_tensor_over_it_are_stored(options):
    kept = []

    @sg.compile(**options)
    def step(a):
        t = sg.from_numpy(a)
        kept[:] = [t, a]
        return a, t, t * 2, t[:2]

    for k in range(3):
        a = np.ones(3) * k
        found = step(a)
        a[0] = 7
        assert kept[1] is a
        assert found[0] is a
        assert all(isinstance(t, sg.Tensor) for t in (kept[0], *found[1:]))
        assert [kept[0][0].item(), found[1][0].item(), found[3][0].item(), found[2][0].item()] == [7, 7, 7, 2 * k]
