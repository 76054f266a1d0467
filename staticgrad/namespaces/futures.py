"""`torch.futures`: results that come later, on Python's own futures."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from types import GenericAlias
from typing import Any


class Future:
    """A result that comes later."""

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self, *, devices: Any = None):
        self._own: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether it is there."""
        return self._own.done()

    def wait(self) -> Any:
        """The result, once it is there. Raises what was set as an exception."""
        return self._own.result()

    def value(self) -> Any:
        """The result, which has to be there. Raises what was set as an exception."""
        return self._own.result(0)

    def set_result(self, result: Any) -> None:
        """Set the result."""
        self._own.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Set what `wait` raises."""
        self._own.set_exception(result)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call a function with this future when it is done."""
        self._own.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what a function of this one gives."""
        found = Future()

        def call(done: Future) -> None:
            try:
                found.set_result(callback(done))
            except Exception as error:
                found.set_exception(error)

        self.add_done_callback(call)
        return found


def collect_all(futures: list[Future]) -> Future:
    """A future of the list, which is done when all are."""
    found, left = Future(), len(futures)

    def one(_: Future) -> None:
        nonlocal left
        left -= 1
        if not left:
            found.set_result(futures)

    for future in futures:
        future.add_done_callback(one)
    if not futures:
        found.set_result(futures)
    return found


def wait_all(futures: list[Future]) -> list[Any]:
    """The results, once all are there."""
    return [future.wait() for future in futures]


__all__ = ["Future", "collect_all", "wait_all"]
