"""Named tensors of a module: the dicts that hold its members, and how they are saved and loaded."""

from __future__ import annotations

import warnings
import weakref
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..base.types import shape_text
from ..eager import Tensor, no_grad
from ..eager.inplace import replace, tracer
from ..eager.tensor import Structure
from ..errors import StaticgradError
from ..ops.operators import MetaTensor, Size, Symbol, as_array

if TYPE_CHECKING:
    from .module import Module


class StateDictError(StaticgradError, RuntimeError):
    """A state dict does not fit the module; nothing was loaded.

    broken:  nn.Linear(4, 2).load_state_dict(nn.Linear(4, 3).state_dict())
    fixed:   nn.Linear(4, 3).load_state_dict(nn.Linear(4, 3).state_dict())
    """


NO_ROOM = (
    "for {}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. "
    "(Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the module "
    "instead of copying them in place?)"
)


class IncompatibleKeys(NamedTuple):
    """Names that one side has and the other lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def new_state_dict() -> dict[str, Any]:
    """An empty state dict with `_metadata`, the versions of the modules by their paths."""
    made: Any = OrderedDict()
    made._metadata = OrderedDict()
    return made


def snapshot(places: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies, without the tape."""
    trace = tracer()
    if trace is not None:
        return {name: trace.copied(tensor, None, False) for name, tensor in places.items()}
    return {name: tensor if hasattr(tensor, "materialize") else Tensor(tensor._data.copy()) for name, tensor in places.items()}


