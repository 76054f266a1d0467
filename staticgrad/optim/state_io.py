"""An optimizer's state as a dict in PyTorch's layout, and back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.types import FLOATING, get_default_dtype, shape_text
from ..eager import Tensor, no_grad
from ..eager.inplace import replace, tracer
from ..eager.tensor import Structure
from ..errors import ArgumentError, ShapeError
from ..nn.state_dict import detached, snapshot
from ..ops.operators import Operators, as_array
from .groups import ParamGroup

if TYPE_CHECKING:
    from .optimizer import Optimizer

STEP = "step"


def save(optimizer: Optimizer) -> dict[str, Any]:
    """See `Optimizer.state_dict`."""
    parameters = optimizer.parameters()
    trace = tracer()
    if trace is not None:  # hyperparameters would be those of the time of tracing
        for p in parameters:
            trace.no_value(p, "a copy")
    position: dict[int, int] = {}
    for i, p in enumerate(parameters):
        position.setdefault(id(p), i)
    return {
        "state": {
            i: _shown(_ordered(optimizer.state[p], optimizer.saves_count))
            for i, p in enumerate(parameters)
            if position[id(p)] == i and optimizer.state.get(p)
        },
        "param_groups": [
            {**{k: v for k, v in group.items() if k != "params"}, "params": [position[id(p)] for p in group["params"]]}
            for group in optimizer.param_groups
        ],
    }


def _shown(slots: Mapping[str, Any]) -> dict[str, Any]:
    """The slots in their own memory, as in PyTorch: whoever writes one changes the optimizer. The count of steps is a copy,
    because parameters share it. Those of a user's own rule may be numbers and anything else."""
    tensors: dict[str, Any] = {name: value for name, value in slots.items() if isinstance(value, Operators)}
    shown = {**detached(tensors), **snapshot({name: value for name, value in tensors.items() if name == STEP})}
    return {**slots, **shown}


def _ordered(slots: Mapping[str, Tensor], counted: bool) -> dict[str, Tensor]:
    """The count of steps first, as in PyTorch, or left out."""
    count = {STEP: slots[STEP]} if STEP in slots and counted else {}
    return {**count, **{name: value for name, value in slots.items() if name != STEP}}


def load(optimizer: Optimizer, saved: Mapping[str, Any]) -> None:
    """See `Optimizer.load_state_dict`."""
    check_saved(optimizer, saved)
    groups = saved["param_groups"]
    positions = [i for group in groups for i in group["params"]]
    owners = [(group, p) for group in optimizer.param_groups for p in group["params"]]
    if not optimizer.has_rule():
        for i, (_, p) in zip(positions, owners, strict=True):
            optimizer.state[p] = {name: _taken(name, value, p) for name, value in saved["state"].get(i, {}).items()}
        for group, values in zip(optimizer.param_groups, groups, strict=True):
            group.update(hyper_of(values))
        return
    loaded = {
        id(p): _arrays(optimizer, group, p, saved["state"].get(i, {})) for i, (group, p) in zip(positions, owners, strict=True)
    }
    for group, values in zip(optimizer.param_groups, groups, strict=True):
        group.check(hyper_of(values))
    with no_grad():
        for group, values in zip(optimizer.param_groups, groups, strict=True):
            group.update(hyper_of(values))
            if not optimizer.counts(group) and not optimizer.saves_count:
                for p in group["params"]:
                    loaded[id(p)].pop(STEP, None)
            for p in group["params"]:
                _restore_slots(optimizer, group, p, loaded[id(p)])
            _restore_steps(optimizer, group, {id(p): float(loaded[id(p)].get(STEP, 0.0)) for p in group["params"]})
    Structure.changes += 1


