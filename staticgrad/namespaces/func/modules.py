"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import ArgumentError, TransformError
from ...nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Module
from ...ops.operators import F

State = dict[str, Any]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` itself: what a trace or a transform records of it has no changes in place. Raises ArgumentError for another word
    than "mutations" and "mutations_and_views"."""
    if remove not in ("mutations", "mutations_and_views"):
        raise ArgumentError(f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}")
    return func


def functional_call(
    module: Module, parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]], args: Any = None,
    kwargs: Mapping[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """`module(*args, **kwargs)` with other tensors for its parameters and buffers, by dotted name; several dicts are joined.

    args: a tuple, or the only argument. tie_weights: a tensor that the module holds under several names is replaced under
    all. strict: every name has to be given, and no other. Raises ArgumentError for a name that the module hasn't, for one
    tensor that is given two values, and for a name that occurs in two dicts.

    Examples:
        >>> model = sg.nn.Linear(2, 1, bias=False)
        >>> sg.func.functional_call(model, {"weight": sg.tensor([[1.0, 2.0]])}, sg.tensor([10.0, 1.0]))
        tensor([12.])
    """
    given: State = {}
    dicts = (parameter_and_buffer_dicts,) if isinstance(parameter_and_buffer_dicts, Mapping) else parameter_and_buffer_dicts
    for part in dicts:
        if not isinstance(part, Mapping):
            raise ArgumentError(
                "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                f"{type(parameter_and_buffer_dicts)}"
            )
        twice = [name for name in part if name in given]
        if twice:
            raise ArgumentError(f"{twice[0]} appears in multiple dictionaries; behavior of functional call is ambiguous")
        given.update(part)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*positional, **({} if kwargs is None else kwargs))


@contextmanager
def _replaced(module: Module, given: State, tie: bool, strict: bool) -> Iterator[None]:
    """The module holds other tensors meanwhile. Its own come back whatever happens."""
    places = _places(module)
    unknown = [name for name in given if name not in places]
    missing = [name for name in places if name not in given]
    if unknown and not strict:
        raise ArgumentError(f"functional_call: {type(module).__name__} has no attribute {unknown[0]!r}", f"it has {[*places]}")
    if strict and (unknown or missing):
        raise ArgumentError(f"Missing key(s): {missing}. Unexpected key(s): {unknown}.", "functional_call: strict=True")
    wanted = dict(given)
    if tie:
        names: dict[int, list[str]] = {}
        for name, (own, key) in places.items():
            names.setdefault(id(own[key]), []).append(name)
        for tied in names.values():
            values = {id(given[name]): given[name] for name in tied if name in given}
            if len(values) > 1:
                raise ArgumentError(f"functional_call got multiple values for keys {sorted(tied)}, which are tied.")
            for value in values.values():
                wanted.update(dict.fromkeys(tied, value))
    former = [(*places[name], places[name][0][places[name][1]]) for name in wanted]
    try:
        for name, value in wanted.items():
            own, key = places[name]
            own[key] = value
        yield
    finally:
        for own, key, value in former:
            own[key] = value


def _places(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer is held, by dotted name."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        for members in (part._parameters, part._buffers):
            for key, tensor in members.items():
                if tensor is not None:
                    found[f"{prefix}.{key}" if prefix else key] = vars(part), key
    return found


def stack_module_state(models: Sequence[Module]) -> tuple[State, State]:
    """The parameters and the buffers of models of one architecture, each stacked along a new first axis, for `vmap` over an
    ensemble. Stacked parameters are leaves that require grad as the models' own do. Raises TransformError for no models,
    for models of different classes or modes, and for parameters of which only some require grad.
    """
    models = list(models)
    if not models:
        raise TransformError("stack_module_state: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise TransformError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise TransformError("stack_module_state: Expected all models to be of the same class.")
    return _stacked([dict(m.named_parameters()) for m in models]), _stacked([dict(m.named_buffers()) for m in models])


def _stacked(states: list[State]) -> State:
    found = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        flags = [t.requires_grad for t in tensors]
        if any(flags) and not all(flags):
            raise TransformError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = F.stack([t.detach() for t in tensors], 0)
        found[name] = stacked.requires_grad_(True) if flags[0] else stacked
    return found


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let the batch norms of a module do without running statistics, which functions under `vmap` can't change; they use those
    of each batch from then on. Returns the module, changed in place."""
    for module in root.modules():
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            module.track_running_stats = False
            module.running_mean = module.running_var = module.num_batches_tracked = None
    return root
