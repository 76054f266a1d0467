"""`tf.errors`: TensorFlow's classes, which are this library's errors too, with its texts, lines and remedies."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ... import errors as ours

OK = 0
(
    CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED,
    FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED,
) = range(1, 17)  # fmt: skip


class OpError(ours.StaticgradError):
    """Base of the errors of a run. Takes TensorFlow's arguments, (node_def, op, message), too."""

    error_code = UNKNOWN
    node_def: Any = None
    op: Any = None

    def __init__(self, summary: Any, *details: Any, where: ours.Where | None = None, message: str | None = None):
        if not isinstance(summary, str):
            self.node_def, self.op = summary, details[0] if details else None
            details = details[1:2] if message is None else (message,)
            summary, details = (str(details[0]) if details else ""), ()
        super().__init__(summary, *details, where=where)

    @property
    def message(self) -> str:
        return self.summary if self.node_def is None and not self.details else str(self)


class InvalidArgumentError(OpError, ours.ArgumentError):
    """An operation got values that it can't take."""

    error_code = INVALID_ARGUMENT


class FailedPreconditionError(OpError, ours.UninitializedError):
    """A variable has no value yet."""

    error_code = FAILED_PRECONDITION


class NotFoundError(OpError):
    """A file, or a variable of a checkpoint, does not exist."""

    error_code = NOT_FOUND


class OutOfRangeError(OpError):
    """An iterator or a queue has no more items."""

    error_code = OUT_OF_RANGE


class ResourceExhaustedError(OpError, ours.OutOfMemoryError):
    """Memory ran out."""

    error_code = RESOURCE_EXHAUSTED


class CancelledError(OpError):
    """An operation was cancelled, as those of a queue that is closed."""

    error_code = CANCELLED


class UnknownError(OpError):
    """A Python function raised an exception."""

    error_code = UNKNOWN


class DeadlineExceededError(OpError):
    """An operation took too long."""

    error_code = DEADLINE_EXCEEDED


class AlreadyExistsError(OpError):
    """A file exists already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """A file may not be read or written."""

    error_code = PERMISSION_DENIED


class UnauthenticatedError(OpError):
    """Never raised here."""

    error_code = UNAUTHENTICATED


class AbortedError(OpError):
    """Never raised here."""

    error_code = ABORTED


class UnimplementedError(OpError):
    """A Python function raised NotImplementedError."""

    error_code = UNIMPLEMENTED


class InternalError(OpError):
    """Never raised here."""

    error_code = INTERNAL


class UnavailableError(OpError):
    """Never raised here."""

    error_code = UNAVAILABLE


class DataLossError(OpError):
    """A file is damaged."""

    error_code = DATA_LOSS


_BY_CODE: dict[int, type[OpError]] = {
    cls.error_code: cls
    for cls in (
        CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError, AlreadyExistsError,
        PermissionDeniedError, ResourceExhaustedError, FailedPreconditionError, AbortedError, OutOfRangeError,
        UnimplementedError, InternalError, UnavailableError, DataLossError, UnauthenticatedError,
    )
}  # fmt: skip


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


class FeedTypeError(ours.FeedError, TypeError):
    """A fed object or feed key is of no use: a TypeError, as in TensorFlow 1."""


RUN = (
    (ours.UninitializedError, FailedPreconditionError),
    (ours.OutOfMemoryError, ResourceExhaustedError),
    (ours.MissingFeedError, InvalidArgumentError),
    (ours.FeedError, FeedValueError),
    (ours.ArgumentError, InvalidArgumentError),
    (ours.ShapeError, InvalidArgumentError),
    (ours.IndexRangeError, InvalidArgumentError),
    (ours.DivisionError, InvalidArgumentError),
)
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
