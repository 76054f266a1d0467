"""The subject of a comparison: a function, its arguments, and the state that it reaches, which is restored."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from weakref import ref

import numpy as np

from ..base.types import INEXACT
from ..eager import Tensor, generator, manual_seed
from ..eager.tape import touch
from ..operators import Operators
from ..ops.pytree import flatten, ordered, paths, unflatten
from ..tracing.arguments import parameter_names
from ..tracing.mentions import Mentions
from .comparison import AFTER


class Case:
    """The function, its arguments by name, and the tensors that it reaches."""

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], order: int, *, every: bool = False):
        """order: of the gradients that are compared. every: all floating arguments are differentiated by, and not only those
        that require gradients."""
        self.fn, self.order = fn, order
        self.name: str = getattr(fn, "__name__", type(fn).__name__)
        code = getattr(fn, "__code__", None)
        if self.name == "<lambda>" and code is not None:
            self.name = f"lambda at {os.path.basename(code.co_filename)}:{code.co_firstlineno}"
        self.args = [*zip(_names(fn, len(args)), args, strict=True)]
        self.arrays: dict[str, np.ndarray] = {}
        self.leaves: set[str] = set()
        """The arguments that are differentiated by."""
        for name, arg in self.args:
            _mapped(name, arg, self._keep)
            self.leaves.update(path for path, leaf in leaves_of(arg, name) if isinstance(leaf, Tensor) and leaf.requires_grad)
        floating = {name for name, array in self.arrays.items() if array.dtype.kind in INEXACT}
        self.further = order > 0 and floating != self.leaves
        """Some floating arguments require no gradients."""
        self.leaves = floating if every else self.leaves
        self.differentiate = order > 0
        """Gradients are compared."""
        self.own_gradients = False
        """The function differentiates by itself: it leaves gradients in `.grad`, or calls `grad`, and then there are none that
        could be compared. Found out by the eager run."""
        self.changed: list[str] = []
        """The tensors that the function changes, found out likewise."""
        mentions = Mentions(fn, [(name, arg) for name, arg in self.args if not isinstance(arg, Operators)])
        self.optimizers = [optimizer for _, optimizer in mentions.optimizers]
        tensors = [*mentions.tensors]
        for label, module in mentions.modules:
            prefix = "" if len(mentions.modules) == 1 else f"{label}."
            tensors += [(prefix + name, t) for name, t in (*module.named_parameters(), *module.named_buffers())]
        for label, optimizer in mentions.optimizers:
            tensors += [(p.name or f"{label}[{i}]", p) for i, p in enumerate(optimizer.parameters())]
        self.tensors: dict[str, Tensor] = {}
        ids: set[int] = set()
        for name, tensor in tensors:
            if isinstance(tensor, Tensor) and id(tensor) not in ids and tensor.is_leaf:
                ids.add(id(tensor))
                self.tensors[name if name not in self.tensors else f"{name} ({len(ids)})"] = tensor
        self.bare = [tensor for tensor in self.tensors.values() if tensor.requires_grad and tensor._grad is None]
        """The tensors that have no gradient before a call."""

    def _keep(self, name: str, array: np.ndarray) -> np.ndarray:
        self.arrays[name] = array
        return array

    def arguments(self, make: Callable[[str, np.ndarray], Any]) -> list[Any]:
        """The arguments with `make(name, array)` in place of arrays and tensors."""
        return [_mapped(name, arg, make) for name, arg in self.args]

    def untouched(self) -> AbstractContextManager[None]:
        """Put back after a further call what it changes."""
        return restored(self, None)

    @property
    def parameters(self) -> dict[str, Tensor]:
        """The tensors that the function reaches and that require gradients."""
        return {name: tensor for name, tensor in self.tensors.items() if tensor.requires_grad}

    def values(self, result: Any) -> dict[str, np.ndarray]:
        """The values in a result, and those of the tensors that the function changes, by name."""
        found = {name: plain(x) for name, x in leaves_of(result) if is_value(x)}
        return {**found, **{f"{name}{AFTER}": plain(self.tensors[name]) for name in self.changed}}


def _names(fn: Callable[..., Any], count: int) -> list[str]:
    """Names of positional arguments: those of the parameters, `batch[0]`, ... for `*batch`."""
    names = parameter_names(fn)
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    others = [f"{rest}[{i}]" if rest else f"argument {i}" for i in range(count)]
    return [names[i] if i < len(names) else others[i - len(names)] if rest else others[i] for i in range(count)]


def _mapped(name: str, arg: Any, make: Callable[[str, np.ndarray], Any]) -> Any:
    """An argument with `make(name, array)` in place of arrays and tensors."""
    leaves, structure = flatten(arg, ordered)
    return unflatten(structure, [_made(path, leaf, make) for path, leaf in zip(paths(structure, name), leaves, strict=True)])


def _made(name: str, leaf: Any, make: Callable[[str, np.ndarray], Any]) -> Any:
    if isinstance(leaf, Tensor):
        return make(name, leaf._data)
    if hasattr(leaf, "__array__") and not isinstance(leaf, np.generic):
        return make(name, np.asarray(leaf))
    return leaf


def leaves_of(result: Any, name: str = "result") -> list[tuple[str, Any]]:
    """The leaves of a result, by name."""
    leaves, structure = flatten(result, ordered)
    return [*zip(paths(structure, name), leaves, strict=True)]


def is_value(x: Any) -> bool:
    return isinstance(x, (Tensor, np.ndarray, np.generic, bool, int, float))


def plain(value: Any) -> np.ndarray:
    return np.array(value._data if isinstance(value, Tensor) else value)


def total_of(outputs: list[Any]) -> Any:
    total = None
    for output in outputs:
        part = output.sum()
        total = part if total is None else total + part
    return total


def unchanged(g: Tensor | None, before: Tensor | None, content: np.ndarray | None) -> bool:
    return g is before and (g is None or content is None or equal(g._data, content))


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in INEXACT)


@contextmanager
def restored(case: Case, seed: int | None) -> Iterator[None]:
    """Put back the generator, tensors, gradients and the state of optimizers."""
    generator_state = generator.state
    # weakly: an array that somebody else holds is changed in place at once, which cuts a step
    data = [(tensor, ref(tensor._data), tensor._data.copy()) for tensor in case.tensors.values()]
    grads = [(tensor, g, None if g is None else g._data.copy()) for tensor in case.tensors.values() for g in [tensor._grad]]
    slots = [{p: dict(own) for p, own in optimizer.state.items()} for optimizer in case.optimizers]
    contents = [(slot, slot._data.copy()) for state in slots for own in state.values() for slot in own.values()]
    if seed is not None:
        manual_seed(seed)
    try:
        yield
    finally:
        generator.state = generator_state
        for tensor, reference, before in data:
            array = reference()
            if array is None:
                tensor.data = before
                continue
            if tensor._data is not array:
                tensor.data = array
            if array.flags.writeable and not equal(array, before):
                array[...] = before
                touch(tensor)
        for tensor, g, content in grads:
            tensor.grad = g
            if g is not None and g._data.flags.writeable:
                g._data[...] = content
        for optimizer, state in zip(case.optimizers, slots, strict=True):
            optimizer.state = state
        for slot, content in contents:
            slot._data[...] = content
