"""Modules at PyTorch's paths: found by one finder, filled from the table of paths when they are imported."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import Any

from .paths import PACKAGE, PATHS, home


def enter_paths(package: str, paths: Mapping[str, ModuleType]) -> None:
    """Let each path below a package name a module, so that `import`, `from` and attributes find it.

    The import system looks into `sys.modules` again after it has imported the package.
    """
    for path, module in paths.items():
        full = f"{package}.{path}"
        parent, _, name = full.rpartition(".")
        sys.modules[full] = module
        setattr(sys.modules[parent], name, module)


def resolve(path: str) -> Any:
    """A module of the package, or an object in one, by its path below the package; `module:MAPPING` names an object, too."""
    path, _, member = home(path).partition(":")
    parts = [*filter(None, path.split(".")), *filter(None, [member])]
    found: Any = sys.modules[PACKAGE]
    for i, part in enumerate(parts):
        full = ".".join((PACKAGE, *parts[: i + 1]))
        found = sys.modules.get(full) or (importlib.import_module(full) if is_file(parts[: i + 1]) else getattr(found, part))
    return found


def is_file(parts: Sequence[str]) -> bool:
    """Whether the package has a module in a file of its own at this path."""
    place = os.path.join(sys.modules[PACKAGE].__path__[0], *parts)
    return os.path.isfile(f"{place}.py") or os.path.isfile(os.path.join(place, "__init__.py"))


class Finder:
    """Finds the modules of the table below the package's own name, where there are no files of that path."""

    root = PACKAGE

    def knows(self, path: str) -> bool:
        """Whether there is such a module: a path below the root."""
        return path in PATHS

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        root, _, below = fullname.partition(".")
        return self.spec(fullname) if root == self.root and self.knows(below) else None

    def spec(self, fullname: str) -> ModuleSpec:
        """The specification of a module, which may have others below it."""
        own: Any = self  # deriving from the classes of `importlib.abc` would import files and paths
        return ModuleSpec(fullname, own, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """None: a module of Python's own kind."""

    def exec_module(self, module: ModuleType) -> None:
        """Fill it; a path with one source that is a module stands for that module."""
        path = module.__name__.partition(".")[2]
        sources = PATHS[path]
        found = resolve(sources[0]) if len(sources) == 1 else None
        if isinstance(found, ModuleType) and not self.children(path):
            sys.modules[module.__name__] = found
        else:
            self.fill(module, path)

    def sources(self, path: str) -> Sequence[str]:
        """Where the names of a path are."""
        return PATHS[path]

    def children(self, path: str) -> list[str]:
        """The names of the modules in a package of the table."""
        return [other.rpartition(".")[2] for other in PATHS if other.rpartition(".")[0] == path]

    def otherwise(self, path: str, name: str) -> Any:
        """The value of a name that no source has: a module below the path. None where there is none."""
        below = f"{path}.{name}" if path else name
        return importlib.import_module(f"{self.root}.{below}") if self.knows(below) else None

    def fill(self, module: ModuleType, path: str, late: bool = False) -> None:
        """Let a module have the names of a path."""
        fill(module, self.sources(path), lambda name: self.otherwise(path, name), late)
        if not late:
            for name in {*self.children(path)} & {*dir(module)}:
                below = f"{path}.{name}".lstrip(".")
                if PATHS[below][-1:] == (path,):
                    self.enter(below)

    def enter(self, path: str) -> None:
        """Let `import` find a module whose name is that of a function in its package, which stays the attribute."""
        full = f"{self.root}.{path}"
        made = sys.modules[full] = ModuleType(full)
        vars(made).update(__spec__=self.spec(full), __path__=[], __loader__=self)
        self.fill(made, path, late=True)


class Homes(Finder):
    """Finds the modules whose names differ from the places of their files (`HOMES`): each is one module under both names. It is
    asked before Python's own finder, which would make a second module of a file below such a name."""

    def knows(self, path: str) -> bool:
        return home(path) != path and is_file(home(path).split("."))

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = resolve(module.__name__.partition(".")[2])


class MissingName(AttributeError):
    """A name that a module lacks. The advice what to write instead is looked for when somebody reads the error: programs ask
    whether a module has a name (`hasattr`), too, and the search goes through large tables.

    names: those that the module has. replaced: a table of `advice.py` by its name, or another one.
    """

    def __init__(self, module: str, name: str, names: Callable[[], Iterable[str]], replaced: str | Mapping[str, str]):
        super().__init__(f"module {module!r} has no attribute {name!r}")
        self.lacking, self.names, self.replaced = name, names, replaced

    def __str__(self) -> str:
        from . import advice

        table = getattr(advice, self.replaced) if isinstance(self.replaced, str) else self.replaced
        return super().__str__() + advice.advice(self.lacking, self.names(), table)

    def __reduce__(self) -> Any:
        return AttributeError, (str(self),)


MissingName.__module__, MissingName.__qualname__, MissingName.__name__ = "builtins", "AttributeError", "AttributeError"


def fill(module: ModuleType, sources: Sequence[str], otherwise: Callable[[str], Any], late: bool = False) -> None:
    """Let a module have the names of its sources: now those that they have already, on demand those that they import late.

    otherwise: what a name is that no source has, or None: then reading it raises AttributeError. late: all names on demand.
    """
    own = vars(module)
    own["__file__"] = __file__  # a module of the library, for those who ask whose code runs

    @functools.cache
    def spaces() -> list[Any]:
        found = [(source, resolve(source)) for source in sources]
        return [x if isinstance(x, (ModuleType, Mapping)) else {source.rpartition(":")[2]: x} for source, x in found]

    for space in () if late else reversed(spaces()):
        members = vars(space) if isinstance(space, ModuleType) else space
        own.update({name: x for name, x in members.items() if not name.startswith("__") and not isinstance(x, ModuleType)})

    def __getattr__(name: str) -> Any:
        full = f"{module.__name__}.{name}"
        if not name.startswith("__") or full.partition(".")[2] in PATHS:
            for space in spaces():
                found = space.get(name) if isinstance(space, Mapping) else getattr(space, name, None)
                if not isinstance(found, (ModuleType, type(None))):
                    own[name] = found
                    return found
            known = sys.modules.get(module.__name__) is module  # not those of another library, once a front is closed
            found = (sys.modules.get(full) if known else None) or otherwise(name)
            if found is not None:
                own[name] = found
                return found
        if name == "__all__":
            return names(public=True)
        if len(sources) == 1 and isinstance(spaces()[0], ModuleType) and module.__name__.startswith("staticgrad."):
            return getattr(spaces()[0], name)  # its error says what to write instead
        raise MissingName(module.__name__, name, __dir__, "REPLACED")

    def names(public: bool) -> list[str]:
        """The names of all sources."""
        if public:
            package = module.__name__.partition(".")[2].rpartition(".")[0]  # of whose names the path has a part
            own_sources = [space for source, space in zip(sources, spaces(), strict=True) if source != package] or spaces()
            lists = [getattr(space, "__all__", None) or _public(space) for space in own_sources]
        else:
            every = [space if isinstance(space, Mapping) else dir(space) for space in spaces()]
            lists = [[name for name in names if not name.startswith("__")] for names in every]
        return [*dict.fromkeys(name for names in lists for name in names)]

    def __dir__() -> list[str]:
        return sorted({*own, *names(public=False)})

    own.update({"__getattr__": __getattr__, "__dir__": __dir__})


def _public(space: Any) -> list[str]:
    """The public names of a module without a list of them, or of a mapping, but for the modules that it imports."""
    members = space if isinstance(space, Mapping) else vars(space)
    return [name for name, x in members.items() if not name.startswith("_") and not isinstance(x, ModuleType)]


def refusing(
    module: str, names: Iterable[str], replaced: str | Mapping[str, str] = "", lazy: Mapping[str, str] = MappingProxyType({})
) -> Callable[[str], Any]:
    """The `__getattr__` of a module: modules of the table below it, and an AttributeError that says what to write instead of
    other names. module: its public name. replaced: a table of `advice.py` by its name, or another one. lazy: the modules of the
    names that are imported when they are first asked for, or that name such a module itself."""

    def __getattr__(name: str) -> Any:
        if name in lazy:
            found = importlib.import_module(lazy[name])
            value = vars(importlib.import_module(module))[name] = getattr(found, name, found)
            return value
        if f"{module}.{name}".partition(".")[2] in PATHS:
            return importlib.import_module(f"{module}.{name}")
        raise MissingName(module, name, lambda: names, replaced or "NONE")

    return __getattr__


finder = Finder()
enter = finder.enter
_others = [x for x in sys.meta_path if type(x).__module__ != __name__]  # without those of a package that was imported before
sys.meta_path[:] = [Homes(), *_others, finder]
