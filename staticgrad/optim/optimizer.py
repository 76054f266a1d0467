"""Optimizer: one update rule for eager steps, traced steps and graphs.

A subclass writes `rule`, a pure function in this library's ops, and says which `slots` (values per parameter) it keeps.
Eager `step()` writes its results into the parameters' and slots' memory; while tracing, the same code becomes assigns
of the compiled step; `minimize` on a symbolic loss makes slots Variables of the graph and returns one operation.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..base.communicators import divided
from ..base.dtypes import PART_OF
from ..base.types import get_default_dtype, part_dtype, shape_text
from ..eager import Tensor, enable_grad, grad
from ..eager.calls.kernels import OFF
from ..eager.grad_mode import modes
from ..eager.inplace import check_writeable, replace, tracer
from ..eager.tensor import Structure
from ..errors import ArgumentError, GradientError, GraphError, NoDataError, ShapeError
from ..nn.parameter import clear_gradients
from ..ops.operators import F, MetaTensor, Output, Symbol, check_change, frontends, state
from ..ops.operators import Tensor as AnyTensor
from ..ops.operators.lifted import MEMORY
from ..tracing.after_run import guard_read
from .groups import (
    TITLES,
    CountedList,
    Hooked,
    Member,
    ParamGroup,
    ParamGroups,
    as_groups,
    as_tuple,
    at_least_zero,
    check_switches,
    checked_params,
    flag,
    named_apart,
    narrowed,
    reader,
    two_below_one,
)
from .native_step import native_step
from .state_io import load, save

if TYPE_CHECKING:
    from ..static import Operation

Hyper = Callable[[str], Any]
Named = dict[str, Any]
"""Slots by name, and what they become."""
Updated = tuple[AnyTensor, Named]
"""A parameter and its slots after a step."""
Constructor = TypeVar("Constructor", bound=Callable[..., None])


class Slots(dict[Any, Any]):
    """A dict whose members compiled steps are bound to: changes of them are counted in `Structure`."""

    counted = True
    """Whether an optimizer's rule reads the members. Those of a user's own `step` are guarded where it reads them."""

    def put(self, key: Any, value: Any) -> None:
        """Set an item, for the optimizer itself, which does so in traces too."""
        if self.counted and self.get(key, self) is not value:
            Structure.changes += self.counted
        super().__setitem__(key, value)

    def _check(self) -> None:
        """Raises TraceError for a change that is not observed."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check()
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self._check()
        Structure.changes += self.counted
        super().__delitem__(key)

    def clear(self) -> None:
        self._check()
        Structure.changes += self.counted
        super().clear()

    def pop(self, *args: Any) -> Any:
        self._check()
        Structure.changes += self.counted
        return super().pop(*args)

    def popitem(self) -> Any:
        self._check()
        Structure.changes += self.counted
        return super().popitem()

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __ior__(self, other: Any) -> Slots:  # type: ignore[misc]
        self.update(other)
        return self


class State(Slots):
    """The slots of each parameter; a parameter that is not there gets an empty dict when it is asked for, as in PyTorch. None
    at all are no change."""

    def _check(self) -> None:
        if self.counted:
            check_change(None, "the state of an optimizer is changed")

    def __missing__(self, key: Any) -> Slots:
        made = Slots()
        made.counted = self.counted
        dict.__setitem__(self, key, made)
        return made

    def put(self, key: Any, value: Any) -> None:
        slots = value if type(value) is Slots else Slots(value)
        slots.counted = self.counted
        if slots or self.get(key):
            super().put(key, slots)
        else:
            dict.__setitem__(self, key, slots)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = {} if default is None else default
        return self[key]


