"""The plan: a table of rows that the native driver walks, over buffers that are laid out once."""

from __future__ import annotations

import threading
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ..errors import IndexRangeError, StaticgradError
from ..ir import Cell, Graph, Node
from ..ops.random import generator
from . import driver, jit, threads
from .builder import Builder
from .rows import Row, Slot
from .table import ROW


@dataclass
class Plan:
    """Runs a program for one set of feed shapes. Made by `compile_plan`; one thread at a time runs it (`lock`)."""

    graph: Graph
    rows: list[Row]
    builder: Builder
    fetches: list[Slot]
    written: list[Cell]
    decisions: list[Any]
    laws: list[tuple[str, str]]
    notes: list[str]
    feeds: list[Node]
    draws: int
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        b = self.builder
        self.table = np.array([row.entry() for row in self.rows], np.int64).reshape(-1, ROW)
        self.status = np.zeros(4, np.int64)
        b.bind_fixed("status", self.status)
        self.patches = np.array(b.feed_patches(), np.int64).reshape(-1, 3)
        self.objects = np.zeros(len(self.feeds), np.int64)
        self.ids = memoryview(self.objects.data)  # faster to write than the array
        self.bound: dict[Cell, np.ndarray] = {}
        sources = [node.attrs["source"] for node in b.argument_nodes]
        self.arguments = [(source.owner, source.key) for source in sources]
        self.owners = list({id(source.owner): source.owner for source in sources}.values())
        self.writes: list[int] | None = None
        """The owners' counts of writes when their numbers were last read; None to read them at every run."""
        self.parallel = any(row.chunks > 1 for row in self.rows)
        self.blas = any(row.large_gemm for row in self.rows)
        hold = threads.blas_hold() if self.blas else None
        self.hold = 0 if hold is None else hold.ctypes.data
        self.call = (
            self.patches.ctypes.data, len(self.patches), self.objects.ctypes.data, self.table.ctypes.data, 0,
            len(self.rows), self.status.ctypes.data, self.hold,
        )  # fmt: skip
        self.reads_numbers = bool(self.arguments or self.draws)
        self.simple = not self.host_calls
        fixed = all(slot.root.kind in ("arena", "fixed") for slot in self.fetches)
        self.views = [slot.array(()) for slot in self.fetches] if fixed else None
        """Where the results are, unless some lie in memory from outside."""

    # running --------------------------------------------------------------------------------------------------------

    def bind(self, store: MutableMapping[Cell, np.ndarray]) -> None:
        """Point the rows at the variables' buffers."""
        bound = self.bound
        for cell in self.builder.cells:
            array = store[cell]
            if bound.get(cell) is not array:
                self.builder.bind_state(cell, array)
                bound[cell] = array

    def run(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        """One run: arrays are C-contiguous, of the planned shapes and dtypes. Returns a fresh array per fetch."""
        with self.lock:
            self.bind(store)
            self.execute(arrays)
            return self.results(arrays)

    def execute(self, arrays: Sequence[np.ndarray]) -> None:
        """Run on bound state. The caller holds the lock."""
        self.place(arrays)
        self.launch(arrays)

    def place(self, arrays: Sequence[np.ndarray]) -> None:
        """Tell the driver which arrays to run on; the caller keeps them alive."""
        ids = self.ids
        for at, array in enumerate(arrays):
            ids[at] = id(array)

    def launch(self, arrays: Sequence[np.ndarray]) -> None:
        """Run on the arrays that are in place."""
        if self.reads_numbers:
            self.read_numbers()
        if self.simple:
            failed = driver.step(*self.call)
            if failed >= 0:
                self.fail(failed)
            return
        self._with_host(arrays)

    def read_numbers(self) -> None:
        """The other inputs of a run: hyper-parameters, random state."""
        if self.arguments and (self.writes is None or self.writes != [owner.writes for owner in self.owners]):
            self._read_arguments()
        if self.draws:
            self.builder.generator_state[:] = generator.take(self.draws)

    def bind_feeds(self, arrays: Sequence[np.ndarray]) -> None:
        """Point the rows at these arrays, which the caller keeps alive, and run none of them."""
        self.place(arrays)
        driver.step(*self.call[:4], 0, 0, *self.call[6:])

    def _read_arguments(self) -> None:
        """Fetch the hyper-parameters. Plain dicts, and numbers that can change in place, are read at every run."""
        values = [owner[key] for owner, key in self.arguments]
        self.builder.argument_values[:] = values
        counted = all(hasattr(owner, "writes") for owner in self.owners)
        plain = all(isinstance(value, (int, float)) for value in values)
        self.writes = [owner.writes for owner in self.owners] if counted and plain else None

    def _with_host(self, arrays: Sequence[np.ndarray]) -> None:
        """The driver stops at every host call, and goes on behind it: in the middle of a loop, where it stood."""
        patches, count, objects, table, at, last, status, hold = self.call
        while (stopped := driver.step(patches, count, objects, table, at, last, status, hold)) >= 0:
            row = self.rows[stopped]
            if row.kind != "host":
                self.fail(stopped)
            self._host(row, arrays)
            at, count = stopped + 1, 0  # arrays were bound at first

    def run_row(self, number: int) -> None:
        """One native row, on what is bound."""
        if driver.step(0, 0, 0, self.call[3], number, number + 1, self.call[6], self.hold) >= 0:
            self.fail(number)

    def run_unjitted(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        """`run` with the generated kernels as plain Python, for debuggers and tests; every other row runs natively."""
        from .python import pointers, run_unjitted, turned

        with self.lock:
            self.bind(store)
            self.read_numbers()
            self.bind_feeds(arrays)
            at, source = 0, ""
            while at < len(self.rows):
                row = self.rows[at]
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
            return self.results(arrays)

    def _host(self, row: Row, arrays: Sequence[np.ndarray]) -> None:
        """An op without native code: its NumPy meaning, on views of the plan's buffers."""
        node = row.node
        assert node is not None
        frame = self.builder if row.frame is None else row.frame
        operands = [frame.array(i, arrays) for i in node.inputs]
        try:
            with np.errstate(all="ignore"):
                value = node.op.eval(*operands, **node.attrs)
        except StaticgradError as error:
            raise type(error)(error.summary, *error.details, where=node.where) from None
        frame.array(node, arrays)[...] = value

    def fail(self, row: int) -> NoReturn:
        """Raises the error that a row reported."""
        _, index, extent, _ = self.status.tolist()
        self.status[0] = 0
        node = self.rows[row].node
        assert node is not None
        axis = node.attrs["axis"]
        raise IndexRangeError(
            f"index {index} is out of range for axis {axis} with extent {extent}",
            "nothing was changed by this run",
            where=node.where,
        )

    def results(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Fresh arrays of the fetches. The caller holds the lock."""
        if self.views is not None:
            return [view.copy() for view in self.views]
        return [slot.array(arrays).copy() for slot in self.fetches]

    # looking --------------------------------------------------------------------------------------------------------

    @property
    def kernels(self) -> int:
        """Distinct generated kernels."""
        return len(self.sources())

    @property
    def native(self) -> list[Row]:
        """The rows that call native code."""
        return [row for row in self.rows if row.kind != "host" and not row.turn]

    @property
    def host_calls(self) -> int:
        return sum(row.kind == "host" for row in self.rows)

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
                texts.setdefault(jit.without_comments(row.source), row.source)
        return texts

    def profile(self, repeats: int = 200) -> Any:
        from .explain import profile

        return profile(self, repeats)


