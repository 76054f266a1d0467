"""The runtime, translated and compiled (or loaded from the kernel cache) once this module is imported. See `runtime/`."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...locks import rlock
from ..backend import disk_cache as disk
from ..backend import object_code
from ..backend.compile_pool import pool
from ..backend.machine_code import tiers

OPERANDS = {"step": 8, "steps": 11, "hold_calls": 1, "call": 3, "control": 2, "shards": 4, "worker": 1}
"""The functions of the runtime that others call, with the number of their operands."""

_lock = rlock()


@cache
def _addresses() -> dict[str, int]:
    return object_code.made_or_kept("runtime", [Path(__file__)], _compiled, OPERANDS).addresses


def entries() -> dict[str, Callable[..., Any]]:
    """The sources of these functions. They are imported where the runtime is compiled, as LLVM is."""
    from . import batch_shards, control_instructions, fastcall_body, instruction_loop, run_loop, worker

    return {
        "step": instruction_loop.step,
        "steps": run_loop.steps,
        "hold_calls": instruction_loop.hold_calls,
        "call": fastcall_body.call,
        "control": control_instructions.control,
        "shards": batch_shards.shards,
        "worker": worker.worker,
    }


def _compiled() -> bytes:
    from ..backend import code_generation
    from ..backend.runtime_compiler import translated

    return code_generation.compiled(translated(entries()))


def address(name: str) -> int:
    """The address of a function of the runtime, once that is made."""
    with _lock:
        return _addresses()[name]


def _function(name: str) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * OPERANDS[name])(address(name))


def _begin() -> None:
    """Where the kernel cache is empty, make the runtime while plans are made, and have workers start."""
    if tiers() and not disk.at_hand(object_code.file_of("runtime", [Path(__file__)])):
        pool().hire()
        with suppress(RuntimeError):  # no more threads: the first use makes it
            threading.Thread(target=address, args=["step"], name="staticgrad makes its runtime").start()


_begin()

if TYPE_CHECKING:

    def step(patches: int, count: int, objects: int, table: int, first: int, last: int, status: int, hold: int) -> int:
        """Bind arrays and run instructions; see `runtime/instruction_loop.py`."""

    def steps(*words: int) -> int:
        """steps(plan, table, width, ids, first, last, copies, count, random, draws, resume): many runs; see
        `runtime/run_loop.py`."""

    def hold_calls(hold: int) -> int:
        """Lock the number of BLAS's threads, until `hold[4]` is 0 again; see `runtime/instruction_loop.py`."""


def __getattr__(name: str) -> Callable[..., int]:
    """The functions that Python calls, on first use."""
    if name not in ("step", "steps", "hold_calls"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = _function(name)
    return function
