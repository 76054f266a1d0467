"""Fast calls: Python functions with a native body, which checks the arguments, runs a plan, and makes the results.

The body is `call` of `runtime/fastcall_body.py`.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.communicators import Agreed
from ..backend import abi as t
from ..backend.abi import FASTCALL

if TYPE_CHECKING:
    from .plan import Plan

METH_FASTCALL = 0x80
NEW_FROM_DESCR, COPY_INTO = 94, 50  # positions in NumPy's table of functions, which are part of its ABI
TP_NEW = 65  # Python's number of the slot, part of its stable ABI


class Spec(NamedTuple):
    """The condition on an argument: an array of this dtype and shape, or a tensor of one; without a dtype, the object `same`.
    bare: True for an array only, False for a tensor only."""

    dtype: np.dtype | None
    shape: tuple[int, ...]
    same: Any = None
    bare: bool | None = None


class Box(NamedTuple):
    """How tensors are made around arrays. array: the slot that has the array, at an offset; fields: (offset, object) of the
    others."""

    kind: type
    array: Any
    array_at: int
    flag_at: int
    plain: Any
    """The flag of tensors that can stand for their arrays."""
    fields: list[tuple[int, Any]]


class Block(np.ndarray):
    """Int64 words that hold addresses, and references to the objects at these addresses."""

    kept: tuple[Any, ...] = ()


def block(size: int, *kept: Any) -> Block:
    made = np.zeros(max(size, 1), np.int64).view(Block)
    made.kept = kept
    return made


def numbers(values: Iterable[int]) -> np.ndarray:
    """The values as int64[n]; n is at least 1."""
    found = np.array([*values], np.int64)
    return found if found.size else np.zeros(1, np.int64)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@cache
def api() -> np.ndarray:
    """The addresses of the functions and objects of Python and NumPy that `call` uses."""
    python = ctypes.pythonapi
    table = ctypes.cast(_capsule(np._core.multiarray._ARRAY_API), ctypes.POINTER(ctypes.c_void_p))  # type: ignore[attr-defined]
    found = {
        t.INCREF: _address(python.Py_IncRef),
        t.DECREF: _address(python.Py_DecRef),
        t.SAVE_THREAD: _address(python.PyEval_SaveThread),
        t.RESTORE_THREAD: _address(python.PyEval_RestoreThread),
        t.CHECK_SIGNALS: _address(python.PyErr_CheckSignals),
        t.CLEAR_ERROR: _address(python.PyErr_Clear),
        t.NONE: id(None),
        t.NDARRAY: id(np.ndarray),
        t.NEW_ARRAY: table[NEW_FROM_DESCR],
        t.COPY_INTO: table[COPY_INTO],
    }
    return numbers(found[i] for i in range(t.API_BLOCK))


def _address(function: Any) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found


def _capsule(capsule: Any) -> ctypes.c_void_p:
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    return ctypes.c_void_p(get(capsule, None))


@cache
def _containers() -> dict[type, tuple[int, int, int]]:
    """The addresses of the functions that make a container, set an item, and get an item."""
    python = ctypes.pythonapi
    return {
        list: (_address(python.PyList_New), _address(python.PyList_SetItem), _address(python.PyList_GetItem)),
        tuple: (_address(python.PyTuple_New), _address(python.PyTuple_SetItem), _address(python.PyTuple_GetItem)),
    }


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("meth", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


@cache
def _method() -> _Method:
    from ..runtime import loader  # makes the runtime

    return _Method(b"fast_call", loader.address("call"), METH_FASTCALL, None)


@cache
def _new() -> Any:
    """Python's constructor of builtin functions. ctypes makes a class for each prototype."""
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))


def fast_call(
    plan: Block, specs: Sequence[Spec], *, trusted: bool = False, apart: Sequence[tuple[int, int]] = (),
    excluded: Iterable[int] = (), box: Box | None = None, container: type | None = list,
) -> Any:  # fmt: skip
    """A function of `len(specs)` arguments that runs the plan of a control block. It returns None where it declines.

    trusted: the arguments are arrays that fit, and the caller holds the plan's lock. apart: ranges of memory (begin, end)
    that no argument may share. excluded: ids of tensors that may not be arguments. box: how to take and make tensors.
    container: list or tuple, for the results; None for a single boxed result.
    """
    spec_block = block(t.SPEC_BLOCK * len(specs))
    shapes = [numbers(spec.shape) for spec in specs]
    for i, (spec, shape) in enumerate(zip(specs, shapes, strict=True)):
        words = spec_block[t.SPEC_BLOCK * i : t.SPEC_BLOCK * (i + 1)]
        if spec.dtype is None:
            words[t.SAME] = id(spec.same)
        else:
            words[t.IN_DTYPE], words[t.IN_NDIM], words[t.IN_SHAPE] = id(spec.dtype), len(spec.shape), address(shape)
            words[t.IN_BYTES], words[t.BARE] = math.prod(spec.shape) * spec.dtype.itemsize, t.KINDS[spec.bare]
    places = _disjoint(apart)
    ranges = numbers([end for _, end in places] + [begin for begin, _ in places])
    ids = sorted(excluded)
    id_block = numbers(ids)
    made = block(t.FAST_CALL_BLOCK)
    functions, method = api(), _method()  # threads that ask at the same time get objects of their own
    made[t.PLAN], made[t.API], made[t.TRUSTED] = address(plan), address(functions), trusted
    made[t.TAKES], made[t.SPECS] = len(specs), address(spec_block)
    made[t.RANGES], made[t.RANGED] = address(ranges), len(places)
    made[t.EXCLUDED], made[t.EXCLUDES] = address(id_block), len(ids)
    boxed = () if box is None else _boxed(made, box)
    made.kept = plan, tuple(specs), spec_block, shapes, ranges, id_block, functions, method, *boxed
    if container is not None:
        made[t.MAKE], made[t.PUT], made[t.GET] = _containers()[container]
    return _new()(ctypes.addressof(method), made, None)


