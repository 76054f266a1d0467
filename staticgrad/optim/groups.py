"""Parameter groups: parameters and the hyper-parameters that they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self, SupportsIndex

import numpy as np

from ..base.types import is_number
from ..eager import Tensor
from ..eager.tape import Handle
from ..eager.tensor import Structure
from ..errors import ArgumentError, ArgumentTypeError
from ..nn.module_hooks import HookHandle
from ..nn.state_dict import Hooks
from ..ops.leaves import hyper
from ..ops.operators import F, MetaTensor, Operators, Symbol, check_change, frontends, state, warn_former
from ..tracing.after_run import check_read

if TYPE_CHECKING:
    from .optimizer import Optimizer


# functions that users have an optimizer call -------------------------------------------------------------------------

# Before and after a step, and as its state is saved and loaded.


class Hooked:
    """Base of `Optimizer`: hooks by the event that calls them, in order of registration."""

    _hooks: Mapping[str, dict[int, Callable[..., Any]]] = {}

    def _register(self, event: str, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        check_change(self, "a hook of an optimizer is registered")
        if event in ("step_pre", "step_post"):
            self.step = self._step_with_hooks
        if "_hooks" not in vars(self):
            self._hooks = {}
        hooks = dict(self._hooks)
        if not isinstance(hooks.get(event), Hooks):
            hooks[event] = Hooks({}, hooks.get(event))
        self._hooks = hooks
        return HookHandle(hooks[event], hook, prepend)

    def _called(self, event: str) -> list[Callable[..., Any]]:
        return list(self._hooks.get(event, {}).values())

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` before each `step`. A pair that it returns replaces the arguments, the first of
        which is the optimizer."""
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` after each `step`."""
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` before `state_dict`."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> Handle:
        """Call `hook(optimizer, state_dict)` with the result of `state_dict`, which a dict that it returns replaces."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> Handle:
        """Call `hook(optimizer, state_dict)` before `load_state_dict`, which loads a dict that it returns instead."""
        return self._register("load_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return self._register("load_post", hook, prepend)

    def _step_with_hooks(self, *given: Any, **named: Any) -> Any:
        """`step`, where a hook is registered: an attribute of the optimizer, so that those without hooks pay nothing."""
        args: tuple[Any, ...] = (self, *given)
        for hook in self._called("step_pre"):
            changed = hook(self, args, named)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise ArgumentError(
                        f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}.",
                    )
                args, named = changed
        result = type(self).step(*args, **named)  # type: ignore[misc]
        for hook in self._called("step_post"):
            hook(self, args, named)
        return result


# hyper-parameters that make no sense, in PyTorch's words --------------------------------------------------------------


# groups of parameters ------------------------------------------------------------------------------------------------


def is_one_number(value: Any) -> bool:
    """Whether this is a real number, or a tensor, array or symbol of one."""
    return is_number(value) and all(d in (1, None) for d in getattr(value, "shape", ()))


LEARNING_RATE = "learning rate"
TITLES = {"lr": LEARNING_RATE, "eps": "epsilon value"}
"""Hyper-parameters as PyTorch's errors name them; others are "momentum value"."""


def _check(what: str, value: Any, holds: Callable[[Any], Any]) -> None:
    if what == LEARNING_RATE and is_number(value) and not is_one_number(value):
        raise ArgumentError("Tensor lr must be 1-element", f"got {value!r}")
    if not is_one_number(value):
        raise ArgumentError(f"Invalid {what}: {value!r}", "it has to be a number, or a tensor of one element")
    if not isinstance(value, Symbol) and not (math.isfinite(value) and holds(value)):
        raise ArgumentError(f"Invalid {what}: {value}")


def any_number(what: str, value: Any) -> None:
    """Raises ArgumentError unless it is a finite number. A symbolic value is not known yet, here and below."""
    _check(what, value, lambda x: True)


