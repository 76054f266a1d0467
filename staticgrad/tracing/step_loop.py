"""`step.loop(batches)`: many steps of a compiled function, in native calls where the trace allows it."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.types import shape_text
from ..compiler.backend import abi as t
from ..compiler.backend.abi import FASTCALL, HEADER
from ..compiler.execute import fastcall
from ..compiler.execute.fastcall import Box, address, block, fast_call, fast_path, numbered, places, told
from ..eager.grad_mode import INFERRED, INFERRING, modes
from ..eager.tensor import PublicTensor, Structure, Tensor, wrap
from ..errors import ArgumentError, StaticgradError
from ..ops.operators import as_array, frontends, state
from .arguments import inference
from .outputs import container, repeated, stacked
from .state_inputs import Structure as State
from .traced import Traced
from .traced_array import TracedArray

if TYPE_CHECKING:
    from .function import AnyCompiled
    from .specialization import Specialization
    from .tracer import Tracer


Feeds = tuple[np.ndarray, bool, Any]
"""(per step the addresses of its arrays, whether they are ids of ndarrays, what has to be kept alive)"""


def loop(function: AnyCompiled, batches: Any) -> Any:
    """See `CompiledFunction.loop`."""
    parts = batches if type(batches) is tuple else (batches,)
    if parts and all(isinstance(part, (np.ndarray, Tensor, Traced)) for part in parts):
        return _stacked(function, parts)
    if isinstance(batches, (str, bytes, dict)) or not isinstance(batches, Iterable):
        raise ArgumentError(
            f"loop: batches are arrays that are stacked, or an iterable of each step's arguments, got {type(batches).__name__}"
        )
    return _listed(function, batches)


# stacked arrays -----------------------------------------------------------------------------------------------------


def _stacked(function: AnyCompiled, parts: Sequence[Any]) -> Any:
    """Steps over the leading axis of the arrays; the results have one, too."""
    counts = {part.shape[0] if part.ndim else -1 for part in parts}
    if len(counts) != 1 or -1 in counts:
        raise ArgumentError(
            f"loop: stacked batches need one leading extent, got shapes {', '.join(shape_text(part.shape) for part in parts)}",
            "pass a list of batches where each is of its own shape",
        )
    (count,) = counts
    inside = frontends.tracing and state.tracer is not None  # another trace, which the steps become part of
    single = inside or any(isinstance(part, Tensor) and part._tracked for part in parts)
    arrays = [np.ascontiguousarray(as_array(part)) for part in parts] if not single else []
    done: dict[int, Any] = {}
    """Results of steps that ran together up to one that raised, by number."""

    def batch(number: int) -> list[Any]:
        return [part[number, ...] if count else np.zeros(part.shape[1:], part.dtype) for part in parts]

    def together(before: int) -> Any:
        found = None if single or before in done else function.run_steps(batch(before), partial(_rows, arrays, before), before)
        if found is None:
            return None
        specialization, values, number = found
        if before + number < count:
            done.update({before + k: specialization.built([wrap(x[k, ...]) for x in values], ()) for k in range(number)})
            return None
        results = specialization.results
        whole = [wrap(value) for value in values]
        specialization.marks.set(whole)
        rest = results.build(whole, ())
        return Rest(repeated(rest, number) if results.numbers else rest)

    def one(number: int) -> Any:
        if number in done:
            return done.pop(number)
        if not count:
            raise ArgumentError("loop: a stack of no batches", "pass a list of batches: its results are a list")
        args = batch(number)
        return _apart(function, args, _one(function, args, number))

    def joined(ones: list[Any], rest: Rest | None) -> Any:
        numbers = function.segmented is not None or (function.latest is not None and function.latest.results.numbers)
        return stacked(ones, None if rest is None else rest.value, numbers) if ones else rest.value  # type: ignore[union-attr]

    return fastcall.stacked(count, together, one, joined)


class Rest(NamedTuple):
    """The stacked results of steps that ran together."""

    value: Any


def _rows(arrays: Sequence[np.ndarray], done: int, specialization: Specialization) -> Feeds | None:
    if any(specialization.touches(array) for array in arrays):
        return None
    kept = [specialization.apart(array) for array in arrays]
    return np.stack([places(array)[done:] for array in kept], axis=1), False, kept


# batches one by one -------------------------------------------------------------------------------------------------


def _listed(function: AnyCompiled, batches: Iterable[Any]) -> list[Any]:
    def together(group: Sequence[tuple[Any, ...]], before: int) -> list[Any] | None:
        found = function.run_steps(group[0], partial(_probed, group), before)
        if found is None:
            return None
        specialization, values, count = found
        kinds = [spec.dtype is not None for spec in specialization.specs]
        given = [[*itertools.compress(args, kinds)] for args in group[:count]]
        return [specialization.built([wrap(value[k, ...]) for value in values], given[k]) for k in range(count)]

    prepare = _arguments if isinstance(batches, Sequence) else _kept
    return fastcall.listed(batches, prepare, together, partial(_one, function))


def _arguments(batch: Any) -> tuple[tuple[Any, ...], int]:
    """The arguments of a step, and their bytes."""
    args = batch if isinstance(batch, tuple) else (batch,)
    return args, sum(getattr(arg, "nbytes", 0) for arg in args)


def _kept(batch: Any) -> tuple[tuple[Any, ...], int]:
    """The same, of what an iterator made, which may write its next batch into the same arrays before this one is used."""
    args, size = _arguments(batch)
    return tuple([arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]), size


def _probed(group: Sequence[tuple[Any, ...]], specialization: Specialization) -> Feeds | None:
    """Of the batches, those at the start that fit the trace as they are; None for none."""
    if not t.FASTCALL:
        return None
    plan, specs = specialization.plan, specialization.specs
    assert specs is not None
    objects = np.zeros(max(len(plan.feed_types), 1), np.int64)
    nothing = block(t.PLAN_BLOCK)  # a plan without instructions: the call only checks its arguments
    nothing[t.OBJECTS] = address(objects)
    check_arguments = fast_call(
        nothing, specs, apart=specialization.ranges, excluded=specialization.captured_ids, box=tensors(), container=tuple
    )
    kinds = specialization.inference
    table = np.empty((len(group), len(plan.feed_types)), np.int64)
    count = 0
    for args in group:
        if check_arguments(*args) is None or (kinds is not None and [*map(inference, args)] != kinds):
            break
        table[count] = objects[: len(plan.feed_types)]
        count += 1
    return (table[:count], True, group) if count else None


def _one(function: AnyCompiled, args: Sequence[Any], step: int) -> Any:
    """One step by itself."""
    try:
        return function(*args)
    except StaticgradError as error:
        raise numbered(error, step) from None
    except Exception as error:
        error.add_note(told(step))
        raise


def _apart(function: AnyCompiled, args: Sequence[Any], result: Any) -> Any:
    """A step's result as it is then: with copies of views, whose memory later steps may change."""
    tracer = state.tracer if frontends.tracing else None
    if tracer is None:
        latest = function.latest
        if latest is None or not latest.results.views:
            return result
        own = {*map(id, args), *latest.captured_ids}
        return _copied(result, lambda x: x.clone() if isinstance(x, Tensor) and id(x) not in own else x)
    return _copied(result, partial(_own, tracer))


