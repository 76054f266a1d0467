"""The hooks of a backward pass, and whose memory its cotangents are in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from ..autodiff import messages
from ..autodiff.accumulation import hooked, replacement
from ..operators import F
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


class Hooked:
    """A backward pass as its hooks see it."""

    create: bool
    """Whether the rules compute on tensors."""
    recorded: bool
    retained: list[tuple[Tensor, Any]]
    """Tensors whose gradient `retain_grad` asks for, with it."""
    called: set[BeforeNode]
    """The hooks of nodes with several results that were called."""
    cotangents: dict[Record, Any]
    _add_at_record: Callable[[Record, Any], None]
    held: Held
    """Tensors that somebody else may hold: seeds, arguments and results of hooks, gradients given away."""

    def _hooked(self, hooks: dict[int, Any] | None, g: Any, record: Record | None = None) -> Any:
        """The cotangent after its hooks, which get tensors and may replace it; those of `retain_grad` come last, and then the
        node's own."""
        modes.now.arrays, around = False, modes.now.arrays
        retained, before = [], []
        try:
            for hook in tuple(hooks.values()) if hooks else ():
                if isinstance(hook, Retain):
                    retained.append(hook.tensor())
                    continue
                if isinstance(hook, (BeforeNode, AfterNode)):
                    before.extend([hook] if isinstance(hook, BeforeNode) else [])
                    continue
                tensor = self._as_tensor(g)
                tensor = hooked(EAGER, hook, tensor)
                self._take(tensor)
                g = tensor if self.create else tensor._data
            self.retained.extend((tensor, g) for tensor in retained if tensor is not None)
            for hook in before:
                together: list[Record | None] = [] if record is None else record.siblings()
                if len(together) > 1:
                    g = self._hooked_together(hook, together, record, g)
                    continue
                given = self._as_tensors(self._results(g, record))
                g = self._replaced(hook.function, hook.function(given), given, g)
        finally:
            modes.now.arrays = around
        return g

    def _hooked_together(self, hook: BeforeNode, records: list[Record | None], record: Any, g: Any) -> Any:
        """The cotangent of one of several results after a hook of their node, which sees all of them. It is called at the first
        of them that the pass visits: operations that read the others are younger than all."""
        if hook in self.called:
            return g
        self.called.add(hook)
        known = [None if r is None else g if r is record else self.cotangents.get(r) for r in records]
        before = self._as_tensors(known)
        given = hook.function(before)
        if given is None:
            return g
        listed = given if isinstance(given, tuple) else (given,)
        if len(listed) != len(before):
            raise messages.wrong_node_hook(hook.function, len(before), len(listed))
        for r, old, new, former in zip(records, before, listed, known, strict=True):
            if r is None or new is old:
                continue
            value = self._checked(hook.function, new, old)
            if r is record:
                g = value
            elif former is not None or value is None:
                self.cotangents[r] = value
            else:
                self._add_at_record(r, value)
        return g

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

    def _replaced(self, hook: Any, given: Any, before: tuple[Any, ...], g: Any) -> Any:
        """The cotangent of a record once a hook of its node has returned `given`."""
        if given is None:
            return g
        listed = given if isinstance(given, tuple) else (given,)
        if len(listed) != len(before):
            raise messages.wrong_node_hook(hook, len(before), len(listed))
        found = [self._checked(hook, new, old) for new, old in zip(listed, before, strict=True)]
        if isinstance(g, Cotangents):
            return Cotangents({i: value for i, value in enumerate(found) if value is not None})
        return found[0]

    def _checked(self, hook: Any, new: Any, old: Any) -> Any:
        """What a hook put in the place of a cotangent, in the form that the pass computes with."""
        if new is None:
            return None
        tensor = new if old is None else replacement(EAGER, hook, new, old)
        self._take(tensor)
        return tensor if self.create else tensor._data

    def _after(self, record: Record, g: Any, cotangents: Sequence[Any], hooks: list[Any]) -> list[Any]:
        """The cotangents of a record's operands after the hooks of its node."""
        modes.now.arrays, around = False, modes.now.arrays
        try:
            results = self._as_tensors(self._results(g, record))
            for hook in hooks:
                given = self._as_tensors(cotangents)
                replaced = hook(given, results)
                if replaced is not None:
                    listed = replaced if isinstance(replaced, tuple) else (replaced,)
                    if len(listed) != len(given):
                        raise messages.wrong_node_hook(hook, len(given), len(listed))
                    cotangents = [self._checked(hook, new, old) for new, old in zip(listed, given, strict=True)]
        finally:
            modes.now.arrays = around
        return list(cotangents)

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
