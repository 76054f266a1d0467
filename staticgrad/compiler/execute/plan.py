"""The plan: a stream of instructions that the native driver runs, over buffers that are laid out once.

A run puts the addresses of feeds and results into the instructions and starts the driver. The driver stops only where Python is
needed: at host calls, at pauses of long loops, at errors, and while other processes are awaited.

    [loss] = plan.run([x, y], store)  # arrays of the feeds, arrays by variable
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from ...base.communicators import DistError
from ...base.interpreter import rlock, uninterrupted
from ...base.types import OpenType, StackType, TupleType
from ...errors import ArgumentError, GraphError, IndexRangeError, OutOfMemoryError, StaticgradError
from ...ir import REGISTRY, Cell, Graph, Native, Node, View
from ...ops.random import generator
from ..backend import abi as t
from ..backend import kernel_cache
from ..backend.kernel_cache import arrive
from ..lower.instructions import PER_RUN, Buffer, Instruction, Memory
from ..lower.native_calls import free_stacks, lacks
from ..runtime import loader, plan_memory
from ..runtime.plan_memory import give_up_spare, room
from .fastcall import Block, Results, Spec, address, block, copied, fast_call

if TYPE_CHECKING:
    from pathlib import Path

    import networkx as nx

    from ..lower.instruction_builder import Builder
    from ..memory_budget import MemoryReport
    from .explain import Explanation, PlanDifference
    from .profile import Profile

Result = TypeVar("Result")

RELEASE_WORK = 1_000_000
"""Cost units (some 0.02 ns) from which a plan releases the GIL, which itself costs 0.1 us."""
TRIED_WORK = 8_000_000
"""Cost units of a shared instruction, in the mean, up to which a plan measures whether threads are of use. Where instructions
are longer a hand-over is less than 3 % of them, and trials would cost more."""
FEW = 4
"""Operations on small values that take no longer than a call of a plan."""
ATOMIC_COPY = 256
"""Elements up to which NumPy copies without releasing the GIL."""


def _child() -> None:
    """After a fork: plans that other threads ran are no longer in use."""
    for plan in list(plan_memory.plans.values()):
        if not plan.lock._is_owned():
            plan.busy[0] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_child)


@dataclass(repr=False)
class Plan:
    """Runs a program for one set of feed shapes. Made by `compile_plan`; one thread at a time runs it (`lock`)."""

    ir: Graph
    """The graph after the last pass."""
    instructions: list[Instruction]
    builder: Builder
    fetches: list[Buffer]
    assigns: list[tuple[Cell, Node]]
    """Variables and the values that they have after a run."""
    decisions: Sequence[Any]
    rewrites: list[tuple[str, str]]
    notes: list[str]
    feeds: list[Node]
    draws: int
    strict: bool
    """Host calls work on the arrays that eager mode would have."""
    passed: list[str]
    """Notes of the user's passes."""
    stages: Any
    """Gives the graph after any stage of the pipeline."""
    budget: MemoryReport | None = None
    """How the plan keeps to the budget of memory that was given, if any."""
    held: int = 0
    """Bytes of the arrays that host calls of a strict run keep at most, as predicted."""
    last_read: dict[Instruction, list[Node]] | None = None
    """For each host call of a strict run, the values that no later one reads; made by the first run."""
    times: dict[int, float] = field(default_factory=dict)
    """Microseconds of instructions, as the latest `profile` measured them."""
    lock: Any = field(default_factory=rlock)

    def __post_init__(self) -> None:
        self.feed_types = [node.type for node in self.feeds]
        """The types of the arrays that a run gets."""
        self.assemble()

    def open_results(self) -> list[tuple[int, Node]]:
        """Results with extents that the run decides, by number."""
        return [(i, node) for i, node in enumerate(self.builder.fetched_nodes) if isinstance(node.type, OpenType)]

    def assemble(self) -> None:
        """Make what a run needs of the instructions and their buffers."""
        b = self.builder
        self.table = np.array([instruction.words() for instruction in self.instructions], np.int64).reshape(-1, t.ROW)
        for instruction in self.instructions:
            if instruction.kind == "shards":
                instruction.size_array[0] = self.table.ctypes.data
        self.status = np.zeros(t.STATUS_WORDS, np.int64)
        b.bind_status(self.status)
        self.kept: dict[Node, np.ndarray] = {}
        """Values of host calls that have no buffer, and all values of a strict run."""
        self.open = self.open_results()
        self.as_they_lie = [(i, _same(node)) for i, node in enumerate(b.fetched_nodes)] if self.strict else []
        """The values of a strict run's results, which lie in memory as eager mode's do."""
        self.lying = {node for _, node in self.as_they_lie}
        if b.stream.stacks:
            weakref.finalize(self, free_stacks, list(b.stream.stacks.values()))
        self.patches = np.array(b.patches, np.int64).reshape(-1, 3)
        self.objects = np.zeros(len(self.feed_types) + len(b.outputs), np.int64)
        self.bound: dict[Cell, np.ndarray] = {}
        sources: Sequence[Any] = b.argument_sources
        self.arguments = [(source.owner, source.key) for source in sources]
        self.owners = list({id(source.owner): source.owner for source in sources}.values())
        self.known: list[tuple[Any, int]] | None = None if sources else []
        """The owners' counts of writes when their numbers were last read; None: they are read at every run."""
        self.drawn = 0
        """The position of the generator after numbers were last taken."""
        self.parallel = any(instruction.chunks > 1 for instruction in self.instructions)
        self._begin_to_learn([instruction for instruction in self.instructions if instruction.chunks > 1])
        self.blas = any(instruction.large_gemm for instruction in self.instructions)
        hold = loader.blas_hold() if self.blas else None
        self.hold = 0 if hold is None else hold.ctypes.data
        self.call = (
            self.patches.ctypes.data, len(self.patches) if t.FASTCALL else 0, self.objects.ctypes.data,
            self.table.ctypes.data, 0, len(self.instructions), self.status.ctypes.data, self.hold,
        )  # fmt: skip
        self.waits = any(i.code is not None and not i.code.address for i in self.instructions)
        """Some kernels are still being compiled; see `wait`."""
        if not self.waits:
            self._employ()
        self.ran = False
        """A run has completed, so there is memory for the plan."""
        self.reads_numbers = bool(self.arguments or self.draws)
        self.simple = not self.host_calls and not b.stream.exchanges
        self.results = Results(self.fetches)
        self.control = self._control()
        self.busy = memoryview(self.control.data)[t.BUSY : t.BUSY + 1]
        plan_memory.made(self)

    def _begin_to_learn(self, shared: Sequence[Instruction]) -> None:
        """Have runs measure which of these instructions are worth sharing."""
        if shared and sum(instruction.work for instruction in shared) < TRIED_WORK * len(shared):
            self.status[t.WAYS // 8] = 3 if len({instruction.large for instruction in shared}) > 1 else 2
            self.status[[t.REST // 8, t.INTERVAL // 8]] = t.OFTEN
            self.status[t.END // 8] = len(self.instructions)

    def _employ(self) -> None:
        """Have threads that take chunks. They run code of the runtime, which may be compiled beside the kernels."""
        if self.parallel:
            loader.ensure(self.builder.stream.threads)

    @cached_property
    def start(self) -> Any:
        """Takes the arrays of the feeds; runs a simple plan, only puts the arrays of others in place. Returns the results.
        None where `_started` does it."""
        specs = [Spec(None, ())] * len(self.feed_types)
        begins = self.builder.stream.exchanges and not self.host_calls
        return fast_call(self.control, specs, trusted=True) if t.FASTCALL and not begins else None

    def _control(self) -> Block:
        patches, _, objects, table, _, rows, status, hold = self.call
        results = self.results
        control = block(t.PLAN_BLOCK, self.patches, self.objects, self.table, self.status, results, self.builder)
        control[t.PATCHES], control[t.PATCHED], control[t.OBJECTS] = patches, len(self.patches), objects
        control[t.TABLE], control[t.ROWS], control[t.STATUS], control[t.HOLD] = table, rows, status, hold
        control[t.RUNS], control[t.FAILED] = not self.host_calls, -1
        begins = [i for i, each in enumerate(self.instructions) if each.control == t.START]
        control[t.EXCHANGES] = begins[0] if begins else len(self.instructions)
        loops = bool(self.builder.stream.loops)
        work = sum(instruction.work for instruction in self.native)
        control[t.RELEASES] = loops or bool(begins) or work >= RELEASE_WORK
        control[t.RESULTS], control[t.FETCHED] = address(results.block), len(self.fetches)
        return control

    @property
    def atomic(self) -> bool:
        """A fast call is atomic for other threads: nothing releases the GIL, and no result stays in the plan's memory."""
        small = all(view.size <= ATOMIC_COPY for _, view in self.results.copies)
        alone = self.simple and not self.control[t.RELEASES] and not self.reads_numbers
        return bool(alone and small and not self.results.late)

    @property
    def repeatable(self) -> bool:
        """Whether a run that has raised an error may be repeated: it has called none of the user's functions."""
        return not any(each.node is not None and each.node.op.stateful for each in self.instructions)

    @property
    def written(self) -> list[Cell]:
        """The variables that a run changes."""
        return [cell for cell, _ in self.assigns]

    @property
    def sparse(self) -> bool:
        """Whether an operation notes the rows that it writes."""
        return any(node.op.sparse for node in self.ir.nodes)

    @property
    def only_moves(self) -> bool:
        """Whether the large values are views or copies of operands, and there are few others: NumPy makes views in no time."""
        large = max((node.type.size for node in self.ir.nodes), default=0)

        def small(node: Node) -> bool:
            return 8 * max(n.type.size for n in (node, *node.inputs)) < large

        computed = [node for node in self.ir.nodes if not (node.op.leaf or isinstance(node.op.emit, View))]
        return len(computed) <= FEW and all(map(small, computed))

    def wait(self) -> None:
        """Wait for the workers that compile kernels, before the first run. Raises CompileError."""
        with self.lock:
            if self.waits:
                arrive(list(dict.fromkeys(i.code for i in self.instructions if i.code is not None)))
                for row, instruction in zip(self.table, self.instructions, strict=True):
                    if instruction.code is not None:
                        row[0] = instruction.address
                self._employ()
                self.waits = False

    # running --------------------------------------------------------------------------------------------------------

    def bind(self, store: MutableMapping[Cell, np.ndarray]) -> None:
        """Point the instructions at the variables' arrays."""
        bound, moved = self.bound, False
        for cell in self.builder.cells:
            array = store[cell]
            if bound.get(cell) is not array:
                self.builder.bind_state(cell, array)
                bound[cell] = array
                moved = True
        if moved:
            plan_memory.changed()
            if self.results.moving:
                self.results.point()

    def alone(self, work: Callable[..., Result], *args: Any) -> Result:
        """The result of `work`, while no other thread runs the plan. Raises GraphError in the middle of a run of this thread.

        It is no context manager: if a signal handler raised while one is entered, the traceback would keep the lock.
        """
        with self.lock:
            if self.busy[0]:
                raise GraphError(
                    "a run of this plan is under way, and can't begin anew within itself",
                    "the handler of a signal called it, which came during the run",
                    "let the handler take a note, and act on it when the run is over",
                )
            self.busy[0] += 1
            try:
                return work(*args)
            finally:
                self.busy[0] -= 1

    def run(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        """One run: arrays are of the planned shapes and dtypes, and C-contiguous but for strict runs. Returns a fresh array per
        fetch."""
        return self.alone(self._run, arrays, store)

    def run_watched(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        """`run`, which raises AnomalyError where a result or a variable is NaN afterwards; see `unjitted.py`."""
        from .unjitted import run_watched

        def work() -> list[np.ndarray]:
            self.bind(store)
            return run_watched(self, arrays)

        return self.alone(work)

    def _run(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        self.bind(store)
        return self.execute(arrays)

    def execute(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run on bound state. Returns the results. The caller holds the lock."""
        given: dict[Node, np.ndarray] = {}
        """The feeds of a strict run that don't lie in row-major order, as they lie."""
        if self.strict:
            given = {node: array for node, array in zip(self.feeds, arrays, strict=True) if not array.flags.c_contiguous}
            arrays = [copied(array) if node in given else array for node, array in zip(self.feeds, arrays, strict=True)]
        if self.reads_numbers:
            self.read_numbers()
        if self.builder.stream.exchanges:
            self.builder.stream.exchanges.ready()
        try:
            late = self._late(arrays)
            results = self._start(arrays)
            if results is None:
                self.fail(int(self.control[t.FAILED]))
            if not self.simple:
                self.finish([*arrays, *self.results.outputs(results)], given)
        except (StaticgradError, MemoryError) as error:
            self._failed(error)
            raise
        for i, value in late:
            results[i] = value
        if not self.simple:
            self._fill(results)
        self.ran = True
        return results

    def _fill(self, results: list[np.ndarray]) -> None:
        """Enter the results that no instruction writes, after `finish`."""
        self.results.fill(results)
        for i, node in self.open:
            found = self.kept[node]
            results[i] = found.copy() if any(found is other for other in results) else found
        for i, node in self.as_they_lie:
            found = self.kept.get(node, results[i])
            results[i] = results[i] if found.flags.c_contiguous else found.copy("K")
        self.kept.clear()

    def finished(self, arrays: Sequence[np.ndarray], results: list[np.ndarray]) -> bool:
        """Finish a fast call of a plan with host calls, whose arrays are in place. False, and nothing has happened, where an
        instruction reports an error, as the run that follows will."""
        try:
            self.finish([*arrays, *self.results.outputs(results)], {})
        except (StaticgradError, MemoryError):
            return False
        self._fill(results)
        return True

    def _settle(self) -> None:
        """Wait for the exchanges that a run which failed has begun: a later run would take them for its own."""
        for i, instruction in enumerate(self.instructions):
            if instruction.control in (t.WAIT, t.MATCH) and instruction.size_array[t.ACTIVE // 8]:
                self.run_one(i)

    def _late(self, arrays: Sequence[np.ndarray]) -> list[tuple[int, np.ndarray]]:
        """Copies of the results that are views of feeds, with their positions."""
        late = self.results.late
        copies = room(lambda: [copied(buffer.array(arrays)) for _, buffer in late], *self._no_memory()) if late else []
        return [(i, copy) for (i, _), copy in zip(late, copies, strict=True)]

    def _start(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """`start`; where there is no memory for the results, once more without spare arrays. Raises OutOfMemoryError."""
        for _ in range(2):
            self.control[t.FAILED] = -1
            try:
                return self._started(arrays) if self.start is None else self.start(*arrays)
            except MemoryError:
                if self.control[t.FAILED] != t.NO_ROOM:
                    raise
            give_up_spare()
        raise OutOfMemoryError(*self._no_memory())

    def _started(self, arrays: Sequence[np.ndarray]) -> Any:
        """`start` in Python."""
        try:
            results = self.results.made()
        except MemoryError:
            self.control[t.FAILED] = t.NO_ROOM
            raise
        self.place([*arrays, *self.results.outputs(results)])
        if not self.simple:
            return results
        *_, table, at, last, status, hold = self.call
        while (stopped := loader.step(0, 0, 0, table, at, last, status, hold)) >= 0:
            if not self.paused(stopped):
                self.control[t.FAILED] = stopped
                return None
            at = stopped
        self.results.fill(results)
        return results

    def place(self, arrays: Sequence[np.ndarray]) -> None:
        """Point the instructions at the arrays of a run."""
        if t.FASTCALL:
            self.objects[:] = [id(array) for array in arrays]
            loader.step(*self.call[:4], 0, 0, *self.call[6:])
            return
        addresses = [address(array) for array in arrays]
        for which, to, add in self.patches.tolist():
            ctypes.c_int64.from_address(to).value = addresses[which] + add

    def _no_memory(self) -> tuple[str, ...]:
        size = sum(buffer.nbytes for buffer in self.fetches)
        return (
            f"the results need {size:.1e} bytes, and there is no memory for that",
            "nothing was changed by this run",
            "use smaller batches, or ask for less",
        )

    def read_numbers(self) -> None:
        """Read the other inputs of a run: hyperparameters and random state."""
        self.read_hyperparameters()
        if self.draws:
            self.take_draws(1)

    def read_hyperparameters(self) -> None:
        if self.known is None:
            self._read_arguments()
        else:
            for owner, writes in self.known:
                if owner.writes != writes:
                    self._read_arguments()
                    break

    def take_draws(self, runs: int) -> None:
        """Reserve the random numbers of so many runs."""
        state = self.builder.generator_state
        state[:] = generator.take(self.draws * runs)
        self.drawn = int(state[1]) + self.draws * runs

    def give_back(self) -> None:
        """Return the random numbers of runs that failed: the next run draws them."""
        if self.draws:
            seed, first = self.builder.generator_state.tolist()
            with generator.lock:
                if (generator.seed_value, generator.draws) == (seed, self.drawn):
                    generator.draws = first

    def stage(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Point the instructions at these feeds and at new outputs, and run none of them. Returns the arrays to keep alive
        while instructions run."""
        outputs = [np.zeros(buffer.shape, buffer.dtype) for buffer in self.builder.outputs]
        kept = [*arrays, *outputs]
        self.place(kept)
        return kept

    def _read_arguments(self) -> None:
        """Read the hyperparameters. Plain dicts, and numbers that can change in place, are read at every run."""
        values = [owner[key] for owner, key in self.arguments]
        self.builder.argument_values[:] = values
        counted = all(hasattr(owner, "writes") for owner in self.owners)
        plain = all(isinstance(value, (int, float)) for value in values)
        self.known = [(owner, owner.writes) for owner in self.owners] if counted and plain else None

    def finish(self, arrays: Sequence[np.ndarray], given: dict[Node, np.ndarray]) -> None:
        """Run a plan with host calls or exchanges on the arrays in place, feeds and outputs. The driver stops at each host call
        and resumes after it, in the middle of a loop too. given: feeds that host calls read from other arrays."""
        self.kept = given  # what was there is of a run that failed
        self._follow(loader.step(*self.call), arrays)
        self.kept = {node: self.kept[node] for _, node in [*self.open, *self.as_they_lie] if node in self.kept}

    def go_on(self, results: Sequence[np.ndarray]) -> None:
        """Finish a fast call that stopped after exchanges had begun. results: those that it returned."""
        try:
            self._follow(int(self.control[t.FAILED]), ())
        except (StaticgradError, MemoryError) as error:
            self._failed(error)
            raise
        self.control[t.FAILED] = -1
        self.results.fill(results)

    def _failed(self, error: BaseException) -> None:
        """After an error: give back what was taken, and wait for what has begun."""
        self.give_back()
        self.kept = {}
        if not isinstance(error, DistError):
            self._settle()

    def _follow(self, stopped: int, arrays: Sequence[np.ndarray]) -> None:
        """Go on from the instruction at which the driver stopped, to the end."""
        *_, table, at, last, status, hold = self.call
        while stopped >= 0:
            at = stopped
            instruction = self.instructions[stopped]
            if self.paused(stopped):
                if instruction.control != t.REPEAT:
                    self.builder.stream.exchanges.of(instruction).check(instruction)
            else:
                if instruction.control >= t.START and self.builder.stream.exchanges.of(instruction).may_go_on(instruction):
                    stopped = loader.step(0, 0, 0, table, at + 1, last, status, hold)
                    continue
                if instruction.kind != "host":
                    self.fail(stopped)
                if instruction.target is not None:
                    uninterrupted(partial(self._finish_writing, at, arrays), handlers=False)
                    break
                self.call_host(instruction, arrays)
                at += 1
            stopped = loader.step(0, 0, 0, table, at, last, status, hold)

    def _finish_writing(self, at: int, arrays: Sequence[np.ndarray]) -> None:
        """The rest of a run whose host calls write variables between each other. Handlers of signals wait, for they
        would see some variables with new values, and others not. Only the lack of memory can end it."""
        _, _, _, table, _, last, status, hold = self.call
        try:
            while at < last:
                self.call_host(self.instructions[at], arrays)
                at = loader.step(0, 0, 0, table, at + 1, last, status, hold)
                if at < 0:
                    break
        except OutOfMemoryError as error:
            raise OutOfMemoryError(
                error.summary, *error.details, "some variables have new values already, because the plan has a memory budget",
                where=error.where,
            ) from None  # fmt: skip

    def run_one(self, number: int) -> None:
        """Run one native instruction on bound state."""
        while loader.step(0, 0, 0, self.call[3], number, number + 1, self.call[6], self.hold) >= 0:
            if not self.paused(number):
                self.fail(number)

    def paused(self, number: int) -> bool:
        """Whether the driver stopped at an instruction for a pause of a loop or while it waits: Python handles signals, and
        resumes there."""
        instruction = self.instructions[number]
        return instruction.control in (t.REPEAT, t.WAIT, t.MATCH) and instruction.size_array[t.PAUSED // 8] != 0

    def run_unjitted(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        """`run` with the generated kernels as plain Python, for debuggers and tests; other instructions run natively."""
        from .unjitted import run_plan

        return self.alone(run_plan, self, arrays, store)

    def call_host(self, instruction: Instruction, arrays: Sequence[np.ndarray]) -> None:
        """Run an op without native code: its NumPy meaning, on views of the plan's buffers."""
        node = instruction.node
        assert node is not None
        if instruction.target is not None:
            self._commit(instruction, node, arrays)
            return
        operands_of, kept = self.builder if instruction.operands is None else instruction.operands, self.kept
        given = map(_same, node.inputs) if self.strict else node.inputs
        operands = [kept[i] if i in kept else operands_of.array(i, arrays) for i in given]
        try:
            with np.errstate(all="ignore"):
                value = node.op.eval(*operands, **node.attrs)
        except StaticgradError as error:
            if isinstance(node.type, TupleType):  # a program of its own, whose errors have its lines
                raise
            raise type(error)(error.summary, *error.details, where=node.where) from None
        except MemoryError as error:
            raise OutOfMemoryError(
                f"{node.op.name}: there is no memory for a result of {node.type.nbytes:.1e} bytes", str(error), where=node.where
            ) from None
        if isinstance(node.type, (TupleType, StackType, OpenType)):  # several results, or a number of them that the run decides
            kept[node] = value
        else:
            if instruction.buffers[-1][0].kind != "held":
                operands_of.array(node, arrays)[...] = value
            if self.strict:
                kept[node] = np.asarray(value)
        if self.strict:
            self._let_go(instruction)

    def _commit(self, instruction: Instruction, node: Node, arrays: Sequence[np.ndarray]) -> None:
        """Copy a value into its variable. Arrays that are views of the variable keep its former elements."""
        assert instruction.target is not None
        variable, kept = instruction.target.array(arrays), self.kept
        value = kept[_same(node)]
        begin, end = variable.ctypes.data, variable.ctypes.data + variable.nbytes
        former: list[np.ndarray] = []

        def apart(array: Any) -> Any:
            if isinstance(array, (tuple, list)):
                return array.__class__(map(apart, array))
            if not begin <= array.ctypes.data < end:
                return array
            if not former:
                former.append(variable.copy())
            return np.ndarray(array.shape, array.dtype, former[0], array.ctypes.data - begin, array.strides)

        self._let_go(instruction)
        for key, array in kept.items():
            kept[key] = apart(array)
        variable[...] = value

    def _let_go(self, instruction: Instruction) -> None:
        """Release the values that no later host call reads."""
        if self.last_read is None:
            self.last_read, seen = {}, {node for _, node in self.open}
            for each in reversed(self.instructions):
                node = each.node
                if node is not None and each.kind == "host":
                    reads = ({_same(node)} if each.target is not None else {*map(_same, node.inputs), node}) - seen
                    self.last_read[each] = [*reads]
                    seen |= reads
        for node in self.last_read[instruction]:
            value = self.kept.pop(node, None)
            if node in self.lying and value is not None and not value.flags.c_contiguous:
                self.kept[node] = value

    def fail(self, number: int) -> NoReturn:
        """Raises the error that an instruction reported."""
        instruction = self.instructions[number]
        if instruction.control >= t.START:
            raise self.builder.stream.exchanges.of(instruction).error(instruction)
        if instruction.control:
            self._no_room(instruction)
        bad = int(self.status[1])
        self.status[0] = 0
        op = REGISTRY.get(instruction.name)
        if op is not None and isinstance(op.emit, Native) and op.emit.missed is not None:
            raise op.emit.missed(instruction.sizes, bad)
        node = instruction.node
        assert node is not None
        emit: Any = node.op.emit
        if emit.again is not None:
            raise emit.again(instruction.pointers.tolist(), instruction.sizes, bad)
        error = emit.check(node, bad)
        raise type(error)(error.summary, *error.details, "nothing was changed by this run", where=node.where)

    def stopped_at(self) -> Instruction | None:
        """The instruction that reported an error in the last fast call, which is told once."""
        number = int(self.control[t.FAILED])
        self.control[t.FAILED] = -1
        return self.instructions[number] if number >= 0 else None

    def _no_room(self, instruction: Instruction) -> NoReturn:
        """Raises the error of a loop whose stacks could not grow, or that would read more items than a stack has."""
        if (places := lacks(self.builder.stream.loops, [*self.builder.stream.stacks.values()], instruction)) is not None:
            raise ArgumentError(
                f"{instruction.name}: {places[0]} iterations, and a stack of {places[1]} places",
                "the number of iterations has to be that of the loop which made the stack",
                where=None if instruction.node is None else instruction.node.where,
            )
        stacks = [*self.builder.stream.stacks.values()]
        size = sum(int(place[1]) for place in stacks)
        free_stacks(stacks)
        node = instruction.node
        raise OutOfMemoryError(
            f"{instruction.name}: its stacks have {size / 1e6:,.1f} MB and need more, and there is no memory for that",
            "the run stopped in this loop; what it kept is given back",
            "keep less: fewer iterations, or scan with checkpoint_every where the length is known",
            where=None if node is None else node.where,
        )

    # inspection -----------------------------------------------------------------------------------------------------

    @property
    def memory(self) -> Memory:
        """Bytes of the arena of the plan's own buffers, and the most that are live in one instruction."""
        return self.builder.memory

    @property
    def footprint(self) -> int:
        """Bytes that runs take: the arena, variables, inputs and results. A process has those of code and libraries besides."""
        arrays = {id(array): array.nbytes for array in self.bound.values()}
        roots = {buffer.root for instruction in self.instructions for buffer, _ in instruction.buffers}
        return self.memory.arena + sum(arrays.values()) + sum(root.nbytes for root in roots if root.kind in PER_RUN)

    @property
    def kernels(self) -> int:
        """The number of distinct generated kernels."""
        return len(self.sources())

    @property
    def native(self) -> list[Instruction]:
        """The instructions that call native code."""
        return [each for each in self.instructions if each.kind not in ("host", "shards") and not each.control]

    @property
    def host_calls(self) -> int:
        """How many instructions call NumPy or SciPy in place of native code."""
        return sum(instruction.kind == "host" for instruction in self.instructions)

    @property
    def graph(self) -> nx.DiGraph[int]:
        """The instructions of this plan as a networkx DiGraph, with an edge where one reads a result of another or writes on
        in its memory.

        Nodes are the numbers of instructions. Their attributes: `name`, `kind`, `ops` (the names of the operations),
        `source` (the text of the kernel, or None), `bytes` (read and written), `cost` (additions, or 2 m n k for
        products), `microseconds` (as the latest `profile()` measured it, else None) and `where` (the user's line).
        """
        from .explain import graph_of_instructions

        return graph_of_instructions(self)

    def __repr__(self) -> str:
        hosts = f", {self.host_calls} host calls" if self.host_calls else ""
        return f"<Plan of {len(self.instructions)} instructions: {self.kernels} kernels{hosts}, {self.memory[0]:,d} bytes>"

    def __str__(self) -> str:
        """The plan in five lines; `explain()` has all details."""
        from .explain import overview

        return overview(self)

    def _repr_html_(self) -> str:
        from .explain import html_of

        return html_of(self)

    def explain(self, *, detail: bool = False, why_not: tuple[Any, Any] | None = None) -> Explanation:
        """What the plan does, and why: instructions, which edges are fused, with reasons, bytes and what could be changed,
        memory, rewrite rules, host calls. Printed, it is a page in which repeated structures are folded.

        detail: everything. why_not=(a, b): the answer for two operations, which may be given by the name of a value or op, a
        line ("model.py:12"), the number of an instruction, or a symbol. Raises ArgumentError for one that the plan lacks.
        """
        from .explain import explanation

        return explanation(self, detail=detail, why_not=why_not)

    def diff(self, other: Plan) -> PlanDifference:
        """What differs from another plan: figures, instructions, fusion, rewrite rules."""
        from .explain import difference

        return difference(self, other)

    def export(self, folder: str | os.PathLike[str], results: int | None = None) -> Path:
        """Write the plan, with the present values of its variables, as a Python package that needs NumPy and llvmlite only.

        `import step; step.load()(x)` runs it, as `python -m staticgrad run step/` does. The package serves arrays of this
        plan's shapes. An export that is there already is replaced. results: how many of the plan's results it has, the first
        ones. Raises ArgumentError for operations without native code and for loops, UninitializedError before the first run.
        """
        from .export import export

        return export(self, folder, results)

    def source(self, number: int | None = None) -> str:
        """The text of all generated kernels, or of one of them."""
        texts = list(self.sources().values())
        if number is not None and not -len(texts) <= number < len(texts):
            raise IndexRangeError(f"source: the plan has {len(texts)} generated kernels, numbered from 0, got {number}")
        return "\n\n".join(texts) if number is None else texts[number]

    def sources(self) -> dict[str, str]:
        """The generated kernels in the order of their first use: code without comments -> text."""
        texts: dict[str, str] = {}
        for instruction in self.instructions:
            if instruction.source:
                texts.setdefault(kernel_cache.without_comments(instruction.source), instruction.source)
        return texts

    def profile(self, repeats: int = 200) -> Profile:
        """The time, bytes and flops of each instruction, beside what this machine can do. The plan runs on random feeds
        meanwhile, and its variables keep their values."""
        from .profile import profile

        return profile(self, repeats)


def _same(node: Node) -> Node:
    """The value that a view is of, which in a strict plan has the view's layout."""
    while isinstance(node.op.emit, View) and not node.op.leaf:
        node = node.inputs[0]
    return node
