"""Some pairs of `tests.fuzz_pairs`, and what they are made of."""

from __future__ import annotations

from collections import Counter

import pytest

from staticgrad.compiler.passes import subgraphs
from tests import fuzz_pairs as fuzz
from tests.helpers import sweep

PART = 8


@pytest.mark.parametrize("first", sweep(range(0, 24, PART), lambda i, _: i == 0))
def test_each_block_has_its_own_values(first: int):
    found = [fuzz.examine(0, number, Counter()) for number in range(first, first + PART)]
    assert not any(found), "\n".join(text for text in found if text is not None)


def test_pairs_are_those_of_their_numbers():
    assert fuzz.Pair(3, 14).text == fuzz.Pair(3, 14).text
    assert len({fuzz.Pair(3, number).text for number in range(20)}) == 20


def test_the_generator_makes_everything():
    pairs = [fuzz.Pair(1, number) for number in range(300)]
    text = "\n".join(pair.text for pair in pairs)
    for word in ("scan", "fold", "each", "loop", "branch", "custom", "again", "leaky", "signed", "choose"):
        assert f"F.{word}(" in text, word
    assert sum(pair.text.split("def ")[1][1:] != pair.text.split("def ")[2][1:] for pair in pairs) > 250
    assert {way for pair in pairs for way in pair.ways} == set(fuzz.WAYS)


def test_loops_that_become_one_are_found(monkeypatch: pytest.MonkeyPatch):
    """Where bodies are not compared, some pairs differ."""

    def add(self: subgraphs.LoopBodies, loop: subgraphs.Node) -> tuple[subgraphs.EqualLoops, list[int]]:
        results, carries = self._results(loop.attrs["body"]), loop.attrs["carries"]
        equal = next(iter(self.loops.values()), None) or subgraphs.EqualLoops(loop, results[:carries])
        self.loops[()] = equal
        return equal, equal.join(results[carries:])

    monkeypatch.setattr(subgraphs.LoopBodies, "add", add)
    assert any("together, compiled" in (fuzz.examine(0, number, Counter()) or "") for number in (4, 39))
