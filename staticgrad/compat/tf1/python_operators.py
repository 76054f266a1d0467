"""Python's operators on tensors and variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import math
from .handles import Handle

MADE: dict[str, Callable[..., Any]] = vars(math)
OPERATORS: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (MADE["add"], "add"),
    "sub": (MADE["subtract"], "sub"),
    "mul": (MADE["multiply"], "mul"),
    "truediv": (math.truediv, "truediv"),
    "floordiv": (MADE["floordiv"], "floordiv"),
    "mod": (MADE["floormod"], "mod"),
    "pow": (MADE["pow"], "pow"),
    "matmul": (math.matmul, "matmul"),
    "and": (MADE["logical_and"], "and"),
    "or": (MADE["logical_or"], "or"),
    "xor": (MADE["logical_xor"], "xor"),
}
for _name, (_call, _label) in OPERATORS.items():
    setattr(Handle, f"__{_name}__", lambda x, y, f=_call, n=_label: f(x, y, name=n))
    setattr(Handle, f"__r{_name}__", lambda x, y, f=_call, n=_label: f(y, x, name=n))
for _name, _key in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
    setattr(Handle, f"__{_name}__", lambda x, y, f=MADE[_key]: f(x, y))
for _name, _key in (("neg", "negative"), ("abs", "abs"), ("invert", "logical_not")):
    setattr(Handle, f"__{_name}__", lambda x, f=MADE[_key]: f(x))