def detached(places: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors without the tape, in the memory of the given ones: whoever writes one changes the other, as in PyTorch."""
    return {name: tensor if hasattr(tensor, "materialize") else tensor.detach() for name, tensor in places.items()}


def _overlaps(places: list[np.ndarray]) -> Callable[[np.ndarray], bool]:
    """Whether an array may have memory that is written."""
    spans = sorted(byte_bounds(place) for place in places)
    begins, ends = [begin for begin, _ in spans], [*accumulate((end for _, end in spans), max)]

    def overlaps(array: np.ndarray) -> bool:
        low, high = byte_bounds(array)
        before = bisect_left(begins, high)
        return before > 0 and ends[before - 1] > low

    return overlaps


class Loading(dict[str, Any]):
    """A state dict while a module and all below it take over its values, which are written once all of them fit."""

    def __init__(self, values: Mapping[str, Any], assign: bool = False):
        super().__init__(values)
        self.assign = assign
        """Whether tensors become members, which `assigned` lists: modules, names and tensors."""
        self.assigned: list[tuple[Any, str, Any]] = []
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []
        self.found: list[tuple[Tensor, Any]] = []
        self.extra: list[tuple[Any, Any]] = []
        """Modules, and the value for `set_extra_state`."""

    def write(self, owner: str, strict: bool) -> IncompatibleKeys:
        """Raises StateDictError before anything is written."""
        problems = []
        if strict and self.missing:
            problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in self.missing) + ".")
        if strict and self.unexpected:
            problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{k}"' for k in self.unexpected) + ".")
        if problems or self.errors:
            raise StateDictError(f"Error(s) in loading state_dict for {owner}:", *problems, *self.errors)
        write(self.found)
        for module, name, value in self.assigned:
            module._assign(name, value)
        for module, value in self.extra:
            module.set_extra_state(value)
        return IncompatibleKeys(self.missing, self.unexpected)


def fitting(
    values: Mapping[str, Any], places: Mapping[str, Any], errors: list[str], assign: bool = False
) -> list[tuple[Tensor, Any]]:
    """Tensors with the values of the same names, which are yet to be written. Adds to `errors` what doesn't fit. Warns of a
    value for a tensor on device meta, which has no memory for it. assign: the values take the place of the tensors."""
    found, trace = list[tuple[Tensor, Any]](), tracer()
    for name, tensor in places.items():
        if name in values:
            value = values[name]
            if isinstance(value, MetaTensor):
                array: Any = value
            elif trace is not None:
                array = value if isinstance(value, (Tensor, Symbol)) else trace.array(as_array(np.asarray(value)))
            else:
                array = value._data if isinstance(value, Tensor) else as_array(np.asarray(value))
            if array.shape != tensor.shape:
                errors.append(
                    f"size mismatch for {name}: copying a param with shape {shape_text(array.shape)} from checkpoint, "
                    f"the shape in current model is {shape_text(tensor.shape)}."
                )
            elif assign:
                continue
            elif isinstance(tensor, MetaTensor):
                if not isinstance(array, MetaTensor):
                    warnings.warn(NO_ROOM.format(name), stacklevel=2)
            elif isinstance(array, MetaTensor):
                errors.append(
                    f'While copying the parameter named "{name}", whose dimensions in the model are {Size(tensor.shape)} and '
                    f"whose dimensions in the checkpoint are {Size(array.shape)}, an exception occurred : "
                    "('Cannot copy out of meta tensor; no data!',)."
                )
            else:
                found.append((tensor, array))
    return found


def write(found: list[tuple[Tensor, Any]]) -> None:
    """Write values into the memory of tensors."""
    trace = tracer()
    if trace is not None:
        casts = [trace.copied(value, place.dtype, False) for place, value in found]
    else:
        overlaps = _overlaps([place._data for place, _ in found])
        casts = [Tensor(array.astype(place.dtype, copy=overlaps(array))) for place, array in found]
    with no_grad():
        for (place, _), value in zip(found, casts, strict=True):
            replace(place, value, "load_state_dict")


# the dicts of a module -----------------------------------------------------------------------------------------------

# Of its parameters, buffers and children, and of its hooks. Whoever changes one changes the module.

PARAMETER, BUFFER, MODULE = "parameter", "buffer", "child module"
TABLES = {PARAMETER: "_parameters", BUFFER: "_buffers", MODULE: "_modules"}
"""By role, the attribute of a module that has the dict of its members."""
ROLES = {table: role for role, table in TABLES.items()}
MISSING = object()


class Watched(dict[Any, Any]):
    """A dict that sets and deletes its items by two methods only."""

    __slots__ = ()

    def pop(self, key: Any, *default: Any) -> Any:
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[Any, Any]:
        key = next(reversed(self), MISSING)
        if key is MISSING:
            raise KeyError("popitem(): dictionary is empty")
        return key, self.pop(key)

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, other: Any = (), /, **named: Any) -> None:
        for key, value in dict(other, **named).items():
            self[key] = value

    def __ior__(self, other: Any) -> Self:  # type: ignore[misc]
        self.update(other)
        return self

    def move_to_end(self, key: Any, last: bool = True) -> None:
        """As that of an OrderedDict."""
        value = dict.__getitem__(self, key)
        rest = [] if last else [(k, v) for k, v in self.items() if k != key]
        for k, v in ((key, value), *rest):
            dict.__delitem__(self, k)
            dict.__setitem__(self, k, v)

    def __reduce__(self) -> Any:
        return dict, (), None, None, iter(self.items())


class Members(Watched):
    """PyTorch's `module._parameters`, `_buffers` and `_modules`. Values are not checked, as there: `_parameters` takes a tensor
    that is computed from others.

    A member is an entry of the module's `__dict__` too, so that it is read as fast as any attribute, unless the class has an
    attribute of this name, which comes first as in PyTorch.

    Examples:
        >>> net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> net._modules["1"] = nn.Tanh()
        >>> net
        Sequential(
          (0): Linear(in_features=2, out_features=2, bias=True)
          (1): Tanh()
        )
    """

    __slots__ = ("_module", "_role")

    def __new__(cls, *given: Any, **named: Any) -> Any:
        """Called with one mapping, as code that copies containers calls their class, it makes a plain dict."""
        return dict(*given, **named) if len(given) == 1 else super().__new__(cls)

    def __init__(self, module: Module, role: str, members: Mapping[str, Any] | None = None):
        self._module, self._role = weakref.ref(module), role
        for name, value in () if members is None else members.items():
            self.enter(module, name, value)

    def __setitem__(self, name: str, value: Any) -> None:
        module = self._module()
        if module is None:
            dict.__setitem__(self, name, value)
        else:
            module._put(name, value, self._role)

    def __delitem__(self, name: str) -> None:
        module = self._module()
        if module is None:
            dict.__delitem__(self, name)
        else:
            module._drop(self, name)

    def enter(self, module: Module, name: str, value: Any) -> None:
        """Set an item, and the attribute of the module."""
        dict.__setitem__(self, name, value)
        if hasattr(type(module), name):
            module.__dict__.pop(name, None)
        else:
            module.__dict__[name] = value

    def leave(self, module: Module, name: str) -> None:
        """Delete an item, and the attribute of the module."""
        value = dict.pop(self, name)
        own = module.__dict__
        if name in own and own[name] is value:
            del own[name]


class Hooks(Watched):
    """Hooks of a module at one event, by the id of their handle. Compiled steps depend on which there are: changes are counted.

    present: the ids of the hooks of all its events, which one look tells to be empty.
    """

    __slots__ = ("present",)

    def __init__(self, present: dict[int, None], hooks: Mapping[int, Callable[..., Any]] | None = None):
        super().__init__({} if hooks is None else hooks)
        self.present = present
        present.update(dict.fromkeys(self))

    def __setitem__(self, key: int, hook: Callable[..., Any]) -> None:
        dict.__setitem__(self, key, hook)
        self.present[key] = None
        Structure.changes += 1

    def __delitem__(self, key: int) -> None:
        dict.__delitem__(self, key)
        self.present.pop(key, None)
        Structure.changes += 1


def refuse_unexpected(module: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> NoReturn:
    """Raise TypeError for arguments of `Module.__init__`, which takes none."""
    name = type(module).__name__
    if named:
        raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(named))}'")
    raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
