"""Tensors of classes that users derive from `sg.Tensor` and `nn.Parameter`.

Where such a class takes over the functions that are called on its tensors, it gets one more base, `Asking`, whose methods ask
`__torch_function__`; that of `sg.Tensor` gives results the class. So tensors of this library's own class ask nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ArgumentTypeError
from ..ir import REGISTRY
from ..ops.operators import NOBODY, Operators, Symbol, foreign, frontends, state, taken, untaken
from ..ops.operators.methods import ARITHMETIC, COMPARISONS
from .execution import link, result
from .grad_mode import modes
from .pending import settle_all
from .tensor import PublicTensor, Tensor, all_attributes, new, own_attributes, wrap

RESHAPE = REGISTRY["reshape"]

OPERATORS = {
    **{f"__{name}__": method for name, method in ARITHMETIC.items() if name not in ("floordiv", "lshift", "rshift")},
    **dict.fromkeys(("__radd__",), "add"), "__rmul__": "mul", "__rtruediv__": "__rdiv__",
    **{f"__{name}__": name for name in COMPARISONS if name != "eq"}, "__neg__": "neg", "__abs__": "abs", "__pos__": "positive",
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
}  # fmt: skip
"""Python's operators that are calls of another method to `__torch_function__`, as in PyTorch."""
ASKING = (
    "__floordiv__", "__rfloordiv__", "__rsub__", "__rpow__", "__rmod__", "__rmatmul__", "__eq__", "__invert__", "__and__",
    "__rand__", "__or__", "__ror__", "__xor__", "__rxor__", "__lshift__", "__rshift__", "__ipow__", "__ifloordiv__", "__imod__",
    "__iand__", "__ior__", "__ixor__", "__getitem__", "__setitem__", "__len__", "__contains__", "__bool__", "__float__",
    "__int__", "__index__", "__complex__", "__array__", "__repr__", "__format__", "__deepcopy__",
)  # fmt: skip
"""The other methods with a name of Python's that ask."""
SILENT = frozenset({"as_subclass", "register_hook", "is_view"})
"""Public names that ask nobody."""
PROPERTIES = (
    "T", "mT", "H", "mH", "real", "imag", "data", "grad", "shape", "dtype", "device", "ndim", "requires_grad", "is_leaf",
)  # fmt: skip
"""Properties that ask."""


def _method(name: str, public: str) -> Callable[..., Any]:
    plain, called = getattr(PublicTensor, name), getattr(PublicTensor, public)
    operator = name in OPERATORS or name.startswith("__r")
    forward = getattr(PublicTensor, ARITHMETIC[name[3:-2]]) if name[3:-2] in ARITHMETIC else None

    @functools.wraps(plain)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        if operator and args:
            if foreign(args[0]):
                return NotImplemented
            if forward is not None and isinstance(
                args[0], Tensor
            ):  # Python asks the class that is derived from the other's first
                answer = taken(forward, (args[0], self), named)
                return forward(args[0], self) if answer is NOBODY else answer
        answer = taken(called, (self, *args), named)
        return plain(self, *args, **named) if answer is NOBODY else answer

    return method


def _property(name: str) -> property:
    plain = inspect.getattr_static(PublicTensor, name)
    read = plain.__get__

    def get(self: Any) -> Any:
        answer = taken(read, (self,), {})
        return read(self) if answer is NOBODY else answer

    return property(get, plain.fset, plain.fdel, plain.__doc__)


