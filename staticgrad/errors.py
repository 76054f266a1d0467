"""Exceptions, and the user's file and line that each of them names.

Every error names the operation and the shapes, the user's line, and the next step. Where PyTorch or
TensorFlow 1 has a text that people search for, ours begins with the same words.
"""

from __future__ import annotations

import copy
import importlib
import linecache
import os
import stat
import sys
import threading
from types import CodeType, FrameType
from typing import Any, NamedTuple

PACKAGE_DIR = os.path.dirname(os.path.abspath(__file__)) + os.sep
INTERNAL = (PACKAGE_DIR, "<frozen importlib", "<frozen runpy", importlib.__file__, copy.__file__)
"""No lines of the user: the machinery of imports runs between one and a module loaded late, `copy` calls tensors back."""


LARGEST_SOURCE = 10_000_000
"""Bytes of a file of source lines."""


class Where(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int

    @property
    def short(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"

    @property
    def text(self) -> str:
        """The source of the line, stripped; empty when the file can't be read (a REPL, an exec'd string).

        A line may come from a file that somebody else wrote (`from_json`): devices, pipes and files too large to be
        source are not read.
        """
        if self.file not in linecache.cache and not _is_source(self.file):
            return ""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.short}   {self.text}".rstrip()


def _is_source(path: str) -> bool:
    """Whether this can be a file of source lines; one that is found on the path for imports, as `linecache` does, can."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return not os.path.isabs(path) and ".." not in path and "\0" not in path
    return stat.S_ISREG(found.st_mode) and found.st_size < LARGEST_SOURCE


class _Caller(threading.local):
    """`line`: the user's line for which a thread of ours works, which has no frames of the user."""

    line: Where | None = None


caller = _Caller()


internal: dict[str, bool] = {}
"""Whether a file belongs to this package, or to networkx, whose functions users call with our graphs: a program has few files,
and each line asks for all on its stack."""


def user_line() -> Where | None:
    """The innermost line outside this package, which is the one that the user wrote."""
    found = line_of(position_of(sys._getframe(1)))
    return caller.line if found is None else found


Position = tuple[CodeType | None, int]
"""A line as its code and the number of an instruction, which costs less than the line's number; `line_of` finds that."""


def user_position(depth: int) -> Position:
    """The user's line. depth: frames that are known to belong to this package, this function's included."""
    return position_of(sys._getframe(depth))


def position_of(frame: FrameType | None) -> Position:
    """The innermost line of the user's in a frame and those that called it."""
    while frame is not None:
        code = frame.f_code
        known = internal.get(code.co_filename)
        if not (is_internal(frame) if known is None else known):
            return code, frame.f_lasti
        frame = frame.f_back
    return None, 0


def is_internal(frame: FrameType) -> bool:
    """Whether a frame runs code of this package or of what stands between it and the user."""
    filename = frame.f_code.co_filename
    if filename not in internal:
        module = str(frame.f_globals.get("__name__"))
        internal[filename] = filename.startswith(INTERNAL) or module.partition(".")[0] == "networkx"
    return internal[filename]


def line_of(position: Position) -> Where | None:
    """The line of a position; None for one in this package."""
    code, instruction = position
    if code is None or code.co_filename.startswith(INTERNAL):
        return None
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return Where(code.co_filename, line)
    return Where(code.co_filename, code.co_firstlineno)


class StaticgradError(Exception):
    """Base of everything raised on purpose.

    `summary` is the first line; `details` are indented below it, the user's line first.
    """

    def __init__(self, summary: str, *details: str, where: Where | None = None):
        self.summary = summary
        self.details = details
        self.where = where if where is not None else user_line()
        super().__init__(summary)

    def __str__(self) -> str:
        lines = [self.summary]
        if self.where is not None:
            lines.append(f"  {self.where}")
        lines.extend(f"  {line}" for line in self.details)
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:  # details and where are not in args: pickling would drop them
        return _rebuild, (type(self), self.summary, self.details, self.where)


def _rebuild(cls: type[StaticgradError], summary: str, details: tuple[str, ...], where: Where | None) -> StaticgradError:
    return cls(summary, *details, where=where)


class ShapeError(StaticgradError, ValueError, RuntimeError):
    """Shapes don't fit the operation.

    broken:  sg.ones((3, 2)) @ sg.ones((3, 2))
    fixed:   sg.ones((3, 2)) @ sg.ones((3, 2)).T
    """


class UnknownExtentError(ShapeError):
    """An operation of a graph needs a shape, or an integer value, that is known only when the graph runs.

    broken:  x = sg.placeholder(sg.float32, [None, 3]); sg.split(x, 2)
    fixed:   x = sg.placeholder(sg.float32, [8, 3]);    sg.split(x, 2)
    """


class DTypeError(StaticgradError, TypeError, RuntimeError):
    """A dtype that the operation can't take.

    broken:  sg.tensor([1, 2], requires_grad=True)
    fixed:   sg.tensor([1.0, 2.0], requires_grad=True)
    """


class ArgumentError(StaticgradError, ValueError, RuntimeError):
    """An argument of an operation is wrong, for example an unknown option. PyTorch raises either class for these.

    broken:  x.sum(axis=(0, 0))
    fixed:   x.sum(axis=0)
    """


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a type that the operation can't take.

    broken:  nn.GRU(3, 5, bias=0)
    fixed:   nn.GRU(3, 5, bias=False)
    """


class AxisError(ArgumentError, IndexError):
    """An axis is out of range.

    broken:  x.sum(axis=2)   # x has 2 axes
    fixed:   x.sum(axis=1)
    """


class DataDependentError(ArgumentError):
    """An extent depends on values, and is asked for before they are there.

    broken:  sg.compile(lambda x: x.sum() / x[x > 0].shape[0], fullgraph=True)
    fixed:   sg.compile(lambda x: x.sum() / (x > 0).sum(), fullgraph=True)
    """


class DeviceError(StaticgradError, AssertionError, RuntimeError):
    """A device that there is not: tensors are in the CPU's memory, or on device meta.

    broken:  x.to("cuda")
    fixed:   x.to("cuda" if sg.cuda.is_available() else "cpu")
    """


class NoDataError(DeviceError, NotImplementedError):
    """A value is asked of a tensor on device meta, which has a shape and a dtype alone.

    broken:  sg.zeros(2, device="meta").sum().item()
    fixed:   sg.zeros(2).sum().item()
    """


class LinAlgError(StaticgradError, RuntimeError):
    """A matrix without the decomposition, inverse or solution that is asked for.

    broken:  sg.linalg.inv(sg.zeros(2, 2))
    fixed:   sg.linalg.pinv(sg.zeros(2, 2))
    """


class IndexRangeError(StaticgradError, IndexError, RuntimeError):
    """An index is out of range. PyTorch raises either class for these.

    broken:  F.cross_entropy(logits_of_10_classes, sg.tensor([10]))
    fixed:   F.cross_entropy(logits_of_10_classes, sg.tensor([9]))
    """


class DivisionError(StaticgradError, ZeroDivisionError, RuntimeError):
    """An integer is divided by 0, or its remainder by 0 is asked for; floats give inf and NaN instead.

    broken:  sg.tensor([1, 2]) // sg.tensor([1, 0])
    fixed:   sg.tensor([1, 2]) // sg.where(y == 0, 1, y)
    """


class GradientError(StaticgradError, RuntimeError):
    """Backward can't be run: no graph, a freed graph, an in-place change, a leaf changed in place.

    broken:  loss.backward(); loss.backward()
    fixed:   loss.backward(retain_graph=True); loss.backward()
    """


class AnomalyError(GradientError):
    """`detect_anomaly` saw a NaN in a gradient, or in the results of a compiled step.

    broken:  sg.sqrt(sg.tensor(0.0, requires_grad=True) * 0).backward()
    fixed:   keep the argument of sqrt away from 0, e.g. sg.sqrt(x + 1e-12)
    """


class GraphError(StaticgradError, ValueError):
    """A graph is built or used wrongly: nodes of two graphs, an unknown fetch, a malformed graph.

    broken:  sess.run(tensor_of_another_graph)
    fixed:   sg.Session(graph=tensor_of_another_graph.graph).run(tensor_of_another_graph)
    """


class FeedError(StaticgradError, ValueError):
    """A fed value is missing, or its shape or dtype does not fit the placeholder.

    broken:  sess.run(y)                 # y needs the placeholder x
    fixed:   sess.run(y, {x: value})
    """


class MissingFeedError(FeedError):
    """A placeholder that a run needs is not fed.

    broken:  sess.run(y)                 # y needs the placeholder x
    fixed:   sess.run(y, {x: value})
    """


class UninitializedError(StaticgradError, RuntimeError):
    """A variable is read before it has a value in this session.

    broken:  sess = sg.Session(); sess.run(w)
    fixed:   sess = sg.Session(); sess.run(sg.global_variables_initializer()); sess.run(w)
    """


class TraceError(StaticgradError, TypeError):
    """Python asked a traced tensor for a value that exists only when the compiled step runs.

    broken:  if loss > 1: scale = 2.0        # inside @sg.compile
    fixed:   scale = sg.where(loss > 1, 2.0, 1.0)
    """


class TransformError(StaticgradError, RuntimeError):
    """A function can't run under `vmap`, `grad` or another transform of `sg.func` as it is written.

    broken:  sg.vmap(lambda x: x if x.sum() > 0 else -x)(points)
    fixed:   sg.vmap(lambda x: sg.where(x.sum() > 0, x, -x))(points)
    """


class OutOfMemoryError(StaticgradError, MemoryError, RuntimeError):
    """Results, or values that a loop of unknown length keeps for its gradient, need more memory than there is.

    broken:  sg.while_loop(...)                          # a million iterations, with a gradient
    fixed:   sg.scan(..., checkpoint_every=1000)         # a known length, of which every 1000th carry is kept
    """


class VerifyError(StaticgradError, AssertionError):
    """A graph breaks the rules of the IR: a defect of a pass, never of the user's program."""


class UnsupportedError(StaticgradError, NotImplementedError):
    """A part of PyTorch's or TensorFlow's that this library lacks, used by a program that imports it by their names.

    broken:  from torch.fx import symbolic_trace; symbolic_trace(model)
    fixed:   sg.graph_of(model(x))
    """


class CompileError(StaticgradError, RuntimeError):
    """A kernel could not be compiled, or a thread of the pool could not be started."""