def _boxed(made: Block, box: Box) -> tuple[Any, ...]:
    """Fill in how tensors are made. Returns the objects to keep alive."""
    slot = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(("PyType_GetSlot", ctypes.pythonapi))
    fields = numbers(number for place, value in box.fields for number in (place, id(value)))
    nothing = ()
    made[t.BOX], made[t.BOX_ARRAY], made[t.BOX_FLAG] = id(box.kind), box.array_at, box.flag_at
    made[t.BOX_PLAIN], made[t.BOX_NEW], made[t.BOX_ARGS] = id(box.plain), slot(object, TP_NEW), id(nothing)
    made[t.BOX_FIELDS], made[t.BOX_FIELD] = address(fields), len(box.fields)
    return box, fields, nothing


def _disjoint(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of the ranges, as ascending ranges that don't overlap."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


# the fast path --------------------------------------------------------------------------------------------------------

# The fast path: from arguments to results in one native call, where plan and arguments allow it.


def declined(*args: Any) -> None:
    """The fast path of plans that have none."""


def fast_path(plan: Plan, specs: Sequence[Spec], **options: Any) -> Callable[..., Any]:
    """A function of arguments that fit `specs`, which runs the plan on the state that it is bound to.

    It returns None, and nothing has happened, for other arguments, when an instruction reports an error, and while the plan is
    in use. Once a plan has begun exchanges with other processes, errors are raised. options: those of `fast_call`.
    """
    exchanges, hosted = plan.builder.stream.exchanges, plan.host_calls > 0
    if not FASTCALL or plan.results.late or (hosted and (exchanges or plan.strict or not plan.repeatable)):
        return declined
    call: Callable[..., Any] = fast_call(plan.control, specs, **options)
    if hosted:
        call = _with_host_calls(plan, specs, call, **options)
    if not plan.reads_numbers and not exchanges:
        return call
    read_numbers, give_back, busy = plan.read_numbers, plan.give_back, plan.busy

    def run(*args: Any) -> Any:
        if busy[0]:  # the run in progress keeps its numbers
            return None
        read_numbers()
        results = call(*args)
        if results is None:
            give_back()
        return results

    if not exchanges:
        return run
    ready, boxed, single = exchanges.ready, "box" in options, options.get("container", list) is None
    failed, reads = memoryview(plan.control.data)[t.FAILED : t.FAILED + 1], plan.reads_numbers

    def exchange(*args: Any) -> Any:
        if busy[0]:
            return None
        ready()
        if reads:
            read_numbers()
        failed[0] = -1
        results = call(*args)
        if results is None:
            give_back()
        elif failed[0] >= 0:
            found = [results] if single else results
            try:
                plan.go_on([np.asarray(x) for x in found] if boxed else found)
            except Agreed:
                return None
        return results

    return exchange


def _with_host_calls(
    plan: Plan, specs: Sequence[Spec], call: Callable[..., Any], box: Box | None = None, container: type | None = list,
    **rest: Any,
) -> Callable[..., Any]:  # fmt: skip
    """`call`, which puts arrays in place and makes the results, and then the run. rest: options of `call` alone."""
    feeds, single, opened = [i for i, spec in enumerate(specs) if spec.dtype is not None], container is None, plan.open
    array_of, put = (None, None) if box is None else (box.array.__get__, box.array.__set__)

    def run(*args: Any) -> Any:
        if plan.busy[0]:
            return None
        whole = call(*args)
        if whole is None:
            return None
        made = [whole] if single else [*whole]
        results = made if array_of is None else [array_of(x) for x in made]
        arrays = [x if x.__class__ is np.ndarray or array_of is None else array_of(x) for x in map(args.__getitem__, feeds)]
        if not plan.alone(plan.finished, arrays, results):
            return None
        if put is None:
            return whole.__class__(results)
        for i, _ in opened:
            put(made[i], results[i])
        return whole

    return run
