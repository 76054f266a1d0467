"""The state of a model and its optimizers with names that do not depend on how the model is wrapped, or on who holds what.

Names are those of the plain model: the prefix "module." of `DistributedDataParallel` is left out. Optimizers have the names of
parameters in place of their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import ArgumentError
from ..collectives import broadcast_object_list
from ..process_groups import get_rank, is_initialized
from .index import state_of

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip
WRAPPERS = "DistributedDataParallel", "DataParallel"


@dataclass
class StateDictOptions:
    """How states are read and written. full_state_dict with cpu_offload: process 0 alone gets a state, the others an empty
    dict. ignore_frozen_params: leave out parameters that are not trained. strict: raise for names that do not fit.
    broadcast_from_rank0: all processes load the state of process 0. flatten_optimizer_state_dict: one flat dict, with keys
    such as "state.0.weight.exp_avg"."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


def _checked(options: StateDictOptions | None, submodules: Any = None) -> StateDictOptions:
    if submodules:
        raise ArgumentError("submodules is not supported", "pass the submodule as the model")
    return StateDictOptions() if options is None else options


def _plain(name: str, prefixes: Iterable[str]) -> str:
    for prefix in prefixes:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix).partition(".")[2]
            name = prefix + rest
    return name


def _names(model: Any) -> dict[str, str]:
    """The plain name of each of a model's own names."""
    wrapped = sorted(
        (n + "." * bool(n) for n, m in model.named_modules() if type(m).__name__ in WRAPPERS), key=len, reverse=True
    )
    return {name: _plain(name, wrapped) for name in [*model.state_dict(), *(name for name, _ in model.named_parameters())]}


def _here(options: StateDictOptions) -> bool:
    """Whether this process gets the state."""
    alone = options.full_state_dict and options.cpu_offload and is_initialized()
    return not alone or get_rank() == 0


def get_model_state_dict(model: Any, *, submodules: Any = None, options: StateDictOptions | None = None) -> dict[str, Any]:
    """The parameters and buffers of a model by their plain names. Raises ArgumentError for submodules."""
    options = _checked(options, submodules)
    names = _names(model)
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad} if options.ignore_frozen_params else set()
    found = {names[name]: value for name, value in model.state_dict().items() if name not in frozen}
    return found if _here(options) else {}


def _several(optimizers: Any) -> list[Any]:
    return [optimizers] if hasattr(optimizers, "param_groups") else list(optimizers)


def _numbers(model: Any, optimizer: Any) -> list[str]:
    """The plain names of an optimizer's parameters, by number. Raises ArgumentError for one that is not the model's."""
    names, of = _names(model), {id(p): name for name, p in model.named_parameters()}
    members = [p for group in optimizer.param_groups for p in group["params"]]
    if any(id(p) not in of for p in members):
        raise ArgumentError("an optimizer has parameters that are not the model's", "pass the model that it trains")
    return [names[of[id(p)]] for p in members]


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of optimizers by the plain names of the model's parameters. Raises ArgumentError for parameters of others."""
    options = _checked(options, submodules)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _several(optimizers):
        names, own = _numbers(model, optimizer), state_of(optimizer)
        state |= {names[i]: slots for i, slots in own["state"].items()}
        groups += [{**group, "params": [names[i] for i in group["params"]]} for group in own["param_groups"]]
    if not _here(options):
        return {}
    return {"state": state, "param_groups": groups} if not options.flatten_optimizer_state_dict else dict(_flat(state, groups))


def _flat(state: Mapping[str, Any], groups: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, slots in state.items():
        yield from ((f"state.{name}.{slot}", value) for slot, value in slots.items())
    for group in groups:
        for name in group["params"]:
            yield from ((f"param_groups.{name}.{key}", value) for key, value in group.items() if key != "params")


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both: (that of the model, that of the optimizers)."""
    model_state = get_model_state_dict(model, submodules=submodules, options=options)
    return model_state, get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options)


def _of_rank0(state: Any, options: StateDictOptions) -> Any:
    told = [state]
    if options.broadcast_from_rank0 and is_initialized():
        broadcast_object_list(told, 0)
    return told[0]


def set_model_state_dict(model: Any, model_state_dict: Mapping[str, Any], *, options: StateDictOptions | None = None) -> Any:
    """Load a state that `get_model_state_dict` gave. Returns what `model.load_state_dict` returns."""
    options = _checked(options)
    state, names = _of_rank0(model_state_dict, options), _names(model)
    own = {plain: name for name, plain in names.items()}
    strict = options.strict and not options.ignore_frozen_params
    return model.load_state_dict({own.get(name, name): value for name, value in state.items()}, strict=strict)


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: Mapping[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Load a state that `get_optimizer_state_dict` gave. Raises ArgumentError for one without some parameter."""
    options = _checked(options)
    given = _of_rank0(optim_state_dict, options)
    for optimizer in _several(optimizers):
        names, own = _numbers(model, optimizer), state_of(optimizer)
        numbers = {name: i for i, name in enumerate(names)}
        groups = [_group(group, [names[i] for i in group["params"]], given) for group in own["param_groups"]]
        state: dict[int, Any] = {}
        for name, i in numbers.items():
            prefix = f"state.{name}."
            flat = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
            slots = given["state"].get(name) if "state" in given else flat
            if slots:
                state[i] = slots
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def _group(group: Mapping[str, Any], names: list[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """A group with what a state says of it."""
    found: Mapping[str, Any] | None = None
    if "param_groups" in given:
        found = next((other for other in given["param_groups"] if {*other["params"]} == {*names}), None)
    else:
        prefix = f"param_groups.{names[0]}." if names else "param_groups."
        found = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
    if not found:
        raise ArgumentError(
            f"the state has no group of the parameters {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}",
            "pass the state of the same model and optimizers",
        )
    return {**group, **found, "params": group["params"]}


def set_state_dict(
    model: Any, optimizers: Any, *, model_state_dict: Mapping[str, Any], optim_state_dict: Mapping[str, Any],
    options: StateDictOptions | None = None,
) -> Any:  # fmt: skip
    """Load both. Returns what `model.load_state_dict` returns."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
