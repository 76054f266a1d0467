"""Data pipes: data sets that are chained by methods, which packages register under names of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from ...errors import ArgumentError
from ...namespaces.absent import Absent
from .datasets import Dataset, IterableDataset

Pipe = TypeVar("Pipe", bound=type)


class _Pipe:
    """Functions of the class are methods of each pipe: `pipe.name(...)` is `registered(pipe, ...)`."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        functions = type(self).functions
        if name not in functions:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return functools.partial(functions[name], self)

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Let `pipe.function_name(...)` call the function with the pipe first."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: type, enable_df_api_tracing: bool = False
    ) -> None:
        """Let `pipe.function_name(...)` make a pipe of a class. Raises ArgumentError for a name that is taken."""
        if function_name in cls.functions:
            raise ArgumentError(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Pipe, IterableDataset[Any]):
    """A pipe of samples one after another: write `__iter__`.

    Examples:
        >>> @sg.utils.data.functional_datapipe("doubled")
        ... class Doubled(sg.utils.data.IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         return (2 * x for x in self.source)
        >>> list(Doubled([1, 2]).doubled())
        [4, 8]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class MapDataPipe(_Pipe, Dataset[Any]):
    """A pipe of samples by key: write `__getitem__`.

    Examples:
        >>> class Squares(sg.utils.data.MapDataPipe):
        ...     def __getitem__(self, key):
        ...         return key**2
        >>> Squares()[3]
        9
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[Pipe], Pipe]:
    """A decorator of classes of pipes: `pipe.name(...)` makes one over that pipe. Raises TypeError for other classes;
    one over a pipe that is not here can't be made, nor by a name.

    Examples:
        >>> @sg.utils.data.functional_datapipe("reversed")
        ... class Reversed(sg.utils.data.IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         return reversed([*self.source])
        >>> list(Reversed([1, 2, 3]).reversed())
        [1, 2, 3]
    """

    def enter(kind: Pipe) -> Pipe:
        if isinstance(kind, Absent):
            return kind
        base = next((base for base in (IterDataPipe, MapDataPipe) if issubclass(kind, base)), None)
        if base is None:
            raise TypeError("functional_datapipe can only decorate IterDataPipe or MapDataPipe")
        base.register_datapipe_as_function(name, kind, enable_df_api_tracing)
        return kind

    return enter
