"""A call of a plan with as little Python as possible: a function with a native body checks the arguments, runs the plan,
makes results.

The body is `call` of `runtime/instruction_loop.py`; this module prepares the blocks of words that it reads, one for each
argument and result. Large results are arrays that are used again when nothing refers to them any more."""

from __future__ import annotations

import ctypes
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ...base.communicators import Agreed
from ...errors import StaticgradError
from ...ir import collapse
from ..backend import abi as t
from ..backend import kernel_cache
from ..backend.abi import FASTCALL
from ..backend.kernel_cache import Code, Wanted, code, tiers
from ..lower.instructions import STRIDED, WORD, Buffer
from ..runtime import loader
from ..runtime.loader import get_num_threads
from ..runtime.plan_memory import disjoint, keepers, room

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
    places = disjoint(apart)
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


# the results of a plan: arrays of their own, or copies ----------------------------------------------------------------

LARGE = 1 << 16
"""Bytes from which new memory costs more than the search for an array that can be used again."""
SPARE = 3
"""Arrays that a plan keeps per large result: the one that the user holds, the one being written, one to swap."""


class Results:
    """The control blocks of a plan's results, and `late`: the results that Python fills in (views of feeds)."""

    def __init__(self, fetches: Sequence[Buffer]):
        self.fetches = fetches
        self.shapes = [numbers(buffer.shape) for buffer in fetches]
        self.pools: list[np.ndarray] = []
        self.block: Block = block(t.RESULT_BLOCK * len(fetches))
        self.late = [(i, buffer) for i, buffer in enumerate(fetches) if buffer.root.kind == "feed"]
        self.moving = any(buffer.root.kind == "state" for buffer in fetches)
        """Whether some are in the memory of variables, which may differ from run to run."""
        self.copies: list[tuple[int, np.ndarray]] = []
        for i, (buffer, shape) in enumerate(zip(fetches, self.shapes, strict=True)):
            if buffer.root.kind != "feed":
                self._made(self.words(i), buffer, shape)
            if buffer.root.kind == "output":
                self._direct(self.words(i), buffer)
        if not self.moving:
            self.point()
        self.block.kept = (self.shapes, self.pools)
        keepers.add(self)

    def words(self, i: int) -> np.ndarray:
        return self.block[t.RESULT_BLOCK * i : t.RESULT_BLOCK * (i + 1)]

    def _made(self, words: np.ndarray, buffer: Buffer, shape: np.ndarray) -> None:
        """A result with a new array in each run."""
        words[t.OUT_DTYPE], words[t.OUT_NDIM], words[t.OUT_SHAPE] = id(buffer.dtype), len(buffer.shape), address(shape)
        words[t.OUT_FLAGS] = np.empty([min(d, 2) for d in buffer.shape], buffer.dtype).flags.num

    def _direct(self, words: np.ndarray, buffer: Buffer) -> None:
        """A result that instructions write."""
        words[t.DIRECT] = buffer.root.index + 1
        if buffer.nbytes >= LARGE:
            pool = np.full(SPARE, None, object)
            self.pools.append(pool)
            words[t.POOL], words[t.POOLED] = address(pool), SPARE

    def share(self, pools: MutableMapping[tuple[tuple[int, ...], np.dtype], np.ndarray], spare: int) -> None:
        """Keep spare arrays of large results together with other plans: `spare` for each shape and dtype, in `pools`, and one
        more for each further result of them."""
        self.pools.clear()
        large = [
            (self.words(i), (buffer.shape, buffer.dtype)) for i, buffer in enumerate(self.fetches) if self.words(i)[t.POOL]
        ]
        count = Counter(key for _, key in large)
        for key, results in count.items():
            if key not in pools or len(pools[key]) < spare + results - 1:
                self.pools.append(np.full(spare + results - 1, None, object))
                pools[key] = self.pools[-1]
            else:
                self.pools.append(pools[key])
        for words, key in large:
            words[t.POOL], words[t.POOLED] = address(pools[key]), len(pools[key])

    def point(self) -> None:
        """Find the memory of the results that are copied."""
        self.copies = [
            (i, buffer.array(())) for i, buffer in enumerate(self.fetches) if buffer.root.kind not in ("output", "feed")
        ]
        for i, view in self.copies:
            self.words(i)[t.SOURCE] = id(view)

    def made(self) -> list[np.ndarray | None]:
        """New arrays for a run, None for those that Python fills in. Raises MemoryError."""
        return [None if buffer.root.kind == "feed" else np.empty(buffer.shape, buffer.dtype) for buffer in self.fetches]

    def fill(self, values: Sequence[np.ndarray | None]) -> None:
        """Copy the results that no instruction writes to their arrays."""
        for i, view in self.copies:
            array = values[i]
            assert array is not None
            np.copyto(array, view)

    def outputs(self, values: Sequence[np.ndarray | None]) -> list[np.ndarray]:
        """The results that instructions write."""
        found = (value for buffer, value in zip(self.fetches, values, strict=True) if buffer.root.kind == "output")
        return [value for value in found if value is not None]