def hyperparameters(**fixed: Any) -> Callable[[Constructor], Constructor]:
    """Make a constructor of its signature: the arguments after `params` are the hyper-parameters, `fixed` are further ones.

    Several numbers, such as betas, may be any sequence.
    """

    def made(signature_only: Constructor) -> Constructor:
        signature = inspect.signature(signature_only)
        several = {name for name, p in signature.parameters.items() if isinstance(p.default, tuple)}

        @functools.wraps(signature_only)
        def __init__(self: Optimizer, *args: Any, **named: Any) -> None:
            signature_only(self, *args, **named)  # raises TypeError for arguments that it doesn't have
            given = signature.bind(self, *args, **named)
            given.apply_defaults()
            _, params, *values = given.arguments.items()
            defaults = {name: as_tuple(value) if name in several else value for name, value in values}
            Optimizer.__init__(self, params[1], {**defaults, **fixed})

        return __init__  # type: ignore[return-value]

    return made


def with_decay(p: AnyTensor, g: AnyTensor, hyper: Hyper, group: ParamGroup) -> AnyTensor:
    """The gradient with weight decay added: that of weight_decay |p|^2 / 2."""
    return g + hyper("weight_decay") * p if group.uses("weight_decay") else g


class Optimizer(Hooked):
    """Base of all optimizers.

    params: an iterable of leaf Tensors (or of Variables), or of dicts {"params": ..., "lr": ...} with hyper-parameters
    of their own; None: all trainable variables of the graph that `minimize` is called on. defaults: hyper-parameters
    by name. Raises ArgumentError for an empty list, a non-leaf, a parameter that is named twice.

    param_groups: list of dicts; write `group["lr"]` at any time, compiled steps and graphs read it at each run.
    state: the slots of each parameter, Tensors; `step`, where steps are counted, is shared by those with equal counts.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]):
        self.defaults = defaults
        self.param_groups: list[ParamGroup] = []  # which becomes a `ParamGroups`
        self.state: dict[Any, dict[str, Tensor]] = {}  # which becomes a `State`
        self.variables: dict[Any, dict[str, Any]] = {}
        """Slots in graphs: by variable, and step counts by (graph, group)."""
        self._opt_called = False
        """Whether a step was taken, which schedules expect before they take theirs."""
        self._shared: tuple[int, bool] = (-1, False)
        """A count of changes, and whether parameters then shared memory."""
        self.implicit = params is None
        for group in [{"params": []}] if params is None else as_groups(params):
            self.add_param_group(group)

    def __setattr__(self, name: str, value: Any) -> None:
        """Compiled steps rely on the members: `state`, `param_groups`, methods that are replaced."""
        if name == "state" and type(value) is not State:
            value, given = State(), value
            value.counted = self.has_rule()
            value.update(given)
        if name == "param_groups" and not (value and all(isinstance(group, ParamGroup) for group in value)):
            value, given = ParamGroups(), value
            value.sense = self.sense
            value.extend(given)
        if not isinstance(getattr(type(self), name, None), property) and vars(self).get(name, self) is not value:
            Structure.changes += 1
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        Structure.changes += 1
        object.__delattr__(self, name)

    # the rule, in subclasses ------------------------------------------------------------------------------------------

    not_negative: ClassVar[tuple[str, ...]] = ()
    """Hyper-parameters that are numbers >= 0; two of them below 1 are `betas`."""
    flags: ClassVar[tuple[str, ...]] = ()
    """Hyper-parameters that are True or False."""
    kept_slots: ClassVar[tuple[str, ...]] = ()
    counts_steps: ClassVar[bool] = False

    def check(self, group: ParamGroup) -> None:
        """Raise ArgumentError for a hyper-parameter that makes no sense."""
        for name in self.not_negative:
            if name == "betas":
                two_below_one(group[name])
            else:
                at_least_zero(TITLES.get(name, f"{name} value"), group[name])
        for name in self.flags:
            flag(name, group.get(name, False))

    def sense(self, group: ParamGroup) -> None:
        """As `check`, of a group whose hyper-parameters are written later: it may be laxer, as schedulers go to 0."""
        self.check(group)

    def slots(self, group: ParamGroup) -> tuple[str, ...]:
        """Names of the values kept per parameter: `kept_slots`, unless a flag of the group decides."""
        return self.kept_slots

    def kept(self, group: ParamGroup, p: Any) -> tuple[str, ...]:
        """Those of `slots` that this parameter has."""
        return self.slots(group)

    scalar_slots: ClassVar[frozenset[str]] = frozenset()
    """Those of `slots` that are one real number; the others have the parameter's shape unless `first` says otherwise."""

    def start(self, name: str, group: ParamGroup) -> Any:
        """A slot's value before the first step, a number."""
        return 0.0

    def first(self, name: str, p: Any, group: ParamGroup) -> np.ndarray:
        """The same as an array."""
        scalar, value = name in self.scalar_slots, self.start(name, group)
        if p.dtype in PART_OF and not scalar:
            value = complex(value, value)
        return np.full(() if scalar else p.shape, value, part_dtype(p.dtype) if scalar else p.dtype)

    def ascent(self, g: Any, group: ParamGroup) -> Any:
        """The gradient of what is minimized: -g where the group maximizes."""
        return -g if group.get("maximize") else g

    def counts(self, group: ParamGroup) -> bool:
        """Whether `scalars` needs the number of steps: `counts_steps`, unless a flag of the group decides."""
        return self.counts_steps

    saves_count: ClassVar[bool] = True
    """Whether state dicts have the number of steps: PyTorch's SGD keeps none, and knows a first step by the missing slot."""

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        """Numbers that all parameters share, by name, computed once per step, in float64 in every mode.

        hyper(name): a hyper-parameter, 0-d float64. t: this step's number, from 1, 0-d float64; None where
        no steps are counted. A dict of numbers reaches `rule` in float64, for arithmetic with scalar slots.
        """
        return {}

    def rule(self, p: AnyTensor, g: AnyTensor, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        """(new p, new slots) from a parameter, its gradient and its slots.

        hyper(name): a hyper-parameter or one of `scalars`, in p's dtype. `group` is for flags that Python decides on.
        """
        raise NotImplementedError

    def _rule_of_parts(self, p: AnyTensor, g: AnyTensor, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        """The rule of a complex parameter: that of its real and imaginary parts, as in PyTorch."""
        parts = {name: F.view_as_real(slot) if slot.dtype in PART_OF else slot for name, slot in slots.items()}
        new_p, new_parts = self.rule(F.view_as_real(p), F.view_as_real(g), parts, hyper, group)
        new_slots = {
            name: F.view_as_complex(value) if slots[name].dtype in PART_OF else value for name, value in new_parts.items()
        }
        return F.view_as_complex(new_p), new_slots

    def has_rule(self) -> bool:
        """Whether the class says what a step computes. One that is written as PyTorch's are, with a `step` of its own, does
        not, and may keep anything in `state`."""
        return type(self).rule is not Optimizer.rule or type(self).updates is not Optimizer.updates

    def updates(self, group: ParamGroup, step: Any, members: list[Member], graph: Any = None) -> list[tuple[Any, Any]]:
        """(place, its new value) for all that a step changes in members that share the step count `step`."""
        read = reader(group, graph)
        result: list[tuple[Any, Any]] = []
        t = None
        if step is not None:
            t = F.astype(step, np.float64) + 1
            result.append((step, F.astype(t, step.dtype)))
        derived = self.scalars(group, read, t)
        by_dtype: dict[np.dtype, Hyper] = {}
        for p, g, slots in members:
            if p.dtype not in by_dtype:
                by_dtype[p.dtype] = narrowed(read, derived, part_dtype(p.dtype))
            rule = self._rule_of_parts if p.dtype in PART_OF else self.rule
            new_p, new_slots = rule(p, self.ascent(g, group), slots, by_dtype[p.dtype], group)
            result.append((p, F.astype(new_p, p.dtype)))
            result.extend((slots[name], F.astype(value, slots[name].dtype)) for name, value in new_slots.items())
        return result

    # groups -----------------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Add {"params": ..., hyper-parameters}; missing hyper-parameters take the default. Raises ArgumentError."""
        if not isinstance(param_group, Mapping) or "params" not in param_group:
            raise ArgumentError(f"param_group must be a dict with 'params', got {type(param_group).__name__}")
        param_group = named_apart(param_group)
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            which = "with" if "param_names" in param_group else "without"
            raise ArgumentError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {which} names to the optimizer"
            )
        known = {id(p) for other in self.param_groups for p in other["params"]}
        merged = ParamGroup(self.defaults)
        merged.update(param_group)
        merged["params"] = CountedList(checked_params(param_group["params"], known))
        check_switches(merged)
        self.check(merged)
        merged.sense = self.sense
        self.param_groups.append(merged)

    def parameters(self) -> list[Any]:
        """All parameters, group by group."""
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def lr(self) -> float | AnyTensor:
        """The learning rate of the first group; written, that of all groups."""
        guard_read(self.param_groups[0], "lr")
        return self.param_groups[0]["lr"]

    @lr.setter
    def lr(self, value: float | AnyTensor) -> None:
        for group in self.param_groups:
            group.check({"lr": value})
        for group in self.param_groups:
            group["lr"] = value

    def structure(self) -> tuple[tuple[str, Hashable], ...]:
        """(path, fact) for all that a traced step depends on beside numbers: equal structures run one compiled step."""
        facts: list[tuple[str, Hashable]] = [("optimizer", (type(self).__name__, id(self)))]
        facts += [(name, value) for name, value in vars(self).items() if callable(value) and hasattr(type(self), name)]
        facts += [("state", id(self.state)), ("number of param_groups", len(self.param_groups))]
        for i, group in enumerate(self.param_groups):
            facts += [(f"param_groups[{i}].{key}", form) for key, form in group.structure()]
        i = 0
        for group in self.param_groups:
            own = {*self.slots(group), "step"} if self.has_rule() else ()
            for p in group["params"]:  # the slots of a user's `step` are guarded where it reads them
                slots = self.state.get(p, {}).items()
                facts += [(f"state[{i}].{name}", id(slot)) for name, slot in slots if name in own and isinstance(slot, Tensor)]
                i += 1
        return tuple(facts)

    # eager and traced steps -------------------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters (or fill them with zeros)."""
        clear_gradients(self._tensors("zero_grad"), set_to_none)

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Output]) -> Output: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update each parameter whose `grad` is not None.

        closure: computes the gradients first; its result is returned. All new values are computed before any is
        written: an error leaves the parameters as they were. Raises GraphError where there are no eager parameters.
        """
        self._tensors("step")
        vars(self)["_opt_called"] = True
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        parts = self._parts(self._gradients())
        fresh = () if len(parts) == 1 or self.saves_count else [p for p in self.parameters() if not self.state.get(p)]
        for i, part in enumerate(parts):
            if frontends.tracing and state.deferral is not None:
                state.deferral.step(self, part, functools.partial(self._apply, part, fresh if i else ()))
            else:
                self._apply(part, fresh if i else ())
        return loss

    def _gradients(self) -> dict[int, list[tuple[Tensor, Any]]]:
        """What a step changes, with the gradients, by position of the group."""
        groups = enumerate(self.param_groups)
        return {i: [(p, g) for p in group["params"] if (g := p.grad) is not None] for i, group in groups}

    def _check_whole(self) -> None:
        """Raises ArgumentError where processes have the gradients of some parameters each, and this optimizer would leave the
        others as they are."""
        for p in self.parameters():
            if id(p) in divided:
                raise ArgumentError(
                    f'{type(self).__name__}: DistributedDataParallel(shard="gradients") gives the gradient of a parameter of '
                    f"shape {shape_text(p.shape)} to process {divided[id(p)]} alone, so no other process would update it",
                    f"optim.ZeroRedundancyOptimizer(model.parameters(), optim.{type(self).__name__}, ...) updates all of them",
                )

    def _parts(self, gradients: dict[int, list[tuple[Tensor, Any]]]) -> Sequence[dict[int, list[tuple[Tensor, Any]]]]:
        """The gradients as those of steps that are taken one after another: several where a group names a parameter twice, or
        where one shares memory with another, which steps from the values that the one before has left."""
        now = Structure.changes - Structure.flags
        if self._shared[0] != now:
            spans = sorted(byte_bounds(p._data) for p in self.parameters() if p._data.size)
            vars(self)["_shared"] = now, any(begin < end for (_, end), (begin, _) in itertools.pairwise(spans))
        return [*_rounds(gradients)] if self._shared[1] else (gradients,)

    def _apply(self, gradients: dict[int, list[tuple[Tensor, Any]]], fresh: Sequence[Tensor] = ()) -> None:
        """One step for the parameters that have a gradient, by position of the group. fresh: those that take their first step,
        each time that a group names them."""
        if divided:
            self._check_whole()
        again = {id(p): p for pairs in gradients.values() for p, _ in pairs} if fresh else {}
        for p in fresh:
            if id(p) in again and self.state.get(p):
                if (trace := tracer()) is not None:
                    trace.refuse("a parameter that a group names twice takes its first step", "take it before the call")
                _put(self.state, p, Slots())
        native = native_step(self, gradients) if type(self).updates is Optimizer.updates else None
        if native:
            return
        before = {p: dict(slots) for p, slots in self.state.items()}
        if (trace := tracer()) is not None:  # which makes slots, though its updates are run later
            trace.undo.append(lambda: self._restore(before))
        mode = modes.now
        recording, mode.grad = mode.grad, False  # no context manager: Ctrl-C while one is left would skip its exit
        kernels, mode.kernels = mode.kernels, OFF if native is False else mode.kernels  # single ones would have no use later
        try:
            updates: list[tuple[Any, Any]] = []
            try:
                for i, pairs in gradients.items():
                    group = self.param_groups[i]
                    for step, members in self._cohorts(group, pairs):
                        updates += self.updates(group, step, members)
                if trace is None:
                    for place, _ in updates:
                        check_writeable(place, "step")
            except BaseException:
                self._restore(before)  # without the slots that were made
                raise
            try:
                _write(updates)
            except BaseException:
                if trace is None:
                    with suppress(Exception):
                        _write(updates)  # where a signal's handler raised: the whole step all the same
                raise
        finally:
            mode.grad, mode.kernels = recording, kernels

    def _restore(self, before: dict[Any, dict[str, Tensor]]) -> None:
        Structure.changes += 1
        dict.clear(self.state)
        for p, slots in before.items():
            _put(self.state, p, Slots(slots))

    def _tensors(self, what: str) -> list[Tensor]:
        """The parameters, which have to be eager tensors. Raises GraphError."""
        parameters = self.parameters()
        if self.implicit or any(isinstance(p, Symbol) for p in parameters):
            if any(isinstance(p, MetaTensor) for p in parameters):
                if what == "zero_grad":
                    return parameters
                raise NoDataError(f"{what}() of parameters on device meta, which have no values", MEMORY)
            raise GraphError(
                f"{what}() is for eager tensors, and this optimizer has "
                + ("no parameters" if self.implicit else "Variables of a graph"),
                "in a graph, run what minimize(loss) returns; in eager mode, give it model.parameters()",
            )
        return parameters

    def _cohorts(self, group: ParamGroup, pairs: list[tuple[Tensor, Any]]) -> list[tuple[Any, list[Member]]]:
        """Members by the tensor that counts their steps. Makes the slots of those that step for the first time."""
        counts = self.counts(group)
        cohorts: dict[int, tuple[Any, list[Member]]] = {}
        fresh: Tensor | None = None
        for p, g in pairs:
            if p not in self.state:
                _put(self.state, p, Slots())
                if (trace := tracer()) is not None:
                    trace.keeps(self.state[p])
            slots = self.state[p]
            for name in self.kept(group, p):
                if name not in slots:
                    _put(slots, name, Tensor(self.first(name, p, group)))
                    slots[name].name = f"{p.name}.{name}" if p.name else ""
            if counts and "step" not in slots:
                if fresh is None:
                    fresh = Tensor(np.zeros((), get_default_dtype()))
                    fresh.name = "step"
                _put(slots, "step", fresh)
            step = slots["step"] if counts else None
            cohorts.setdefault(id(step), (step, []))[1].append(Member(p, g, slots))
        if counts and len(pairs) < len(group["params"]):
            return [self._split(group, step, members) for step, members in cohorts.values()]
        return list(cohorts.values())

    def _split(self, group: ParamGroup, step: Tensor, members: list[Member]) -> tuple[Tensor, list[Member]]:
        """A count of their own for members whose fellows, without gradients, don't step with them."""
        present = {id(m.parameter) for m in members}
        absent = (self.state.get(p, {}) for p in group["params"] if id(p) not in present)
        if all(slots.get("step") is not step for slots in absent):
            return step, members
        if (trace := tracer()) is not None and trace.changes(step):
            trace.refuse(
                "some parameters of an optimizer's group step after all of them have, in one compiled function",
                "give them a group of their own",
            )
        own = Tensor(step._data.copy())
        for member in members:
            _put(member.slots, "step", own)
        Structure.changes += 1
        return own, members

    # minimize: every mode ---------------------------------------------------------------------------------------------

    def minimize(self, loss: AnyTensor, var_list: Iterable[AnyTensor] | None = None) -> Operation | None:
        """In a graph: one operation that computes the gradients of `loss` and applies them. Eager, or while tracing:
        zero_grad, backward and step, now; returns None.

        var_list: the variables to update; all parameters (trainable variables) by default. Raises ArgumentError for one that
        this optimizer does not have and, in a graph, GradientError when no gradient reaches any of them.

        Examples:
            >>> w = sg.Variable(1.0)
            >>> train = optim.SGD(lr=0.25).minimize(w * w)
            >>> with sg.Session() as sess:
            ...     sess.run(sg.global_variables_initializer())
            ...     sess.run(train), sess.run(w)
            (None, np.float32(0.5))
        """
        if isinstance(loss, Symbol) and tracer() is None:
            return self.apply_gradients(self.compute_gradients(loss, var_list))
        chosen = None if var_list is None else list(var_list)
        if chosen is not None:
            own = set(map(id, self._tensors("minimize")))
            if not all(id(p) in own for p in chosen):
                raise ArgumentError("minimize: var_list has a tensor that is not among the parameters of this optimizer")
        self.zero_grad()
        loss.backward(inputs=chosen)
        self.step()
        return None

    def compute_gradients(
        self, loss: AnyTensor, var_list: Iterable[AnyTensor] | None = None
    ) -> list[tuple[AnyTensor | None, AnyTensor]]:
        """(gradient, parameter) for each of `var_list` (all parameters unless given); None where loss does not depend.

        Touches no `.grad`.
        """
        if isinstance(loss, Symbol) and tracer() is None:
            return _symbolic().compute_gradients(self, loss, var_list)
        chosen = list(var_list) if var_list is not None else [p for p in self._tensors("compute_gradients") if p.requires_grad]
        return list(zip(grad(loss, chosen, allow_unused=True), chosen, strict=True))

    def apply_gradients(self, grads_and_vars: Iterable[tuple[AnyTensor | None, AnyTensor]]) -> Operation | None:
        """One step with the given gradients: an operation for Variables, done at once (None) for eager parameters.

        Raises GradientError when all are None, ShapeError for a gradient of another shape, ArgumentError for a
        parameter that this optimizer does not have, or that is named twice.
        """
        vars(self)["_opt_called"] = True
        given: list[tuple[Any, Any]] = list(grads_and_vars)
        pairs = [(g, p) for g, p in given if g is not None]
        if not pairs:
            names = ", ".join(getattr(p, "name", "") or repr(getattr(p, "shape", p)) for _, p in given)
            raise GradientError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables [{names}] and loss",
                "the loss has to be computed from one of them",
            )
        if len({id(p.node) if isinstance(p, Symbol) else id(p) for _, p in pairs}) != len(pairs):
            raise ArgumentError("apply_gradients: a parameter is named twice", "give the sum of its gradients")
        if any(isinstance(p, Symbol) for _, p in pairs):
            return _symbolic().apply_gradients(self, pairs)
        position = {id(p): i for i, group in enumerate(self.param_groups) for p in group["params"]}
        by_group: dict[int, list[tuple[Tensor, Any]]] = {}
        for g, p in pairs:
            if id(p) not in position:
                raise ArgumentError("apply_gradients: a parameter is not among those of this optimizer")
            if g.shape != p.shape:
                raise ShapeError(f"apply_gradients: gradient {shape_text(g.shape)}, parameter {shape_text(p.shape)}")
            by_group.setdefault(position[id(p)], []).append((p, g))
        for part in self._parts(by_group):
            self._apply(part)
        return None

    # saving -----------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """{"state": {position: slots}, "param_groups": [{hyper-parameters, "params": positions}]}, as PyTorch's: the slots are
        tensors in the optimizer's own memory, which later steps change; `copy.deepcopy(optimizer.state_dict())` keeps
        values. Only `step` is a copy. The values of slots in graphs are in their Sessions, not here."""
        for hook in self._called("state_dict_pre"):
            hook(self)
        saved = save(self)
        for hook in self._called("state_dict_post"):
            changed = hook(self, saved)
            saved = saved if changed is None else changed
        return saved

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over hyper-parameters and copies of slots; existing slots keep their memory. Raises before anything is changed:
        ArgumentError for other groups, ShapeError for a slot of another shape."""
        for hook in self._called("load_pre"):
            changed = hook(self, dict(state_dict))
            state_dict = state_dict if changed is None else changed
        load(self, state_dict)
        for hook in self._called("load_post"):
            hook(self)

    def __repr__(self) -> str:
        for group in self.param_groups:
            guard_read(group, *group)
        groups = [
            f"\nParameter Group {i}\n" + "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            for i, group in enumerate(self.param_groups)
        ]
        return f"{type(self).__name__} ({''.join(groups)})"


def _rounds(gradients: dict[int, list[tuple[Tensor, Any]]]) -> Iterator[dict[int, list[tuple[Tensor, Any]]]]:
    """The gradients of one step as those of several, in each of which no parameter shares memory with another."""
    left = gradients
    while any(left.values()):
        found: dict[int, list[tuple[Tensor, Any]]] = {}
        later: dict[int, list[tuple[Tensor, Any]]] = {}
        seen: list[np.ndarray] = []
        for i, pairs in left.items():
            for p, g in pairs:
                waits = any(np.may_share_memory(p._data, other) for other in seen)
                (later if waits else found).setdefault(i, []).append((p, g))
                seen.append(p._data)
        yield found
        left = later


def _put(slots: Any, key: Any, value: Any) -> None:
    slots.put(key, value)


def _write(updates: list[tuple[Any, Any]]) -> None:
    for place, value in updates:
        replace(place, value, "step")


def _symbolic() -> Any:
    """The part for graphs, which loads the graph front end: when a graph is used."""
    from . import symbolic

    return symbolic
