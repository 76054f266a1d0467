"""Parameters that are functions of others: `module.weight` computes them anew at each use, so they are recorded, traced
and differentiated as any other result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ...eager import Tensor, no_grad
from ...eager.inplace import replace
from ...errors import ArgumentError
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter
from ..state_dict import BUFFER, PARAMETER

NAME = "parametrizations"
_cache: dict[tuple[int, str], Any] = {}
_cached = 0


@contextmanager
def cached() -> Iterator[None]:
    """Inside, each parametrized tensor is computed once."""
    global _cached
    _cached += 1
    try:
        yield
    finally:
        _cached -= 1
        if not _cached:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The functions of one tensor, applied in order to `original` (or `original0`, `original1`, ... where the first
    function's `right_inverse` gives several)."""

    def __init__(self, modules: list[Module], original: Tensor):
        super().__init__(modules)
        values: Any = original.detach()
        for module in reversed(modules):
            inverse = getattr(module, "right_inverse", None)
            if inverse is not None:
                with no_grad(), suppress(NotImplementedError):  # the value is the original then
                    values = inverse(values)
        self.several = isinstance(values, (tuple, list))
        names = [f"original{i}" for i in range(len(values))] if self.several else ["original"]
        self.names = tuple(names)
        for name, value in zip(names, values if self.several else [values], strict=True):
            if not self.several and value.shape == original.shape and value.dtype == original.dtype:
                with no_grad():
                    replace(original, value, "register_parametrization")
                place: Any = original  # the tensor that optimizers may know
            else:
                place = Parameter(value.detach(), original.requires_grad) if original._parameter else value.detach()
            if original._parameter:
                self.register_parameter(name, place)
            else:
                self.register_buffer(name, place)

    def forward(self) -> Any:
        first, *rest = self
        x = first(*(getattr(self, name) for name in self.names))
        for module in rest:
            x = module(x)
        return x

    def right_inverse(self, value: Any) -> None:
        """Write originals that give `value`. Raises ArgumentError where a function has no `right_inverse`."""
        with no_grad():
            for module in reversed(list(self)):
                inverse = getattr(module, "right_inverse", None)
                if inverse is None:
                    raise ArgumentError(
                        f"parametrization {type(module).__name__} does not implement right_inverse.",
                        "the tensor can't be assigned; write its original",
                    )
                value = inverse(value)
            for name, part in zip(self.names, value if self.several else [value], strict=True):
                getattr(self, name).copy_(part)


class Computed(property):
    """An attribute of a module that a rule computes: `rule.get(module)`, and `rule.put(module, value)` where it has that."""

    def __init__(self, rule: Any):
        super().__init__(rule.get, getattr(rule, "put", None))
        self.rule = rule


class _Parametrized:
    """The rule of a tensor that is the result of a ParametrizationList."""

    def __init__(self, name: str):
        self.name = name

    def get(self, module: Module) -> Any:
        if not _cached:
            return getattr(module, NAME)[self.name]()
        key = (id(module), self.name)
        if key not in _cache:
            _cache[key] = getattr(module, NAME)[self.name]()
        return _cache[key]

    def put(self, module: Module, value: Any) -> None:
        getattr(module, NAME)[self.name].right_inverse(value)


def _reduced(self: Any, protocol: Any) -> Any:
    """For copies and pickles: the module without its class, and the rules."""
    kind = type(self)
    rules = {name: value.rule for name, value in vars(kind).items() if isinstance(value, Computed)}
    return _rebuilt, (kind.plain, kind.__name__.removesuffix(kind.plain.__name__), rules), self.__dict__.copy()


def _rebuilt(kind: type[Module], prefix: str, rules: dict[str, Any]) -> Module:
    made = kind.__new__(kind)
    for name, rule in rules.items():
        compute(made, name, rule, prefix)
    return made


def _setattr(self: Module, name: str, value: Any) -> None:
    if isinstance(getattr(type(self), name, None), property):
        object.__setattr__(self, name, value)
    else:
        Module.__setattr__(self, name, value)


def compute(module: Module, name: str, rule: Any, prefix: str = "") -> None:
    """Let an attribute of one module be computed, by a class of its own. Its member of that name is gone before. rule: see
    `Computed`."""
    if "plain" not in vars(type(module)):
        _inject(module, prefix)
    setattr(type(module), name, Computed(rule))


def compute_no_more(module: Module, name: str) -> None:
    """Take back `compute`, and the class with the last computed attribute."""
    delattr(type(module), name)
    if not any(isinstance(value, Computed) for value in vars(type(module)).values()):
        object.__setattr__(module, "__class__", type(module).plain)  # type: ignore[attr-defined]


def _inject(module: Module, prefix: str) -> None:
    kind = type(module)
    members = {"__reduce_ex__": _reduced, "__setattr__": _setattr, "__module__": kind.__module__, "plain": kind}
    object.__setattr__(module, "__class__", type(prefix + kind.__name__, (kind,), members))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of the tensor of this name."""
    found = vars(module).get(NAME)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def type_before_parametrizations(module: Module) -> type:
    """The module's class without its parametrizations."""
    return type(module).plain if is_parametrized(module) else type(module)  # type: ignore[attr-defined]


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Let a parameter or buffer be `parametrization(original)` from now on; several are applied one after another.

    `right_inverse(value)`, where the parametrization has it, gives the original that assignments write, and that of the first
    parametrization. unsafe: the shape and dtype may change; otherwise the parametrization is called once to check that they
    don't. Raises ArgumentError for a name that is neither, and for a change of shape or dtype.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            _check_alike(tensor_name, before, parametrization(before))
        getattr(module, NAME)[tensor_name].append(parametrization)
        return module
    if module._role(tensor_name) not in (PARAMETER, BUFFER) or getattr(module, tensor_name) is None:
        raise ArgumentError(
            f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    functions = ParametrizationList([parametrization], original)
    if not unsafe:
        _check_alike(tensor_name, original, functions())
    delattr(module, tensor_name)
    if not is_parametrized(module):
        setattr(module, NAME, ModuleDict())
    getattr(module, NAME)[tensor_name] = functions
    compute(module, tensor_name, _Parametrized(tensor_name), "Parametrized")
    return module


def _check_alike(name: str, tensor: Any, made: Any) -> None:
    if (made.shape, made.dtype) != (tensor.shape, tensor.dtype):
        raise ArgumentError(
            "Registering a parametrization may not change the shape or dtype of the tensor, unless `unsafe` flag is enabled.",
            f"{name} is {tensor.shape} {tensor.dtype}, its parametrization gives {made.shape} {made.dtype}",
        )


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the tensor a parameter (or buffer) again, with the value that it has, or with that of its original.

    Raises ArgumentError for one that is not parametrized, and for several originals to be left.
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(f"Module {type(module).__name__} does not have a parametrization on {tensor_name}")
    functions = getattr(module, NAME)[tensor_name]
    if functions.several and not leave_parametrized:
        raise ArgumentError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor with several originals.")
    place = getattr(functions, functions.names[0])
    with no_grad():
        value = getattr(module, tensor_name).detach()
        if functions.several or value.shape != place.shape:
            place = Parameter(value, place.requires_grad) if place._parameter else value
        elif leave_parametrized:
            place.copy_(value)
    role = functions._role(functions.names[0])
    compute_no_more(module, tensor_name)
    del getattr(module, NAME)[tensor_name]
    if not len(getattr(module, NAME)):
        delattr(module, NAME)
    (module.register_parameter if role == PARAMETER else module.register_buffer)(tensor_name, place)
    return module


__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "type_before_parametrizations",
]  # fmt: skip
