"""The runtime, compiled (or loaded from the kernel cache) once this module is imported. See `runtime/`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..backend import kernel_cache
from ..backend.machine_code import NOW, SOON, Wanted, arrive, code, pool, tiers

OPERANDS = {"step": 8, "steps": 12, "hold_calls": 1}
"""The functions of the runtime that Python calls, with the number of their operands."""
MODULES = {
    "call": "fastcall_body", "hold_calls": "instruction_loop", "step": "instruction_loop", "worker": "work_sharing",
    "control": "control_instructions", "exchange": "exchange_instructions", "shards": "control_instructions",
    "steps": "instruction_loop",
}  # fmt: skip
"""The modules of all functions that are called from outside."""
PLANS = ("call", "hold_calls", "step", "worker")
"""Those that all plans need. The others are compiled with the first program that has a loop, or is run many times in a call."""


def source(name: str) -> str:
    """The source of the machine code of a function."""
    names = PLANS if name in PLANS else (name,)
    return "".join(f"from staticgrad.compiler.runtime.{MODULES[each]} import {each}\n" for each in names)


TEXT = source("step")


def address(name: str) -> int:
    """The address of a function of the runtime, once that is made."""
    found = code(Wanted(source(name), name), tiers())
    arrive([found])
    return found.address


def _function(name: str) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * OPERANDS[name])(address(name))


def _begin() -> None:
    """Where the kernel cache is empty, have workers start, and one of them make the runtime while plans are made."""
    if tiers() != NOW and not kernel_cache.at_hand(TEXT):
        pool().hire()
        code(Wanted(TEXT, "step"), SOON)


_begin()

if TYPE_CHECKING:

    def step(patches: int, count: int, objects: int, table: int, first: int, last: int, status: int, hold: int) -> int:
        """Bind arrays and run instructions; see `runtime/instruction_loop.py`."""

    def steps(*words: int) -> int:
        """steps(step, plan, table, width, ids, first, last, copies, count, random, draws, resume): many runs; see
        `runtime/instruction_loop.py`."""

    def hold_calls(hold: int) -> int:
        """Lock the number of BLAS's threads, until `hold[4]` is 0 again; see `runtime/instruction_loop.py`."""


def __getattr__(name: str) -> Callable[..., int]:
    """The functions that Python calls, on first use."""
    if name not in ("step", "steps", "hold_calls"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = _function(name)
    return function
