"""`torch.multiprocessing`: Python's module of that name. Tensors are sent as copies, unless they lie in shared memory
(`x.share_memory_()`, `module.share_memory()`): then all processes have the same one."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing import *  # noqa: F403 - PyTorch's module has the same names
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
    *multiprocessing.__all__, "ProcessContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy",
    "spawn", "start_processes",
]  # fmt: skip