def _taken(name: str, value: Any, p: Tensor) -> Any:
    """A slot of an optimizer that takes steps of its own: a copy of whatever was saved, floats in the parameter's dtype."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    floats = value._data.dtype.kind == p._data.dtype.kind in FLOATING
    return Tensor(value._data.astype(p._data.dtype if floats and name != STEP else value._data.dtype))


def check_saved(optimizer: Optimizer, saved: Mapping[str, Any]) -> None:
    """Raises ArgumentError unless it has the form of a state dict, with groups as the optimizer's."""
    if not isinstance(saved, Mapping) or not {"state", "param_groups"} <= saved.keys():
        raise ArgumentError(
            f"an optimizer's state dict has 'state' and 'param_groups', got {_names(saved)}", "save optimizer.state_dict()"
        )
    groups = saved["param_groups"]
    if not isinstance(groups, (list, tuple)) or not all(isinstance(g, Mapping) and "params" in g for g in groups):
        raise ArgumentError("loaded state dict: 'param_groups' has to be a list of dicts with 'params'")
    if not isinstance(saved["state"], Mapping) or not all(isinstance(slots, Mapping) for slots in saved["state"].values()):
        raise ArgumentError("loaded state dict: 'state' has to be a dict of dicts, by the position of each parameter")
    if len(groups) != len(optimizer.param_groups):
        raise ArgumentError("loaded state dict has a different number of parameter groups")
    if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, optimizer.param_groups, strict=True)):
        raise ArgumentError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")


def hyper_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The hyper-parameters of a saved group; a file may hold lists for tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k != "params"}


def _names(saved: Any) -> str:
    return f"{', '.join(map(repr, saved)) or 'nothing'}" if isinstance(saved, Mapping) else type(saved).__name__


def _arrays(optimizer: Optimizer, group: ParamGroup, p: Any, slots: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The saved slots in the dtypes they will have. Raises ShapeError.

    A parameter with slots but no count has taken a step: PyTorch counts none where the presence of a slot tells as much. The
    hyper-parameters that are loaded decide whether it is needed.
    """
    result = {}
    for name, value in slots.items():
        if value is None:
            continue
        array = value._data if isinstance(value, Tensor) else as_array(np.asarray(value))
        first = np.zeros((), get_default_dtype()) if name == STEP else optimizer.first(name, p, group)
        if array.shape != first.shape:
            raise ShapeError(
                f"loaded state dict has a slot {name} of shape {shape_text(array.shape)} where the parameter needs "
                f"{shape_text(first.shape)}"
            )
        result[name] = array.astype(first.dtype)
    if result and STEP not in result and (optimizer.counts(group) or not optimizer.saves_count):
        result[STEP] = np.ones((), get_default_dtype())
    return result


def _restore_slots(optimizer: Optimizer, group: ParamGroup, p: Tensor, arrays: dict[str, np.ndarray]) -> None:
    """Slots that were not saved are as before the first step."""
    own = optimizer.state.setdefault(p, {}) if arrays else optimizer.state.get(p, {})
    for name in dict.fromkeys([*own, *arrays]):
        if name == STEP:  # its value, and who shares it: `_restore_steps`
            own.setdefault(STEP, Tensor(np.zeros((), get_default_dtype())))
            continue
        array = arrays[name] if name in arrays else optimizer.first(name, p, group)
        if name in own:
            replace(own[name], Tensor(array), "load_state_dict")
        else:
            own[name] = Tensor(array)


def _restore_steps(optimizer: Optimizer, group: ParamGroup, wanted: dict[int, float]) -> None:
    """Counts that are equal are one tensor; one that fits all of its parameters keeps its memory."""
    slots = [(optimizer.state[p], wanted[id(p)]) for p in group["params"] if STEP in optimizer.state.get(p, {})]
    values: dict[int, set[float]] = {}
    for own, value in slots:
        values.setdefault(id(own[STEP]), set()).add(value)
    shared: dict[float, Tensor] = {}
    for own, value in slots:
        fits = len(values[id(own[STEP])]) == 1
        own[STEP] = shared.setdefault(value, own[STEP] if fits else Tensor(np.zeros((), get_default_dtype())))
    for value, step in shared.items():
        replace(step, Tensor(np.full((), value, step.dtype)), "load_state_dict")