# Copies of arrays that are not in row-major order, by the kernel that plans use (`kernels/strided_moves.py`).

SHARED = 1 << 16
"""Elements from which threads share a copy."""

_codes: dict[int, Code] = {}


def copied(array: np.ndarray) -> np.ndarray:
    """A row-major copy. Raises MemoryError."""
    kernel = _kernel(array)
    if not kernel:
        return np.array(array, order="C")
    out = np.empty(array.shape, array.dtype)
    size, word = array.itemsize, min(array.itemsize, WORD)
    places, to, source = array.shape, out.strides, array.strides
    if size > WORD:
        places, to, source = (*places, size // WORD), (*to, WORD), (*source, WORD)
    shape, *steps = collapse(places, [s // word for s in to], [s // word for s in source])
    sizes = np.array([len(shape), *shape, *steps[0], *steps[1]], np.int64)
    buffers = np.array([array.ctypes.data, out.ctypes.data], np.int64)
    threads = min(get_num_threads(), shape[0]) if array.size >= SHARED else 1
    loader.ensure(threads)
    row = (kernel, buffers.ctypes.data, sizes.ctypes.data, 0, shape[0], threads, 0, loader.pool_address)
    table, status = np.array(row, np.int64), np.zeros(t.STATUS_WORDS, np.int64)
    loader.step(0, 0, 0, table.ctypes.data, 0, 1, status.ctypes.data, 0)
    return out


def _kernel(array: np.ndarray) -> int:
    """The address of the kernel; 0 where NumPy copies the array: a small one, elements that are no numbers or lie at odd
    places, a kernel that is still being compiled."""
    word = min(array.itemsize, WORD)
    if array.size < STRIDED or array.flags.c_contiguous or array.dtype.kind not in "biufcV" or array.itemsize % word:
        return 0
    if not array.flags.aligned or any(s % word for s in array.strides):
        return 0
    found = _codes.get(word)
    if found is None:
        name = f"copy_i{8 * word}"
        found = _codes[word] = code(Wanted(kernel_cache.library_source("strided_moves", name), name), tiers(time.monotonic()))
    if not found.address and found.over:
        found.arrive()
    return found.address


# many runs: `listed` for batches one by one, `stacked` for batches along a first axis ---------------------------------

# Many runs are one native call where the caller's `together` can have `Steps` do them. Elsewhere `one` does each run by
# itself.

Batch = TypeVar("Batch")
AHEAD, BYTES = 256, 1 << 26
"""The number of batches, and bytes, that are taken from an iterable before they are run."""
SECONDS = 0.1
"""How long one native call may take, before Python handles signals."""
GROWTH = 16
"""The factor by which the number of runs in one call may grow: the first runs are slow, and not representative."""


def listed(
    batches: Iterable[Any],
    prepare: Callable[[Any], tuple[Batch, int]],
    together: Callable[[Sequence[Batch], int], list[Any] | None],
    one: Callable[[Batch, int], Any],
) -> list[Any]:
    """The results of one run per batch.

    prepare(batch): the batch to run, and its bytes. together(batches, before): the results of the first of these batches in
    one native call, or None; before: the number of runs that are over. one(batch, before): the result of a run by itself.
    """
    results: list[Any] = []
    for group in _groups(batches, prepare):
        at = 0
        while at < len(group):
            found = together(group[at:], len(results))
            if found is None:
                found = [one(group[at], len(results))]
            results += found
            at += len(found)
    return results


def stacked(
    count: int,
    together: Callable[[int], Any],
    one: Callable[[int], Any],
    joined: Callable[[list[Any], Any], Any],
) -> Any:
    """The joined results of `count` runs.

    together(before): the stacked results of all runs from number `before` on, in one native call, or None. one(before): the
    result of that run by itself. joined(ones, rest): the results of single runs and the stacked results, if any, as one.
    """
    ones: list[Any] = []
    rest = None
    while rest is None and len(ones) < max(count, 1):
        rest = together(len(ones))
        if rest is None:
            ones.append(one(len(ones)))
    return joined(ones, rest)


def _groups(batches: Iterable[Any], prepare: Callable[[Any], tuple[Batch, int]]) -> Iterator[list[Batch]]:
    """Prepared batches, some at a time. An exception of the iterable is raised when the batches before it are done."""
    source = iter(batches)
    failed: BaseException | None = None
    while failed is None:
        group: list[Batch] = []
        size = 0
        while len(group) < AHEAD and size < BYTES:
            try:
                batch, more = prepare(next(source))
            except BaseException as error:
                failed = error
                break
            group.append(batch)
            size += more
        if group:
            yield group
    if not isinstance(failed, StopIteration):
        raise failed


class Steps:
    """Many runs of a plan in native calls.

    feeds: int64 (count, feeds), the addresses of the arrays' memory, or with `ids` the ids of the ndarrays, which the caller
    keeps alive. done: the number of runs that are over. results: per fetch an array (count, *shape), valid for these runs.
    """

    def __init__(self, plan: Plan, feeds: np.ndarray, ids: bool):
        self.plan, self.count, self.done = plan, len(feeds), 0
        self.ids = feeds.shape[1] if ids else 0
        size = self.count * sum(buffer.nbytes for buffer in plan.fetches)
        self.results = room(
            lambda: [np.empty((self.count, *buffer.shape), buffer.dtype) for buffer in plan.fetches],
            f"the results of {self.count} steps need {size:.1e} bytes, and there is no memory for that",
            "no step was run; give fewer of them at once",
        )
        self.table = np.empty((self.count, feeds.shape[1] + len(plan.builder.outputs)), np.int64)
        self.table[:, : feeds.shape[1]] = feeds
        for buffer, whole in zip(plan.fetches, self.results, strict=True):
            if buffer.root.kind == "output":
                self.table[:, buffer.root.index] = places(whole)

    @staticmethod
    def suit(plan: Plan) -> bool:
        """Whether the driver can run this plan many times: all of it is native, and results are contiguous."""
        copied = all(view.flags.c_contiguous for _, view in plan.results.copies)
        return plan.simple and not plan.results.late and copied

    def run(self, before: int = 0) -> None:
        """Run all. The plan is bound, and no other thread runs it. Hyperparameters are read once, at the start.

        Raises the error of a run, with its number, counted from `before`. The runs before it are done, as after a
        KeyboardInterrupt.
        """
        plan, size = self.plan, 1
        plan.read_hyperparameters()
        copied = [(address(view), address(self.results[i]), view.nbytes) for i, view in plan.results.copies]
        copies = numbers(number for copy in copied for number in copy)
        while self.done < self.count:
            size = min(size, self.count - self.done)
            begin = time.perf_counter()
            self._chunk(size, copies, before)
            pace = SECONDS / max(time.perf_counter() - begin, 1e-6)
            size = max(1, int(size * min(pace, GROWTH)))

    def _chunk(self, size: int, copies: np.ndarray, before: int) -> None:
        """Do the next `size` runs."""
        from ..runtime import loader  # makes the runtime

        plan, last = self.plan, self.done + size
        plan.take_draws(size)
        state = address(plan.builder.generator_state)
        resume = 0
        while self.done < last:
            self.done = loader.steps(
                loader.address("step"), address(plan.control), address(self.table), self.table.shape[1], self.ids, self.done,
                last, address(copies), len(plan.results.copies), state, plan.draws, resume,
            )  # fmt: skip
            plan.ran = plan.ran or self.done > 0
            resume = int(plan.control[t.FAILED])
            if self.done < last and not plan.paused(resume):
                plan.give_back()
                try:
                    plan.fail(resume)
                except StaticgradError as error:
                    raise numbered(error, before + self.done) from None


def numbered(error: StaticgradError, step: int) -> StaticgradError:
    """The error of one run among many."""
    return type(error)(error.summary, told(step), *error.details, where=error.where)


def told(step: int) -> str:
    """The line that says which run raised an error."""
    return f"in step {step}, counted from 0: the steps before it are done"


def places(whole: np.ndarray) -> np.ndarray:
    """The address of each part of a C-contiguous array along its first axis."""
    return address(whole) + np.arange(len(whole)) * (whole.strides[0] if whole.size else 0)
