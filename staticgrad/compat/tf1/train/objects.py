"""Checkpoints of objects: variables named by the attributes that lead to them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..core import get_default_session
from ..errors import NotFoundError
from ..layer import Layer
from ..state import has_value
from ..variables import Variable, variables_initializer
from .optimizers import Optimizer
from .saver import Saver, arrays_of, checkpoint_exists, get_checkpoint_state, update_checkpoint_state

COUNTER = "save_counter"


def _variables(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Variable]]:
    """The variables of an object, and of what its attributes and items lead to, by their paths."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Variable):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _variables(item, f"{path}/{key}", seen)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _variables(item, f"{path}/{i}", seen)
    elif isinstance(value, Optimizer):
        for variable in value.variables():
            yield f"{path}/{variable.op.name}", variable
    elif isinstance(value, (Layer, Checkpoint)) or getattr(type(value), "__module__", "builtins") != "builtins":
        for key, item in vars(value).items() if hasattr(value, "__dict__") else ():
            if isinstance(item, (Variable, Mapping, list, tuple, Optimizer, Layer, Checkpoint)):
                yield from _variables(item, f"{path}/{key}", seen)


class Checkpoint:
    """Saves and restores the variables of the objects that are given by name: variables, optimizers, layers, and lists, dicts
    and attributes of these."""

    def __init__(self, root: Any = None, **kwargs: Any):
        if root is not None:
            kwargs["root"] = root
        self._objects = kwargs
        self.__dict__.update(kwargs)
        self.save_counter = Variable(np.int64(0), trainable=False, name=COUNTER, collections=[])

    def _all(self) -> dict[str, Variable]:
        return {path.lstrip("/"): v for path, v in _variables(self._objects, "", set())}

    def write(self, file_prefix: str, options: Any = None, session: Any = None) -> str:
        """Write a checkpoint of this name; returns its path."""
        saver = Saver({**self._all(), COUNTER: self.save_counter})
        return saver.save(_session(session), file_prefix, write_meta_graph=False, write_state=False)

    def save(self, file_prefix: str, session: Any = None, options: Any = None) -> str:
        """Write the checkpoint `file_prefix-N` and count; returns its path."""
        chosen = _session(session)
        self.save_counter.load(self._count(chosen) + 1, chosen)
        path = self.write(f"{file_prefix}-{self._count(chosen)}", session=chosen)
        update_checkpoint_state(os.path.dirname(path), path)
        return path

    def _count(self, session: Any) -> int:
        if not has_value(getattr(session, "_session", session), self.save_counter):
            self.save_counter.load(0, session)
        return int(session.run(self.save_counter))

    def read(self, save_path: str, options: Any = None) -> Restored:
        """See `restore`."""
        return self.restore(save_path)

    def restore(self, save_path: str | None, options: Any = None) -> Restored:
        """The values of a checkpoint for the variables of these objects: `run_restore_ops` or `initialize_or_restore` of the
        result gives them to a session, at once where there is a default one. Raises NotFoundError for no such checkpoint."""
        if save_path is None:
            return Restored(self._all(), {})
        if not checkpoint_exists(save_path):
            raise NotFoundError(
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {save_path}"
            )
        found = Restored({**self._all(), COUNTER: self.save_counter}, arrays_of(save_path))
        if get_default_session() is not None:
            found.run_restore_ops()
        return found


class Restored:
    """The values of a checkpoint, and the variables that they are for."""

    def __init__(self, variables: dict[str, Variable], values: dict[str, np.ndarray]):
        self._variables, self._values = variables, values

    def assert_consumed(self) -> Restored:
        """Raises AssertionError unless variables and values have the same names."""
        differing = (set(self._variables) ^ set(self._values)) - {COUNTER}
        if differing:
            raise AssertionError(f"Unresolved object in checkpoint: {', '.join(sorted(differing))}")
        return self

    def assert_existing_objects_matched(self) -> Restored:
        """Raises AssertionError for variables without a value."""
        missing = set(self._variables) - set(self._values) - {COUNTER}
        if missing:
            raise AssertionError(f"Object not assigned a value from checkpoint: {', '.join(sorted(missing))}")
        return self

    def expect_partial(self) -> Restored:
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Give the variables their values."""
        chosen = _session(session)
        for name, variable in self._variables.items():
            if name in self._values:
                variable.load(self._values[name], chosen)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Give the variables their values; those without one their initial ones."""
        chosen = _session(session)
        rest = [v for name, v in self._variables.items() if name not in self._values]
        if rest:
            chosen.run(variables_initializer(rest))
        self.run_restore_ops(chosen)


class CheckpointManager:
    """Keeps the last checkpoints of a folder."""

    def __init__(
        self, checkpoint: Checkpoint, directory: str, max_to_keep: int | None, keep_checkpoint_every_n_hours: Any = None,
        checkpoint_name: str = "ckpt", step_counter: Any = None, checkpoint_interval: int | None = None, init_fn: Any = None,
    ):  # fmt: skip
        self.checkpoint, self.directory, self._keep, self._name = checkpoint, directory, max_to_keep, checkpoint_name
        self._init_fn = init_fn
        os.makedirs(directory, exist_ok=True)
        state = get_checkpoint_state(directory)
        self.checkpoints: list[str] = [] if state is None else list(state.all_model_checkpoint_paths)

    @property
    def latest_checkpoint(self) -> str | None:
        return self.checkpoints[-1] if self.checkpoints else None

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None, session: Any = None) -> str:
        """Write the next checkpoint, and delete those that are too many; returns its path."""
        chosen, prefix = _session(session), os.path.join(self.directory, self._name)
        number = chosen.run(checkpoint_number) if hasattr(checkpoint_number, "graph") else checkpoint_number
        count = self.checkpoint._count(chosen) + 1
        self.checkpoint.save_counter.load(count, chosen)
        path = self.checkpoint.write(f"{prefix}-{count if number is None else int(number)}", session=chosen)
        self.checkpoints = [p for p in self.checkpoints if p != path] + [path]
        old = self.checkpoints[: -self._keep] if self._keep else []
        self.checkpoints = self.checkpoints[len(old) :]
        update_checkpoint_state(self.directory, path, self.checkpoints)
        for other in old:
            if os.path.exists(other + ".safetensors"):
                os.remove(other + ".safetensors")
        return path

    def restore_or_initialize(self, session: Any = None) -> str | None:
        """Restore the last checkpoint; without one, call `init_fn`. Returns its path, or None."""
        path = self.latest_checkpoint
        if path is not None:
            self.checkpoint.restore(path).run_restore_ops(session)
        elif self._init_fn is not None:
            self._init_fn()
        return path


class CheckpointOptions:
    """Accepted."""

    def __init__(self, **options: Any):
        self.__dict__.update(options)


def _session(session: Any) -> Any:
    """Raises RuntimeError without one."""
    chosen = get_default_session() if session is None else session
    if chosen is None:
        raise RuntimeError("a checkpoint of a graph needs a session: give one, or make it the default with `with sess:`")
    return chosen
