"""The short way of a call: what an entry does for the usual arguments, with everything looked up beforehand.

It does what `Entry.ready` and `run` do, for arrays that need no conversion and a state that is as it was; for anything else
it returns FALLBACK, and nothing has been done. The plan's gate looks at the arguments.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.backend.abi import HEADER
from ..compiler.execute.fast_path import direct
from ..compiler.execute.fastcall import Box
from ..eager.tensor import PublicTensor, Structure, Tensor, wrap

if TYPE_CHECKING:
    from .specialization import Specialization

FALLBACK: Any = object()


def fallback(args: tuple[Any, ...]) -> Any:
    """For entries that have no short way."""
    return FALLBACK


@cache
def tensors() -> Box:
    """How the driver makes tensors as `wrap` does."""
    sample = wrap(np.zeros(()))
    slots = [name for name in Tensor.__slots__ if not name.startswith("__") and name != "_data"]
    fields = [(_place(name), getattr(sample, name)) for name in slots]
    return Box(PublicTensor, _place("_data"), _place("_tracked"), False, fields)


def _place(slot: str) -> int:
    """Bytes from the start of a tensor to a slot: where an object is found that nothing else refers to."""
    tensor, mark = wrap(np.zeros(())), object()
    setattr(tensor, slot, mark)
    places = range(HEADER, Tensor.__basicsize__, 8)
    found = [at for at in places if ctypes.c_int64.from_address(id(tensor) + at).value == id(mark)]
    if len(found) != 1:
        raise ImportError("this Python keeps the slots of its objects elsewhere")
    return found[0]


def make_fast_call(entry: Specialization) -> Callable[[tuple[Any, ...]], Any]:
    """A function of the arguments of a call, for the memory that the entry is bound to now.

    Its text is that of the guards, and what the entry needs of the rest: nothing is called or looped over in vain.
    """
    plan, specs = entry.plan, entry.specs
    if specs is None:
        return fallback
    single, plain = entry.results.single, entry.results.single or entry.results.flat
    call = direct(
        plan, specs, apart=entry.ranges, excluded=entry.captured_ids, box=tensors(),
        container=None if single else tuple,
    )  # fmt: skip
    unmoved = entry.unmoved if entry.hooks or entry.entry_grads else None
    finish = entry.finish if entry.touched or entry.owners else None
    build = entry.results.build
    lines = [
        "if changes != Structure.changes: return FALLBACK",
        "try:",
        f" if not ({entry.reach.text}): return FALLBACK",
        "except Exception: return FALLBACK",
    ]
    if unmoved is not None:
        lines.append("if not unmoved(): return FALLBACK")
    if entry.homes:
        lines.append("if entry.reads != Structure.reads: return FALLBACK")
    lines += ["result = call(*args)", "if result is None: return FALLBACK"]
    if finish is not None:
        lines.append("finish()")
    if entry.effects:
        lines.append("entry.replay()")
    lines.append(f"return {'result' if plain else 'build(result, ())'}")
    function: Callable[[tuple[Any, ...]], Any] = entry.reach.function(
        "\n".join(lines), "args", changes=entry.changes, Structure=Structure, FALLBACK=FALLBACK, entry=entry, call=call,
        finish=finish, build=build, unmoved=unmoved,
    )  # fmt: skip
    return function
