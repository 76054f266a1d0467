"""This library under another one's name: programs and packages that import `torch` or `tensorflow` find it, in this process.

A front is a finder at the beginning of `sys.meta_path`. Its modules are objects of their own, so that what a program sets on
`torch.nn` stays out of this library.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ContextDecorator, suppress
from multiprocessing import process, reduction
from pathlib import Path
from types import ModuleType
from typing import Any

from ...base import dtypes
from ...base.interpreter import MissingExtra
from .advice import absent
from .modules import Finder, resolve
from .paths import PATHS
from .private import TORCH, TorchVersion


@functools.cache
def unavailable() -> dict[str, list[str]]:
    """Names that PyTorch's modules have and this library lacks, by path, and as "*" the packages and modules that it lacks as a
    whole: `python -m tools.torch_paths` lists them."""
    text = Path(__file__).with_name("unavailable.txt").read_text(encoding="utf-8")
    return {path: names.split() for path, _, names in (line.partition(":") for line in text.splitlines())}


class _Metadata(importlib.metadata.Distribution):
    """What `importlib.metadata` says of the library that a front stands for."""

    def __init__(self, name: str, version: str):
        self.files_by_name = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            "top_level.txt": f"{name}\n",
        }

    def read_text(self, filename: str) -> str | None:
        """The text of a file of the distribution; None for one that it lacks."""
        return self.files_by_name.get(filename)

    def locate_file(self, path: Any) -> Any:
        """The path itself: there are no files."""
        return path


def _sent(key: Any) -> Any:
    """What is sent in place of the key that a process needs to talk to this one: it comes first, before the program's file is
    imported there, and opens the fronts that are open here."""
    make, args = key.__reduce__()
    roots = tuple([front.root for front in (TORCH_FRONT, TF1_FRONT) if front.users])
    if not roots:
        return make, args
    server = sys.modules.get("multiprocessing.forkserver")
    if server is not None:  # it would import the file without a front
        server.set_forkserver_preload([])
    return _received, (roots, make, args)


def _received(roots: tuple[str, ...], make: Any, args: tuple[Any, ...]) -> Any:
    """The key. The fronts are open for as long as this process lasts."""
    for front in (TORCH_FRONT, TF1_FRONT):
        if front.root in roots:
            front.enter_names()
    return make(*args)


class Front(Finder, ContextDecorator):
    """Finds modules below another library's name. users: contexts that are open."""

    version: str

    def __init__(self) -> None:
        self.users = 0
        self.others: dict[str, ModuleType] = {}
        """The library's own modules, which wait for the end."""

    def find_distributions(self, context: Any = None) -> Iterator[_Metadata]:
        """The library as a distribution, for `importlib.metadata.version`."""
        if getattr(context, "name", None) in (None, self.root):
            yield _Metadata(self.root, self.version)

    def exec_module(self, module: ModuleType) -> None:
        """Fill a module of the front."""
        path = module.__name__.partition(".")[2]
        self.fill(module, path)
        if not path:
            vars(module)["__version__"] = self.version
        elif path in PATHS:  # packages go through `vars(torch.distributions)`
            for name in module.__all__:
                with suppress(MissingExtra):  # it is raised where the name is used
                    getattr(module, name, None)

    def __enter__(self) -> ModuleType:
        """Inside the context, which may be inside itself, the library's name means this one."""
        self.enter_names()
        try:
            return importlib.import_module(self.root)
        except BaseException:
            self.leave_names()
            raise

    def __exit__(self, *error: object) -> None:
        self.leave_names()

    def enter_names(self) -> None:
        """From here on the library's name means this one."""
        if not self.users:
            self.others = self._taken()
            sys.meta_path.insert(0, self)
            self.begin()
            reduction.ForkingPickler.register(type(process.current_process().authkey), _sent)
        self.users += 1

    def leave_names(self) -> None:
        """The end of the last `enter_names`."""
        self.users -= 1
        if not self.users:
            self.end()
            sys.meta_path.remove(self)
            self._taken()
            sys.modules.update(self.others)

    def otherwise(self, path: str, name: str) -> Any:
        """A module below a module of the front, which a program may keep: it is this library's after the end as well."""
        if self.users:
            return super().otherwise(path, name)
        with self:
            return super().otherwise(path, name)

    def begin(self) -> None:
        """What else is to be done while the name means this library."""

    def end(self) -> None:
        """The end of that."""

    def _taken(self) -> dict[str, ModuleType]:
        """The modules below the name, taken out of the table of imported ones."""
        names = [name for name in sys.modules if name == self.root or name.startswith(f"{self.root}.")]
        return {name: sys.modules.pop(name) for name in names}


class TorchFront(Front):
    """`torch`: the table of PyTorch's paths. Names of PyTorch's that this library lacks can be imported, and raise on use."""

    root = "torch"
    version = TorchVersion(TORCH)

    def knows(self, path: str) -> bool:
        """Whether PyTorch has the module, or may have it in a package that this library lacks as a whole."""
        return not path or path in PATHS or self.lacks(path)

    def lacks(self, path: str) -> bool:
        """Whether the path is that of a package that this library lacks, or below it."""
        parts = path.split(".")
        return not {".".join(parts[:n]) for n in range(1, len(parts) + 1)}.isdisjoint(unavailable()["*"])

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if module.__name__ == self.root:
            vars(module)[self.root] = module  # PyTorch's has itself as a member, too

    def begin(self) -> None:
        dtypes.prefix = "torch."

    def end(self) -> None:
        dtypes.prefix = ""

    def sources(self, path: str) -> Sequence[str]:
        return PATHS.get(path, () if path else ("", "eager.storage:TypedStorage", "eager.storage:UntypedStorage"))

    def otherwise(self, path: str, name: str) -> Any:
        lacking = bool(path) and path not in PATHS and self.lacks(path)
        found = None if lacking else super().otherwise(path, name)
        if found is not None:
            return found
        if lacking or name in unavailable().get(path, ()):
            return absent(f"torch.{path}.{name}" if path else f"torch.{name}")
        return None


class TF1Front(Front):
    """`tensorflow`, and `tensorflow.compat.v1`: the dialect of TensorFlow 1."""

    root = "tensorflow"
    version = "1.15.5"

    def target(self, path: str) -> str:
        """The path below the dialect."""
        return path.removeprefix("compat.v1").removeprefix(".")

    def knows(self, path: str) -> bool:
        """Whether the dialect has it."""
        if path in ("", "compat", "compat.v1"):
            return True
        try:
            return isinstance(resolve(f"compat.tf1.{self.target(path)}"), ModuleType)
        except AttributeError:
            return False

    def sources(self, path: str) -> Sequence[str]:
        return () if path == "compat" else (f"compat.tf1.{self.target(path)}".rstrip("."),)


TORCH_FRONT, TF1_FRONT = TorchFront(), TF1Front()


def as_torch() -> AbstractContextManager[ModuleType]:
    """Inside it, `import torch`, `from torch.nn import functional` and packages that import torch find this library.

    PyTorch itself, where it was imported, is put back at the end. Packages that were imported inside keep what they
    have, and so do those that were imported before: import a package on one side only. `torch.__version__` and
    `importlib.metadata.version("torch")` are those of the PyTorch whose names and meanings this library follows. What PyTorch
    has and this library lacks can be imported; UnsupportedError is raised where it is used.

    Examples:
        >>> with sg.as_torch():
        ...     import torch
        ...     from torch.nn.functional import relu
        >>> relu(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return TORCH_FRONT