def flag(what: str, value: Any) -> None:
    """Raises ArgumentError unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"Invalid {what}: {value!r}", "it has to be True or False")


def at_least_zero(what: str, value: Any) -> None:
    """Raises ArgumentError: "Invalid learning rate: -1"."""
    _check(what, value, lambda x: x >= 0.0)


def above_zero(what: str, value: Any) -> None:
    """Raises ArgumentError unless it is positive."""
    _check(what, value, lambda x: x > 0.0)


def below_one(what: str, value: Any) -> None:
    """Raises ArgumentError unless 0 <= value < 1."""
    _check(what, value, lambda x: 0.0 <= x < 1.0)


def only_real(name: str, group: Mapping[str, Any]) -> None:
    """Raises ArgumentError for complex parameters of a group."""
    if any(p.dtype.kind == "c" for p in group.get("params", ())):
        raise ArgumentError(f"{name} does not support complex parameters", "optimize view_as_real(p)")


def check_switches(group: Mapping[str, Any]) -> None:
    """Raises ArgumentError for a flag that is none, and for what this library can't do.

    `foreach`, `fused` and `capturable` choose between implementations in PyTorch. Here a step has one, so they change nothing.
    """
    for name in ("maximize", "capturable", "differentiable"):
        flag(name, group.get(name, False))
    for name in ("foreach", "fused"):
        if group.get(name) is not None:
            flag(name, group[name])
    if group.get("foreach") and group.get("fused"):
        raise ArgumentError("`fused` and `foreach` cannot be `True` together.")
    if group.get("differentiable"):
        raise ArgumentError(
            "differentiable=True: steps are not recorded",
            "write the update with sg.grad(loss, params, create_graph=True): p = p - lr * g",
        )


def as_tuple(betas: Any) -> Any:
    """Several numbers as a tuple; anything else as it is, for `two_below_one` to refuse."""
    return tuple(betas) if isinstance(betas, Iterable) and getattr(betas, "shape", None) != () else betas


def two_below_one(betas: Any) -> None:
    """Raises ArgumentError unless there are two of these numbers, each below one."""
    if not isinstance(betas, tuple) or len(betas) != 2:
        raise ArgumentError(f"betas are two numbers, got {betas!r}")
    for i, beta in enumerate(betas):
        below_one(f"beta parameter at index {i}", beta)


BOOKKEEPING = frozenset(
    {"initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum", "swa_lr", "param_names", "foreach", "fused",
     "capturable"}
)  # fmt: skip
"""Entries of a group that no step reads: those of schedulers, and switches between implementations of PyTorch's."""

PARTS = {
    "beta1": ("betas", 0),
    "beta2": ("betas", 1),
    "etaminus": ("etas", 0),
    "etaplus": ("etas", 1),
    "step_size_min": ("step_sizes", 0),
    "step_size_max": ("step_sizes", 1),
}
"""Numbers that are part of a hyper-parameter: its name, and their position."""


class Member(NamedTuple):
    """A parameter that takes part in a step."""

    parameter: Any
    gradient: Any
    slots: dict[str, Any]


class CountedList(list[Any]):
    """A list of an optimizer's: its groups, or the parameters of one. Compiled steps rely on its members, so `Structure` counts
    their changes."""

    def _change(self) -> None:
        check_change(self, f"{self.contents} of an optimizer are changed")
        Structure.changes += 1

    contents = "the parameters"

    def _member(self, x: Any) -> Any:
        return x

    def append(self, x: Any) -> None:
        self._change()
        super().append(self._member(x))

    def extend(self, members: Iterable[Any]) -> None:
        self[len(self) :] = members

    def insert(self, at: SupportsIndex, x: Any) -> None:
        self._change()
        super().insert(at, self._member(x))

    def pop(self, at: SupportsIndex = -1) -> Any:
        self._change()
        return super().pop(at)

    def remove(self, x: Any) -> None:
        self._change()
        super().remove(x)

    def clear(self) -> None:
        del self[:]

    def reverse(self) -> None:
        self._change()
        super().reverse()

    def sort(self, **options: Any) -> None:
        self._change()
        super().sort(**options)

    def __setitem__(self, at: Any, x: Any) -> None:
        self._change()
        super().__setitem__(at, [*map(self._member, x)] if isinstance(at, slice) else self._member(x))

    def __delitem__(self, at: SupportsIndex | slice) -> None:
        self._change()
        super().__delitem__(at)

    def __iadd__(self, members: Iterable[Any]) -> Self:  # type: ignore[misc]
        self.extend(members)
        return self

    def __imul__(self, count: SupportsIndex) -> Self:
        self._change()
        return super().__imul__(count)