def _own(tracer: Tracer, x: Any) -> Any:
    if isinstance(x, TracedArray):
        return TracedArray(_own(tracer, x.tensor), x.scalar)
    return tracer.own(x) if isinstance(x, Traced) and x.is_view else x


def _copied(part: Any, copy: Callable[[Any], Any]) -> Any:
    """A result with copies of what it is made of."""
    found = container(part)
    return copy(part) if found is None else found.make(found.like, found.keys, [_copied(x, copy) for x in found.items])


# the fast path of a call: one generated function that checks the guards and runs the plan ----------------------------

# It is equivalent to `Specialization.ready` and `run` for arrays that need no conversion, while guarded state is unchanged. For
# anything else it returns FALLBACK, and nothing has been done. The plan's fast call checks the arguments.

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
    return Box(PublicTensor, Tensor._data, _place("_data"), _place("_tracked"), False, fields)


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
    unpacked = specialization.unpacked
    assert unpacked is not None
    if unpacked.checks:
        lines[0:0] = [f"if not ({' and '.join(unpacked.checks)}): return FALLBACK", f"args = [{', '.join(unpacked.places)}]"]
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
    return specialization.guards.function(
        "\n".join(lines), "args", changes=specialization.changes, Structure=Structure, FALLBACK=FALLBACK,
        specialization=specialization, call=call, finish=finish, build=build, unmoved=unmoved,
        INFERRED=INFERRED, INFERRING=INFERRING, inference=inference, modes=modes, tape=tape,
        flags=specialization.flags, state=state, arrays=None if numbers is None else numbers.arrays,
        **{kind.__name__: kind for kind in specialization.number_kinds}, **{f"moved{i}": x for i, x in enumerate(moved)},
        **unpacked.space,
    )  # fmt: skip
