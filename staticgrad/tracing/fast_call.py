"""The fast path of a call: one generated function that checks the guards and runs the plan.

It is equivalent to `Specialization.ready` and `run` for arrays that need no conversion, while guarded state is unchanged. For
anything else it returns FALLBACK, and nothing has been done. The plan's fast call checks the arguments.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.backend.abi import FASTCALL, HEADER
from ..compiler.execute.fastcall import Box, fast_path
from ..eager.grad_mode import INFERRED, INFERRING, modes
from ..eager.tensor import PublicTensor, Structure, Tensor, wrap
from .arguments import inference
from .state_inputs import Structure as State

if TYPE_CHECKING:
    from .specialization import Specialization

FALLBACK: Any = object()


def fallback(args: tuple[Any, ...]) -> Any:
    """The fast path of specializations that have none."""
    return FALLBACK


@cache
def tensors() -> Box:
    """The layout of a tensor, from which the native driver makes tensors as `wrap` does."""
    sample = wrap(np.zeros(()))
    slots = [name for name in Tensor.__slots__ if not name.startswith("__") and name != "_data"]
    fields = [(_place(name), getattr(sample, name)) for name in slots]
    return Box(PublicTensor, _place("_data"), _place("_tracked"), False, fields)


def _place(slot: str) -> int:
    """Bytes from the start of a tensor to a slot. It is found by storing an object there that nothing else refers to."""
    tensor, mark = wrap(np.zeros(())), object()
    setattr(tensor, slot, mark)
    places = range(HEADER, Tensor.__basicsize__, 8)
    found = [at for at in places if ctypes.c_int64.from_address(id(tensor) + at).value == id(mark)]
    if len(found) != 1:
        raise ImportError("this Python keeps the slots of its objects elsewhere")
    return found[0]


def make_fast_call(specialization: Specialization) -> Callable[[tuple[Any, ...]], Any]:
    """A function of the arguments of a call, for the memory that the specialization is bound to now.

    Its source contains the guards, and only those of the other steps that this specialization needs.
    """
    plan, specs = specialization.plan, specialization.specs
    if specs is None or not FASTCALL:
        return fallback
    tape = specialization.tape
    single = specialization.results.single and not specialization.returns_more
    settles = specialization.settles
    plain = single or (specialization.results.flat and not (specialization.returns_more or settles or tape is not None))
    call = fast_path(
        plan, specs, apart=specialization.ranges, excluded=specialization.captured_ids, box=tensors(),
        container=None if single else tuple,
    )  # fmt: skip
    unmoved = specialization.unmoved if specialization.hooks or specialization.initial_grads else None
    finish = specialization.finish if specialization.counted or specialization.owners else None
    build = specialization.results.build
    moved = specialization.moved
    lines = [
        f"if {'specialization.' if moved else ''}changes != Structure.changes: return FALLBACK",
        "try:",
        f" if not ({specialization.guards.text}): return FALLBACK",
        "except Exception: return FALLBACK",
    ]
    numbers = specialization.number_feeds
    others = specs[: len(specs) - len(moved) - (0 if numbers is None else len(numbers.nodes))]
    state = others[-1].same if others else None
    if isinstance(state, State) and plan.reads_numbers:  # read before the call checks what else the state is
        lines.insert(0, "if not args or args[-1] is not state: return FALLBACK")
    if tape is not None and tape.recompute is not None:
        lines.append("if tape.wanted: return FALLBACK")
    if unmoved is not None:
        lines.append("if not unmoved(): return FALLBACK")
    if specialization.bindings:
        lines.append("if specialization.reads != Structure.reads: return FALLBACK")
    if specialization.rewritten:
        lines.append("if specialization.meets(args): return FALLBACK")
    if specialization.inferring:
        lines.append("if not modes.now.inference: return FALLBACK")
    if specialization.inference is not None:
        some = "" if any(specialization.inference) else "INFERRED and "
        lines.append(f"if {some}[*map(inference, args)] != specialization.inference: return FALLBACK")
    more = "".join(f", moved{i}._data" for i in range(len(moved)))
    if numbers is None:
        lines += [f"args = [*args{more}]"] if moved else []
        lines.append("result = call(*args)")
    else:  # a number's class is checked here, and the plan is fed arrays in its place
        places = specialization.number_places
        kinds = [
            f"args[{i}].__class__ is not {kind.__name__}" for i, kind in zip(places, specialization.number_kinds, strict=True)
        ]
        lines[0:0] = [f"if {' or '.join([f'len(args) != {len(others) + len(places)}', *kinds])}: return FALLBACK"]
        lines += [
            f"fed = arrays(({''.join(f'args[{i}], ' for i in places)}))",
            "if fed is None: return FALLBACK",
            f"args = [{''.join(f'args[{i}], ' for i in range(len(others) + len(places)) if i not in places)}*fed{more}]",
            "result = call(*args)",
        ]
    lines.append("if result is None: return FALLBACK")
    if finish is not None:
        lines.append("finish()")
    if (tape is not None or settles) and any(spec.dtype is None for spec in specs):
        lines.append(f"args = [{', '.join(f'args[{i}]' for i, spec in enumerate(specs) if spec.dtype is not None)}]")
    if moved:
        lines += ["result = [*result]", "specialization.rebind(result, args)"]
    if specialization.flags is not None:
        lines.append(f"flags.set({'[result]' if single else 'result'})")
    if specialization.marks.inside or not specialization.grad_mode:
        some = "" if specialization.marks.inside else "if INFERRING: "
        lines.append(f"{some}specialization.marks.set({'[result]' if single else 'result'})")
    if tape is not None:
        lines.append(f"result = tape.recorded({'[result]' if single else '[*result]'}, args){'[0]' if single else ''}")
    if settles:
        lines.append(f"{'(result,)' if single else 'result'} = specialization.settle([{'' if single else '*'}result], args)")
    if specialization.effects or specialization.formers:
        lines.append(f"specialization.replay({'[result]' if single else 'result'})")
    lines.append(f"return {'result' if plain else 'build(result, ())'}")
    function: Callable[[tuple[Any, ...]], Any] = specialization.guards.function(
        "\n".join(lines), "args", changes=specialization.changes, Structure=Structure, FALLBACK=FALLBACK,
        specialization=specialization, call=call, finish=finish, build=build, unmoved=unmoved,
        INFERRED=INFERRED, INFERRING=INFERRING, inference=inference, modes=modes, tape=tape,
        flags=specialization.flags, state=state, arrays=None if numbers is None else numbers.arrays,
        **{kind.__name__: kind for kind in specialization.number_kinds}, **{f"moved{i}": x for i, x in enumerate(moved)},
    )  # fmt: skip
    return function
