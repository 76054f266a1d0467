"""The plan: a table of rows that the native driver walks, over buffers that are laid out once."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from ...errors import ArgumentError, GraphError, OutOfMemoryError, StaticgradError
from ...ir import Cell, Graph, Node
from ...locks import rlock
from ...ops.random import generator
from ...types import StackType, TupleType
from ..backend import abi as t
from ..backend import kernel_cache
from ..lower.control_flow import free_stacks
from ..lower.instruction_builder import Builder
from ..lower.instructions import Buffer, Instruction
from ..lower.memory import Memory
from ..runtime import loader, threads
from ..runtime.allocation import give_up_spare, room
from .fastcall import Block, Spec, address, block, gate
from .outputs import Results

if TYPE_CHECKING:
    import networkx as nx

Result = TypeVar("Result")

LONG = 1_000_000
"""Cost units (some 0.02 ns) from which a plan lets other threads run meanwhile, which itself costs 0.1 us."""
SHORT = 20_000_000
"""Cost units up to which a plan tries whether threads are of use. In longer ones they don't meet often, and each try would
cost more than a pause of one of them."""
UNINTERRUPTED = 256
"""Elements up to which NumPy surely copies without letting other threads run."""

_plans: weakref.WeakValueDictionary[int, Plan] = weakref.WeakValueDictionary()


def _child() -> None:
    """After a fork: what other threads ran is not in use any more."""
    for plan in list(_plans.values()):
        if not plan.lock._is_owned():
            plan.busy[0] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_child)


@dataclass(repr=False)
class Plan:
    """Runs a program for one set of feed shapes. Made by `compile_plan`; one thread at a time runs it (`lock`)."""

    ir: Graph
    """The graph after the last pass."""
    rows: list[Instruction]
    builder: Builder
    fetches: list[Buffer]
    written: list[Cell]
    decisions: list[Any]
    laws: list[tuple[str, str]]
    notes: list[str]
    feeds: list[Node]
    draws: int
    strict: bool = False
    """Host calls work on the arrays that eager mode would have."""
    passed: list[str] = field(default_factory=list)
    """What the user's passes did."""
    stages: Any = None
    """Gives the graph after any stage of the pipeline."""
    times: dict[int, float] = field(default_factory=dict)
    """Microseconds of rows, as the latest `profile` measured them."""
    lock: Any = field(default_factory=rlock)

    def __post_init__(self) -> None:
        b = self.builder
        self.table = np.array([row.entry() for row in self.rows], np.int64).reshape(-1, t.ROW)
        for row in self.rows:
            if row.kind == "lanes":
                row.size_array[0] = self.table.ctypes.data
        self.status = np.zeros(t.STATUS_WORDS, np.int64)
        b.bind_fixed("status", self.status)
        self.kept: dict[Node, np.ndarray] = {}
        """Values of a strict run, as they are."""
        if b.homes:
            weakref.finalize(self, free_stacks, list(b.homes.values()))
        self.patches = np.array(b.patches, np.int64).reshape(-1, 3)
        self.objects = np.zeros(len(self.feeds) + len(b.outputs), np.int64)
        self.bound: dict[Cell, np.ndarray] = {}
        sources = [node.attrs["source"] for node in b.argument_nodes]
        self.arguments = [(source.owner, source.key) for source in sources]
        self.owners = list({id(source.owner): source.owner for source in sources}.values())
        self.known: list[tuple[Any, int]] | None = None if sources else []
        """The owners' counts of writes when their numbers were last read; None to read them at every run."""
        self.drawn = 0
        """Where the generator was left when numbers were last taken."""
        self.parallel = any(row.chunks > 1 for row in self.rows)
        short = not self.builder.loops and sum(row.work for row in self.rows) < SHORT
        self.status[t.SHARES // 8] = self.parallel and short
        self.blas = any(row.large_gemm for row in self.rows)
        hold = threads.blas_hold() if self.blas else None
        self.hold = 0 if hold is None else hold.ctypes.data
        self.call = (
            self.patches.ctypes.data, len(self.patches), self.objects.ctypes.data, self.table.ctypes.data, 0,
            len(self.rows), self.status.ctypes.data, self.hold,
        )  # fmt: skip
        self.ran = False
        """A run has come to its end: there is memory for the plan."""
        self.reads_numbers = bool(self.arguments or self.draws)
        self.simple = not self.host_calls
        self.results = Results(self.fetches)
        self.control = self._control()
        self.busy = memoryview(self.control.data)[t.BUSY : t.BUSY + 1]
        _plans[id(self)] = self
        self.start = gate(self.control, [Spec(None, ())] * len(self.feeds), trusted=True)
        """Takes the arrays of the feeds; runs a simple plan, only puts the arrays of others in place. Returns the results."""

    def _control(self) -> Block:
        patches, count, objects, table, _, rows, status, hold = self.call
        results = self.results
        control = block(t.PLAN_BLOCK, self.patches, self.objects, self.table, self.status, results, self.builder)
        control[t.PATCHES], control[t.PATCHED], control[t.OBJECTS] = patches, count, objects
        control[t.TABLE], control[t.ROWS], control[t.STATUS], control[t.HOLD] = table, rows, status, hold
        control[t.RUNS], control[t.FAILED] = self.simple, -1
        loops = bool(self.builder.loops)
        control[t.RELEASES] = loops or self.parallel or sum(row.work for row in self.native) >= LONG
        control[t.RESULTS], control[t.FETCHED] = address(results.block), len(self.fetches)
        return control

    @property
    def atomic(self) -> bool:
        """A gate's call is one action for other threads: nothing lets them run, and nothing is left in the plan's memory."""
        small = all(view.size <= UNINTERRUPTED for _, view in self.results.copies)
        alone = self.simple and not self.control[t.RELEASES] and not self.reads_numbers
        return bool(alone and small and not self.results.late)

    # running --------------------------------------------------------------------------------------------------------

    def bind(self, store: MutableMapping[Cell, np.ndarray]) -> None:
        """Point the rows at the variables' buffers."""
        bound, moved = self.bound, False
        for cell in self.builder.cells:
            array = store[cell]
            if bound.get(cell) is not array:
                self.builder.bind_state(cell, array)
                bound[cell] = array
                moved = True
        if moved and self.results.moving:
            self.results.point()

    def alone(self, work: Callable[..., Result], *args: Any) -> Result:
        """What `work` returns; nobody else runs the plan meanwhile. Raises GraphError in the middle of a run of this thread.

        No context manager: a signal's handler that raises on the way into one leaves the lock to its traceback.
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
        """One run: arrays are C-contiguous, of the planned shapes and dtypes. Returns a fresh array per fetch."""
        return self.alone(self._run, arrays, store)

    def _run(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        self.bind(store)
        return self.execute(arrays)

    def execute(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run on bound state; the results. The caller holds the lock."""
        if self.reads_numbers:
            self.read_numbers()
        try:
            late = self._late(arrays)
            results = self._start(arrays)
            if results is None:
                self.fail(int(self.control[t.FAILED]))
            if not self.simple:
                self.finish([*arrays, *self.results.outputs(results)])
        except (StaticgradError, MemoryError):
            self.give_back()
            raise
        if not self.simple:
            self.results.fill(results)
        for i, value in late:
            results[i] = value
        self.ran = True
        return results

    def _late(self, arrays: Sequence[np.ndarray]) -> list[tuple[int, np.ndarray]]:
        """Copies of the results that are views of feeds, with their positions."""
        late = self.results.late
        copies = room(lambda: [slot.array(arrays).copy() for _, slot in late], *self._no_memory()) if late else []
        return [(i, copy) for (i, _), copy in zip(late, copies, strict=True)]

    def _start(self, arrays: Sequence[np.ndarray]) -> Any:
        """`start`, once more without spare arrays where there is no memory for the results. Raises OutOfMemoryError."""
        for _ in range(2):
            self.control[t.FAILED] = -1
            try:
                return self.start(*arrays)
            except MemoryError:
                if self.control[t.FAILED] != t.NO_ROOM:
                    raise
            give_up_spare()
        raise OutOfMemoryError(*self._no_memory())

    def _no_memory(self) -> tuple[str, ...]:
        size = sum(slot.nbytes for slot in self.fetches)
        return (
            f"the results need {size:.1e} bytes, and there is no memory for that",
            "nothing was changed by this run",
            "use smaller batches, or ask for less",
        )

    def read_numbers(self) -> None:
        """The other inputs of a run: hyper-parameters, random state."""
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
        """Random numbers for so many runs."""
        state = self.builder.generator_state
        state[:] = generator.take(self.draws * runs)
        self.drawn = int(state[1]) + self.draws * runs

    def give_back(self) -> None:
        """The random numbers that runs were to take and did not are drawn by the next one."""
        if self.draws:
            seed, first = self.builder.generator_state.tolist()
            with generator.lock:
                if (generator.seed_value, generator.draws) == (seed, self.drawn):
                    generator.draws = first

    def stage(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Point the rows at these feeds and at new outputs, and run none of them. What it returns has to be kept alive
        while rows run."""
        outputs = [np.zeros(slot.shape, slot.dtype) for slot in self.builder.outputs]
        kept = [*arrays, *outputs]
        self.objects[:] = [id(array) for array in kept]
        loader.step(*self.call[:4], 0, 0, *self.call[6:])
        return kept

    def _read_arguments(self) -> None:
        """Fetch the hyper-parameters. Plain dicts, and numbers that can change in place, are read at every run."""
        values = [owner[key] for owner, key in self.arguments]
        self.builder.argument_values[:] = values
        counted = all(hasattr(owner, "writes") for owner in self.owners)
        plain = all(isinstance(value, (int, float)) for value in values)
        self.known = [(owner, owner.writes) for owner in self.owners] if counted and plain else None

    def finish(self, arrays: Sequence[np.ndarray]) -> None:
        """Run a plan with host calls on the arrays that are in place, feeds and outputs. The driver stops at every host
        call, and goes on behind it: in the middle of a loop, where it stood."""
        self.kept.clear()  # of a run that failed
        patches, count, objects, table, at, last, status, hold = self.call
        while (stopped := loader.step(patches, count, objects, table, at, last, status, hold)) >= 0:
            count = 0  # arrays were bound at first
            at = stopped
            if self.paused(stopped):
                continue
            row = self.rows[stopped]
            if row.kind != "host":
                self.fail(stopped)
            self._host(row, arrays)
            at += 1
        self.kept.clear()

    def run_row(self, number: int) -> None:
        """One native row, on what is bound."""
        while loader.step(0, 0, 0, self.call[3], number, number + 1, self.call[6], self.hold) >= 0:
            if not self.paused(number):
                self.fail(number)

    def paused(self, number: int) -> bool:
        """Whether the driver stopped at a row because its loop takes long: Python looks at its signals, and goes on there."""
        row = self.rows[number]
        return row.turn == t.REPEAT and row.size_array[t.PAUSED // 8] != 0

    def run_unjitted(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        """`run` with the generated kernels as plain Python, for debuggers and tests; every other row runs natively."""
        return self.alone(self._run_unjitted, arrays, store)

    def _run_unjitted(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        from .unjitted import pointers, run_unjitted, turned

        self.bind(store)
        self.read_numbers()
        arrays = self.stage(arrays)
        at, source = 0, ""
        while at < len(self.rows):
            row = self.rows[at]
            if row.kind == "lanes":  # one after the other: they lie behind the row that goes around them
                at += 2
                continue
            if row.turn:
                at = turned(row, at)
                continue
            if row.kind == "host":
                self._host(row, arrays)
            elif row.kind in ("kernel", "fold"):
                source = row.source if row.source else source  # a fold closes the kernel before it
                run_unjitted(source, "kernel", pointers(row.buffers, arrays), row.sizes, row.start, row.stop)
            else:
                self.run_row(at)
            at += 1
        return [slot.array(arrays).copy() for slot in self.fetches]

    def _host(self, row: Instruction, arrays: Sequence[np.ndarray]) -> None:
        """An op without native code: its NumPy meaning, on views of the plan's buffers."""
        node = row.node
        assert node is not None
        frame, kept = self.builder if row.frame is None else row.frame, self.kept
        operands = [kept[i] if i in kept else frame.array(i, arrays) for i in node.inputs]
        try:
            with np.errstate(all="ignore"):
                value = node.op.eval(*operands, **node.attrs)
        except StaticgradError as error:
            raise type(error)(error.summary, *error.details, where=node.where) from None
        except MemoryError as error:
            raise OutOfMemoryError(
                f"{node.op.name}: there is no memory for a result of {node.type.nbytes:.1e} bytes", str(error), where=node.where
            ) from None
        if isinstance(node.type, (TupleType, StackType)):  # several results, or of a number that the run decides
            kept[node] = value
            return
        frame.array(node, arrays)[...] = value
        if self.strict:
            kept[node] = np.asarray(value)

    def fail(self, row: int) -> NoReturn:
        """Raises the error that a row reported."""
        if self.rows[row].turn:
            self._no_room(self.rows[row])
        number = int(self.status[1])
        self.status[0] = 0
        node = self.rows[row].node
        assert node is not None
        error = node.op.emit.check(node, number)  # type: ignore[union-attr,misc]
        raise type(error)(error.summary, *error.details, "nothing was changed by this run", where=node.where)

    def _no_room(self, row: Instruction) -> NoReturn:
        """A loop could not let its stacks grow, or shall read more places of a stack than another one filled."""
        if (places := self.builder.lacks(row)) is not None:
            raise ArgumentError(
                f"{row.name}: {places[0]} iterations, and a stack of {places[1]} places",
                "the number of iterations has to be that of the loop which made the stack",
                where=None if row.node is None else row.node.where,
            )
        stacks = [*self.builder.homes.values()]
        size = sum(int(home[1]) for home in stacks)
        free_stacks(stacks)
        node = row.node
        raise OutOfMemoryError(
            f"{row.name}: its stacks have {size / 1e6:,.1f} MB and need more, and there is no memory for that",
            "the run stopped in this loop; what it kept is given back",
            "keep less: fewer iterations, or scan with checkpoint_every where the length is known",
            where=None if node is None else node.where,
        )

    # looking --------------------------------------------------------------------------------------------------------

    @property
    def memory(self) -> Memory:
        """The plan's own buffers: bytes of the arena, and the most that are alive in one row."""
        return self.builder.memory

    @property
    def kernels(self) -> int:
        """Distinct generated kernels."""
        return len(self.sources())

    @property
    def native(self) -> list[Instruction]:
        """The rows that call native code."""
        return [row for row in self.rows if row.kind not in ("host", "lanes") and not row.turn]

    @property
    def host_calls(self) -> int:
        return sum(row.kind == "host" for row in self.rows)

    @property
    def graph(self) -> nx.DiGraph[int]:
        """The rows of this plan as a networkx DiGraph: an edge where one needs what another computes.

        Nodes are the numbers of rows in their order. Their attributes: `name`, `kind`, `ops` (the names of the operations),
        `source` (the text of the kernel, or None), `bytes` (of the distinct buffers that it touches), `cost` (additions, or
        2 m n k for products), `microseconds` (as the latest `profile()` measured it, else None) and `where` (the user's line).
        """
        from .explain import graph_of_rows

        return graph_of_rows(self)
    def __repr__(self) -> str:
        hosts = f", {self.host_calls} host calls" if self.host_calls else ""
        return f"<Plan of {len(self.rows)} rows: {self.kernels} kernels{hosts}, {self.memory[0]:,d} bytes>"

    def __str__(self) -> str:
        """The plan in five lines; `explain()` has all of it."""
        from .explain import overview

        return overview(self)

    def explain(self) -> str:
        from .explain import explain

        return explain(self)

    def source(self, number: int | None = None) -> str:
        """The text of the generated kernels, or of one of them."""
        texts = list(self.sources().values())
        return "\n\n".join(texts) if number is None else texts[number]

    def sources(self) -> dict[str, str]:
        """The generated kernels: code without comments -> text, in the order of their first use."""
        texts: dict[str, str] = {}
        for row in self.rows:
            if row.source:
                texts.setdefault(kernel_cache.without_comments(row.source), row.source)
        return texts

    def profile(self, repeats: int = 200) -> Any:
        from .explain import profile

        return profile(self, repeats)