class Attributes(dict[str, Any]):
    """`x.__dict__` of a tensor of a derived class: the user's attributes. What is changed here is changed there."""

    def __init__(self, x: Any):
        super().__init__(own_attributes(x))
        self._x = x

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        setattr(self._x, name, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        delattr(self._x, name)

    def update(self, *given: Any, **named: Any) -> None:
        """Set several."""
        for name, value in dict(*given, **named).items():
            self[name] = value

    def pop(self, name: str, *default: Any) -> Any:
        """Remove one."""
        found = super().pop(name, *default)
        all_attributes(self._x).pop(name, None)
        return found

    def clear(self) -> None:
        """Remove all."""
        for name in [*self]:
            del self[name]

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def _set_attributes(self: Any, given: Any) -> None:
    found = Attributes(self)
    found.clear()
    found.update(given)


@functools.cache
def asking() -> type:
    """The base of classes whose tensors ask."""
    names = [name for name in dir(PublicTensor) if not name.startswith("_") and name not in SILENT]
    functions = [name for name in names if inspect.isfunction(inspect.getattr_static(PublicTensor, name))]
    members: dict[str, Any] = {name: _method(name, name) for name in (*functions, *ASKING)}
    members |= {name: _method(name, public) for name, public in OPERATORS.items()}
    members |= {name: _property(name) for name in PROPERTIES}
    members["__dict__"] = property(Attributes, _set_attributes)
    made: Any = type(PublicTensor)
    return made("Asking", (PublicTensor,), {"__slots__": (), "__module__": __name__, **members}, asks=True)


# making tensors of a class ----------------------------------------------------------------------------------------------


def branded(x: Tensor, kind: type) -> Any:
    """A new tensor of a class with the array and the record of x, which nobody else holds."""
    if kind is PublicTensor:
        return x
    out: Any = new(kind)
    for slot in ("_data", "_record", "_tracked", "_base", "_views"):
        setattr(out, slot, getattr(x, slot))
    all_attributes(out).update(all_attributes(x))
    return out


def check_class(kind: Any) -> None:
    """Raises ArgumentTypeError for an object that is no class of tensors."""
    if not isinstance(kind, type):
        raise ArgumentTypeError(f"cls must be a type (got {type(kind).__name__})")
    if not issubclass(kind, Tensor):
        raise ArgumentTypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
            "inherits from Tensor.",
            f"{kind.__name__} is derived from {', '.join(base.__name__ for base in kind.__bases__)}",
        )


def as_subclass(self: Any, cls: type) -> Any:
    """A view of this tensor, of a class derived from `sg.Tensor`. Gradients flow through.

    Examples:
        >>> class Meters(sg.Tensor):
        ...     pass
        >>> sg.tensor([1.0, 2.0]).as_subclass(Meters) * 2
        Meters([2., 4.])
    """
    check_class(cls)
    if isinstance(self, Symbol):
        return self if cls is PublicTensor else self._no_value(f"a tensor of class {cls.__name__}")
    if cls is not PublicTensor and frontends.tracing and state.tracer is not None:
        state.tracer.no_value(self, f"a tensor of class {cls.__name__}")
    settle_all()
    with untaken():
        shape = self._data.shape
        view = result(RESHAPE, (self,), self._data.reshape(shape), modes.now if self._tracked else None, {"shape": shape})
        view = branded(view, cls)
        link(view, self)
    return view


def _make_subclass(cls: type, data: Any, require_grad: bool = False, **options: Any) -> Any:
    """A leaf of a class derived from `sg.Tensor` over the memory of a tensor."""
    check_class(cls)
    with untaken():
        return branded(wrap(data._data).requires_grad_(require_grad), cls)


def _torch_function(cls: type, func: Callable[..., Any], types: Sequence[type], args: Any = (), kwargs: Any = None) -> Any:
    """What a function gives, with tensors of this class in the place of those of `sg.Tensor`: a `__torch_function__` of one's
    own calls this one for what it leaves as it is."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with untaken():
        found = func(*args, **(kwargs or {}))
    return found if func == GRAD else converted(found, cls)


GRAD = inspect.getattr_static(PublicTensor, "grad").__get__
"""What PyTorch leaves of its own class."""


def converted(found: Any, kind: Any) -> Any:
    """A result with tensors of a class."""
    if isinstance(found, (Tensor, Symbol)):
        return found if isinstance(found, kind) else as_subclass(found, kind)
    if isinstance(found, (tuple, list)):
        parts = [converted(x, kind) for x in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return found


for _name, _member in (
    ("__torch_function__", classmethod(_torch_function)), ("_make_subclass", staticmethod(_make_subclass)),
):  # fmt: skip
    setattr(PublicTensor, _name, _member)
Operators.as_subclass = as_subclass  # type: ignore[method-assign]
frontends.asking, frontends.branded = asking, branded