class ParamGroups(CountedList):
    """The groups of an optimizer. A plain dict becomes a group: one that steps with the hyper-parameters that it has."""

    contents = "the groups"
    sense: Callable[[ParamGroup], None] | None = None

    def _member(self, x: Any) -> Any:
        if isinstance(x, ParamGroup) or not isinstance(x, Mapping):
            return x
        group = ParamGroup(x)
        group.sense = self.sense
        return group


class ParamGroup(dict[str, Any]):
    """A dict: `params`, and hyper-parameters by name, which each run reads afresh.

    Their values may change at any time at no cost; `writes` counts the changes, so that a run can tell quickly. What
    Python decides on - the parameters, flags, whether a number is 0 - is structure: a change of it is counted in
    `Structure.changes`. `beta1` and `beta2` read the parts of `betas` (see `PARTS`). What is written is checked as
    what the optimizer was made with: writing NaN, a negative learning rate or a text raises ArgumentError, and changes nothing.
    """

    writes = 0
    sense: Callable[[ParamGroup], None] | None = None
    """The optimizer's check of the group as a whole; None until the group is part of one."""

    def __missing__(self, key: str) -> Any:
        if key in PARTS and PARTS[key][0] in self:
            whole, position = PARTS[key]
            return self[whole][position]
        raise KeyError(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def _put(self, key: str, value: Any) -> None:
        if key not in BOOKKEEPING and (key not in self or _form(key, self[key]) != _form(key, value)):
            Structure.changes += 1
        super().__setitem__(key, value)
        self.writes += 1

    def check(self, values: Mapping[str, Any]) -> None:
        """Raises ArgumentError unless the group makes sense with these hyper-parameters in it."""
        for key, value in values.items():
            if key in self and key != "params":
                self._check_form(key, value)
        whole = "params" in self  # a copy under way has only a part of its items
        if whole and self.sense is not None:
            check_switches({**self, **values})
        if whole and self.sense is not None and not BOOKKEEPING.issuperset(values):
            self.sense(ParamGroup({**self, **values}))

    def _check_form(self, key: str, value: Any) -> None:
        """Raises ArgumentError when the present value is a number, or several, or a flag, and the new one is not."""
        old = self[key]
        if isinstance(old, (bool, np.bool_)):
            if not isinstance(value, (bool, np.bool_)):
                raise ArgumentError(f"the hyper-parameter {key!r} is True or False, got {value!r}")
            return
        if is_one_number(old) and not is_one_number(value):
            raise ArgumentError(f"the hyper-parameter {key!r} is a number, got {value!r}")
        several = isinstance(value, (tuple, list)) and all(map(is_one_number, value))
        if type(old) is tuple and all(map(is_one_number, old)) and not (several and len(value) == len(old)):
            raise ArgumentError(f"the hyper-parameter {key!r} has {len(old)} numbers, got {value!r}")

    def __ior__(self, other: Any) -> ParamGroup:  # type: ignore[override,misc]
        self.update(other)
        return self

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def _drop(self) -> None:
        check_change(self, "hyper-parameters of an optimizer are removed")
        Structure.changes += 1
        self.writes += 1

    def __delitem__(self, key: str) -> None:
        self._drop()
        super().__delitem__(key)

    def pop(self, *args: Any) -> Any:
        self._drop()
        return super().pop(*args)

    def popitem(self) -> Any:
        self._drop()
        return super().popitem()

    def clear(self) -> None:
        self._drop()
        super().clear()

    def update(self, *args: Any, **kwargs: Any) -> None:
        values = dict(*args, **kwargs)
        if values and frontends.tracing and state.tracer is not None:
            state.tracer.refuse(
                f"the hyper-parameter {next(iter(values))!r} is written inside a compiled function, which would happen only "
                "while tracing",
                "write it, and step schedulers, outside",
            )
        self.check(values)
        for key, value in values.items():
            self._put(key, value)

    def structure(self) -> tuple[tuple[str, Hashable], ...]:
        """(key, Python type and identity): equal structures give equal traces of a step, whatever the numbers are."""
        return tuple((key, _form(key, self[key])) for key in sorted(self.keys() - BOOKKEEPING))

    def uses(self, key: str) -> bool:
        """Whether the rule needs this term: not for a plain 0."""
        value = self[key]
        return isinstance(value, Operators) or value != 0


def _form(key: str, value: Any) -> Hashable:
    if key == "params":
        return tuple(map(id, value))
    if isinstance(value, (tuple, list)):
        return len(value)
    if isinstance(value, (bool, str, type(None))):
        return value
    if isinstance(value, Operators):
        return id(value)
    return 0 if key != "lr" and value == 0 else "a number"


# parameters -----------------------------------------------------------------------------------------------------------


def as_groups(params: Any) -> list[dict[str, Any]]:
    """The user's parameters as a list of groups (dicts). Raises ArgumentError."""
    if isinstance(params, (Operators, np.ndarray, Mapping, str)) or not isinstance(params, Iterable):
        raise ArgumentTypeError(
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
            f"{params.type() if isinstance(params, Tensor) else type(params).__name__}",
            "write Adam(model.parameters(), lr=1e-3), or Adam([w, b])",
        )
    groups = list(params)
    if not groups:
        raise ArgumentError("optimizer got an empty parameter list", "the module may have no parameters registered")
    return groups if isinstance(groups[0], Mapping) else [{"params": groups}]


def named_apart(group: Mapping[str, Any]) -> dict[str, Any]:
    """The group with names of parameters, where it has pairs (name, parameter), under "param_names"."""
    params = group["params"]
    if isinstance(params, (Operators, np.ndarray, str, set, frozenset)) or not isinstance(params, Iterable):
        return dict(group)
    params = list(params)
    pairs = [isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str) for p in params]
    if not any(pairs):
        return {**group, "params": params}
    if not all(pairs):
        raise ArgumentError("all optimizer params should be with/without names. Some param names are missing")
    return {**group, "params": [p for _, p in params], "param_names": [name for name, _ in params]}


