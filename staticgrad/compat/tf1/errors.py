"""`tf.errors`: TensorFlow's classes, which are this library's errors too, with its texts, lines and remedies."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .core import ours

OK = 0
(
    CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED,
    FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED,
) = range(1, 17)  # fmt: skip


_BY_CODE: dict[int, type[OpError]] = {}


class OpError(ours.StaticgradError):
    """Base of the errors of a run. Takes TensorFlow's arguments, (node_def, op, message), too."""

    error_code = 2
    node_def: Any = None
    op: Any = None

    def __init__(self, summary: Any, *details: Any, where: ours.Where | None = None, message: str | None = None):
        if not isinstance(summary, str):
            self.node_def, self.op = summary, details[0] if details else None
            details = details[1:2] if message is None else (message,)
            summary, details = (str(details[0]) if details else ""), ()
        super().__init__(summary, *details, where=where)

    def __init_subclass__(cls, code: int = 0, **options: Any):
        super().__init_subclass__(**options)
        if code:
            cls.error_code = code
            _BY_CODE[code] = cls

    @property
    def message(self) -> str:
        return self.summary if self.node_def is None and not self.details else str(self)


def _error(name: str, code: int, doc: str, *bases: type) -> type[OpError]:
    """The class of a code. bases: the library's own errors that are of this kind, too."""
    made: Any = type(name, (OpError, *bases), {"__doc__": doc, "__module__": __name__}, code=code)
    return made


CancelledError = _error("CancelledError", 1, "An operation was cancelled, as those of a queue that is closed.")
UnknownError = _error("UnknownError", 2, "A Python function raised an exception.")
InvalidArgumentError = _error("InvalidArgumentError", 3, "An operation got values that it can't take.", ours.ArgumentError)
DeadlineExceededError = _error("DeadlineExceededError", 4, "An operation took too long.")
NotFoundError = _error("NotFoundError", 5, "A file, or a variable of a checkpoint, does not exist.")
AlreadyExistsError = _error("AlreadyExistsError", 6, "A file exists already.")
PermissionDeniedError = _error("PermissionDeniedError", 7, "A file may not be read or written.")
ResourceExhaustedError = _error("ResourceExhaustedError", 8, "Memory ran out.", ours.OutOfMemoryError)
FailedPreconditionError = _error("FailedPreconditionError", 9, "A variable has no value yet.", ours.UninitializedError)
AbortedError = _error("AbortedError", 10, "Never raised here.")
OutOfRangeError = _error("OutOfRangeError", 11, "An iterator or a queue has no more items.")
UnimplementedError = _error("UnimplementedError", 12, "A Python function raised NotImplementedError.")
InternalError = _error("InternalError", 13, "Never raised here.")
UnavailableError = _error("UnavailableError", 14, "Never raised here.")
DataLossError = _error("DataLossError", 15, "A file is damaged.")
UnauthenticatedError = _error("UnauthenticatedError", 16, "Never raised here.")


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class of a code. Raises KeyError."""
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int | None:
    """The code of a class; None, with a warning, for another class."""
    if cls in _BY_CODE.values():
        return cls.error_code
    warnings.warn(f"Unknown class exception {cls}", stacklevel=2)
    return None


@contextmanager
def raise_exception_on_not_ok_status() -> Iterator[None]:
    """Accepted: errors are exceptions already."""
    yield


class FeedValueError(ours.FeedError, ValueError):
    """A fed value does not fit its tensor: a ValueError, as in TensorFlow 1."""


class OutOfBoundsError(ours.IndexRangeError, ValueError):
    """An index that is out of range when the graph is built: a ValueError, as in TensorFlow 1."""


class FeedTypeError(ours.FeedError, TypeError):
    """A fed object or feed key is of no use: a TypeError, as in TensorFlow 1."""


RUN = (
    (ours.UninitializedError, FailedPreconditionError), (ours.OutOfMemoryError, ResourceExhaustedError),
    (ours.MissingFeedError, InvalidArgumentError), (ours.FeedError, FeedValueError),
    (ours.ArgumentError, InvalidArgumentError), (ours.ShapeError, InvalidArgumentError),
    (ours.IndexRangeError, InvalidArgumentError), (ours.DivisionError, InvalidArgumentError),
)  # fmt: skip
"""This library's errors of a run and TensorFlow's classes for them."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise the errors of a run as TensorFlow's classes."""
    try:
        yield
    except ours.StaticgradError as error:
        raise as_tensorflow(error) from error.__cause__


def as_tensorflow(error: ours.StaticgradError) -> ours.StaticgradError:
    """The same error in TensorFlow's class."""
    if isinstance(error, (OpError, FeedValueError, FeedTypeError)):
        return error
    for known, cls in RUN:
        if isinstance(error, known):
            return cls(error.summary, *error.details, where=error.where)
    return error
