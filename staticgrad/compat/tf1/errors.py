"""`tf.errors`: TensorFlow's classes, which are this library's errors too, with its texts, lines and remedies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ... import errors as ours


class OpError(ours.StaticgradError):
    """Base of the errors of a run."""

    @property
    def message(self) -> str:
        return str(self)


class InvalidArgumentError(OpError, ours.ArgumentError):
    """An operation got values that it can't take."""


class FailedPreconditionError(OpError, ours.UninitializedError):
    """A variable has no value yet."""


class NotFoundError(OpError):
    """A file, or a variable of a checkpoint, does not exist."""


class OutOfRangeError(OpError):
    """An iterator has no more items."""


class ResourceExhaustedError(OpError, ours.OutOfMemoryError):
    """Memory ran out."""


class FeedValueError(ours.FeedError, ValueError):
    """A fed value does not fit its tensor: a ValueError, as in TensorFlow 1."""


class FeedTypeError(ours.FeedError, TypeError):
    """A fed object or feed key is of no use: a TypeError, as in TensorFlow 1."""


RUN = (
    (ours.UninitializedError, FailedPreconditionError),
    (ours.OutOfMemoryError, ResourceExhaustedError),
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
