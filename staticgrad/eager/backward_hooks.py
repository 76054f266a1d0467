"""The hooks of a backward pass, and whose memory its cotangents are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from ..autodiff import requests
from ..autodiff.pull import Pull
from ..autodiff.requests import hooked, replacement
from ..ops.operators import F
from ..ops.sparse_rows import carry
from .execution import link
from .grad_mode import modes
from .gradient_sources import EAGER
from .tape import AfterNode, BeforeNode, Record, Retain
from .tensor import Tensor, ndarray, wrap

# whose memory the cotangents of a backward pass are in ----------------------------------------------------------------


class Held:
    """Tensors that somebody outside of a backward pass may hold: seeds, arguments and results of hooks, gradients given away.

    by_tensors: the rules compute on tensors, else on arrays.
    """

    __slots__ = ("by_tensors", "tensors")

    def __init__(self, tensors: Iterable[Any], by_tensors: bool = False):
        self.by_tensors = by_tensors
        self.tensors: dict[int, Tensor] = {}
        """By id of the tensor, or of its array and of the array that owns the memory."""
        for tensor in tensors:
            self.add(tensor)

    def add(self, tensor: Any) -> None:
        if self.by_tensors:
            self.tensors[id(tensor)] = tensor
            return
        data = tensor._data
        self.tensors[id(data)] = tensor
        if data.base is not None:
            self.tensors.setdefault(id(owner(data)), tensor)

    def has(self, tensor: Any) -> bool:
        return id(tensor) in self.tensors

    def tensor(self, data: np.ndarray) -> Tensor:
        """An array as a tensor, as PyTorch's `grad` returns it: one that a rule passed on unchanged is one tensor for all who
        get it, and one that a rule took a view of is a view of it."""
        found = self.tensors.get(id(data))
        if found is None or (found._data is not data and owner(found._data) is not data):  # a hook may give a tensor other data
            found = self.tensors[id(data)] = wrap(data)
            if data.base is not None and (whole := owner(data)) is not data:
                link(found, self.tensor(whole))
        return found

    def own(self, data: np.ndarray) -> Tensor:
        """An array, or a copy of it, as a tensor whose memory nobody else holds."""
        if data.base is not None or id(data) in self.tensors or not data.flags.writeable:
            data = carry(data.copy(), data)
        found = self.tensors[id(data)] = wrap(data)
        return found


def owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory it is."""
    base: Any = array.base
    while base is not None:
        if base.__class__ is ndarray:
            array = base
        base = getattr(base, "base", None)
    return array


class Cotangents(dict[int, Any]):
    """The cotangents of a node with several results, by their numbers."""

    def __add__(self, more: Cotangents) -> Cotangents:
        sums = {i: self[i] + g if i in self else g for i, g in more.items()}
        return Cotangents({**self, **sums})

    def listed(self, record: Any) -> tuple[Any, ...]:
        """One for each result; None for a result without one."""
        return tuple(self.get(i) for i in range(record.results))


class Hooked(Pull[Record]):
    """A backward pass as its hooks see it."""

    create: bool
    """Whether the rules compute on tensors."""
    recorded: bool
    retained: list[tuple[Tensor, Any]]
    """Tensors whose gradient `retain_grad` asks for, with it."""
    held: Held
    """Tensors that somebody else may hold: seeds, arguments and results of hooks, gradients given away."""

    def after_hooks(self, hooks: Iterable[Any], g: Any) -> Any:
        """The cotangent after its hooks, which get tensors and may replace it; those of `retain_grad` come last."""
        modes.now.arrays, around = False, modes.now.arrays
        retained = []
        try:
            for hook in tuple(hooks):
                if isinstance(hook, Retain):
                    retained.append(hook.tensor())
                elif not isinstance(hook, (BeforeNode, AfterNode)):
                    tensor = hooked(EAGER, hook, self._as_tensor(g))
                    self._take(tensor)
                    g = tensor if self.create else tensor._data
            self.retained.extend((tensor, g) for tensor in retained if tensor is not None)
        finally:
            modes.now.arrays = around
        return g

    def called(self, hooks: list[Any], cotangents: Sequence[Any], *others: tuple[Any, ...]) -> list[Any]:
        """Cotangents after hooks of a node, which get all of them and may replace them. others: what the hooks get besides."""
        modes.now.arrays, around = False, modes.now.arrays
        try:
            for hook in hooks:
                given = self._as_tensors(cotangents)
                replaced = hook(given, *others)
                if replaced is not None:
                    listed = replaced if isinstance(replaced, tuple) else (replaced,)
                    if len(listed) != len(given):
                        raise requests.wrong_node_hook(hook, len(given), len(listed))
                    cotangents = [
                        before if new is old else self._checked(hook, new, old)
                        for new, old, before in zip(listed, given, cotangents, strict=True)
                    ]
        finally:
            modes.now.arrays = around
        return list(cotangents)

    def _take(self, tensor: Any) -> None:
        """Note that somebody else may hold a tensor."""
        self.held.add(tensor)

    def _results(self, g: Any, record: Record | None) -> tuple[Any, ...]:
        """The cotangents of all results of a record."""
        return g.listed(record) if isinstance(g, Cotangents) else (g,)

    def _as_tensors(self, cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """Cotangents as hooks see them; None for one that is not there."""
        return tuple([None if g is None else self._as_tensor(g) for g in cotangents])

    def _as_tensor(self, g: Any) -> Any:
        """A cotangent as somebody else gets it."""
        if isinstance(g, Tensor):
            self._take(g)
            return g
        return self.held.tensor(g if g.__class__ is ndarray else np.asarray(g))

    def _checked(self, hook: Any, new: Any, old: Any) -> Any:
        """What a hook put in the place of a cotangent, in the form that the pass computes with."""
        if new is None:
            return None
        tensor = new if old is None else replacement(EAGER, hook, new, old)
        self._take(tensor)
        return tensor if self.create else tensor._data

    def own(self, g: Any) -> Tensor:
        """A found cotangent as a tensor whose memory nobody else holds. A recorded one is returned unchanged."""
        if self.recorded:
            return cast("Tensor", g)
        if self.create:
            if self.held.has(g) or g._base is not None:
                g = F.clone(g)
            self.held.add(g)
            return cast("Tensor", g)
        return self.held.own(g if g.__class__ is ndarray else np.asarray(g))

    def result(self, g: Any) -> Tensor:
        """A found cotangent as `grad` returns it, see `Held.tensor`."""
        return cast("Tensor", g) if self.create else self.held.tensor(g if g.__class__ is ndarray else np.asarray(g))
