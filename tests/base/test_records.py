"""`record` makes what `dataclass(frozen=True, slots=True)` makes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from staticgrad.base.tables import record


def definition(decorate: Any) -> Any:
    class Point:
        """A place."""

        x: int
        y: int = 2
        notes: dict[str, int] = dataclasses.field(default_factory=dict, compare=False)
        hidden: str = dataclasses.field(default="h", repr=False)
        total: int = dataclasses.field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + self.y)

    return decorate(Point)


Point = definition(record())
Identity = definition(record(eq=False))
Reference = definition(dataclasses.dataclass(frozen=True, slots=True))
Point.__qualname__ = Reference.__qualname__ = "Point"

CALLS = {
    "by place": lambda C: C(1, 3, {"a": 1}, "z"), "by name": lambda C: C(y=5, x=4), "defaults": lambda C: C(1),
    "replaced": lambda C: dataclasses.replace(C(1, 3), x=7), "copied": lambda C: copy.copy(C(1, 3)),
    "deeply": lambda C: copy.deepcopy(C(1, 3, {"a": 1})),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_a_dataclass(name: str):
    ours, reference = CALLS[name](Point), CALLS[name](Reference)
    assert repr(ours) == repr(reference)
    assert dataclasses.asdict(ours) == dataclasses.asdict(reference)
    assert type(ours).__match_args__ == type(reference).__match_args__
    assert not hasattr(ours, "__dict__")


def test_equal_values_are_equal():
    assert Point(1, 2, {"a": 1}) == Point(1, 2, {"b": 2})  # the field is not compared
    assert Point(1) != Point(2)
    assert Point(1) != Reference(1)
    assert len({Point(1), Point(1), Point(2)}) == 2
    one = Identity(1)
    assert one == one
    assert one != Identity(1)


def test_a_copy_by_pickle_is_equal():
    assert pickle.loads(pickle.dumps(Point(3, notes={"a": 1}))) == Point(3)


@pytest.mark.parametrize("use", [
    lambda C: C(), lambda C: C(1, 2, {}, "", 5), lambda C: C(1, x=2), lambda C: C(1, z=2), lambda C: C(1, total=2),
    lambda C: setattr(C(1), "x", 2), lambda C: setattr(C(1), "new", 2), lambda C: delattr(C(1), "x"),
])  # fmt: skip
def test_misuse_raises_an_error(use: Any):
    for one in (Reference, Point):
        with pytest.raises((TypeError, AttributeError)):
            use(one)
