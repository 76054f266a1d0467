"""`torch.multiprocessing`: Python's module of that name, and `torch.futures`. Tensors are sent as copies, unless they lie in
shared memory (`x.share_memory_()`, `module.share_memory()`): then all processes have the same one."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
from collections.abc import Callable
from multiprocessing import *  # noqa: F403 - PyTorch's module has the same names
from types import GenericAlias
from typing import Any

from ..errors import StaticgradError


class ProcessException(StaticgradError, RuntimeError):
    """A process that `spawn` started ended with an error."""


ProcessRaisedException = ProcessExitedException = ProcessException


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any]):
        self.processes = processes

    def pids(self) -> list[int]:
        """Their numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for all; whether all have ended. Raises ProcessException where one failed."""
        for i, process in enumerate(self.processes):
            process.join(timeout)
            if process.exitcode not in (0, None):
                for other in self.processes:
                    other.terminate()
                raise ProcessException(f"process {i} terminated with exit code {process.exitcode}")
        return not any(process.is_alive() for process in self.processes)


def start_processes(
    fn: Callable[..., Any], args: Any = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run `fn(i, *args)` in `nprocs` processes, and wait for them unless told otherwise. Raises ProcessException."""
    context: Any = multiprocessing.get_context(start_method)
    started = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for process in started:
        process.start()
    found = ProcessContext(started)
    if not join:
        return found
    found.join()
    return None


spawn = start_processes


def get_all_sharing_strategies() -> set[str]:
    """One: copies are sent through the file system's descriptors."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """The one that there is."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Nothing: there is one."""


__all__ = [
    *multiprocessing.__all__, "Future", "ProcessContext", "collect_all", "get_all_sharing_strategies",
    "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes", "wait_all",
]  # fmt: skip


# torch.futures --------------------------------------------------------------------------------------------------------


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