def checked_params(params: Any, known: set[int]) -> list[Any]:
    """The parameters of one group; `known` are the ids of those in other groups. Raises ArgumentError."""
    if isinstance(params, (set, frozenset)):
        raise ArgumentError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    result = [params] if isinstance(params, Operators) else list(params)
    for p in result:
        if isinstance(p, Symbol) and not isinstance(p, MetaTensor):
            if p.node.op.leaf != "variable":
                raise ArgumentError(f"optimizer can only optimize Variables, but one of the params is {p.describe()}")
        elif not isinstance(p, (Tensor, MetaTensor)):
            raise ArgumentTypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
        elif not p.is_leaf:
            raise ArgumentError(
                "can't optimize a non-leaf Tensor",
                "it is the result of an operation: optimize the leaves it was made of, or x.detach()",
            )
    ids = [id(p) for p in result]
    if len(set(ids)) != len(ids):
        warn_former(
            "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
            "see github.com/pytorch/pytorch/issues/40967 for more information",
            UserWarning,
        )
    if known & set(ids):
        raise ArgumentError("some parameters appear in more than one parameter group")
    return result


# numbers --------------------------------------------------------------------------------------------------------------


def reader(group: ParamGroup, graph: Any) -> Callable[[str], Any]:
    """Hyper-parameters by name, 0-d float64: tensors in eager mode; in a graph or trace, leaves that each run reads."""
    known: dict[str, Any] = {}

    def read(name: str) -> Any:
        if name not in known:
            check_read(group, f"the hyper-parameter {name!r}")
            value = group[name]
            if not isinstance(value, Operators):
                value = hyper(group, name, graph)
            if not isinstance(value, Operators):
                value = Tensor(np.asarray(value, np.float64))
                vars(value)["_number"] = group, name
            known[name] = value
        return known[name]

    return read


def narrowed(read: Callable[[str], Any], derived: dict[str, Any], dtype: np.dtype) -> Callable[[str], Any]:
    """The same numbers, and `derived` ones, in the parameters' dtype, rounded alike in every mode; dicts stay float64."""
    known: dict[str, Any] = {}

    def narrow(name: str) -> Any:
        if name not in known:
            value = derived[name] if name in derived else read(name)
            known[name] = value if isinstance(value, dict) else F.astype(value, dtype)
        return known[name]

    return narrow
