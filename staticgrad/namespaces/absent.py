"""Names of PyTorch's that this library lacks, where a program imports them: they can be imported, named in annotations and in
`isinstance`, and inherited from. A call, an instance or an operation raises `UnsupportedError`, which says what to write."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import UnsupportedError
from .advice import advice


class Absent(type):
    """The class of such names: each of them is a class without instances."""

    path: str

    def own_path(cls) -> str:
        """PyTorch's name; of a class of the user's, that of the base."""
        return str(next(vars(base)["path"] for base in cls.__mro__ if "path" in vars(base)))

    def refuse(cls) -> NoReturn:
        """Raises UnsupportedError."""
        own = cls.own_path()
        parts = own.split(".")
        more = next((found for part in parts[1:] if (found := advice(part, ()))), "")
        raise UnsupportedError(f"{own} is not in staticgrad{more}")

    def __call__(cls, *args: Any, **named: Any) -> NoReturn:
        cls.refuse()

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.own_path()}.{name}")

    def __getitem__(cls, item: Any) -> Absent:
        return cls

    def __iter__(cls) -> NoReturn:
        cls.refuse()

    def __enter__(cls) -> NoReturn:
        cls.refuse()

    def __exit__(cls, *error: object) -> None:
        pass

    def __repr__(cls) -> str:
        return f"<{cls.__name__}, which is not in staticgrad>" if "path" in vars(cls) else super().__repr__()


def absent(path: str) -> Absent:
    """The placeholder of a name: `torch.fx.Tracer`."""
    module, _, name = path.rpartition(".")
    return Absent(name, (), {"path": path, "__module__": module, "__doc__": None})
