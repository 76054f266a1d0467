"""The runtime, translated and compiled (or loaded from the kernel cache) when this module is imported. See `runtime/`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from ..backend import object_code
from ..backend.compile_pool import pool
from ..backend.machine_code import tiers
from . import batch_shards, control_instructions, fastcall_body, instruction_loop, run_loop, worker

ENTRIES = {
    "step": instruction_loop.step,
    "steps": run_loop.steps,
    "hold_calls": instruction_loop.hold_calls,
    "call": fastcall_body.call,
    "control": control_instructions.control,
    "shards": batch_shards.shards,
    "worker": worker.worker,
}


def _addresses() -> dict[str, int]:
    return object_code.made_or_kept("runtime", [Path(__file__)], _compiled, ENTRIES).addresses


def _compiled() -> bytes:
    if tiers():
        pool().hire()  # the kernel cache is empty: workers start while plans are made
    from ..backend.runtime_compiler import translated

    return object_code.compiled(translated(ENTRIES))


def _function(name: str) -> Callable[..., int]:
    operands = ENTRIES[name].__code__.co_argcount
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * operands)(address[name])


address = _addresses()
"""The addresses of the functions of the runtime."""

step = _function("step")
"""step(patches, count, objects, table, first, last, status, hold): bind arrays and run instructions;
see `runtime/instruction_loop.py`."""

steps = _function("steps")
"""steps(plan, table, width, ids, first, last, copies, count, random, draws, resume): many runs; see `runtime/run_loop.py`."""

hold_calls = _function("hold_calls")
"""hold_calls(hold): lock the number of BLAS's threads, until `hold[4]` is 0 again; see `runtime/instruction_loop.py`."""
