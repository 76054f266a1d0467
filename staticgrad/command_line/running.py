"""Programs that are run in this process as Python runs them, their text as it is or translated."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from types import CodeType, ModuleType
from typing import Any

from ..errors import PACKAGE_DIR
from .programs import Misuse


def run(program: str, arguments: list[str], as_module: bool, translate: Callable[[str, str], CodeType] | None = None) -> int:
    """Run a file or a module as `__main__` with these arguments, its folder first on the path. An error's traceback begins at
    the program.

    translate: makes the code of the program's own files, which are in its folder, the working directory and the folders of
    PYTHONPATH, from their text and path.
    """
    path = _origin(program) if as_module else os.path.abspath(program)
    if not os.path.isfile(path):
        raise Misuse(f"there is no file {program}")
    sys.argv = [path if as_module else program, *arguments]
    sys.path[0] = os.getcwd() if as_module else os.path.dirname(path)
    with ExitStack() as stack:
        if translate is not None:
            more = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
            folders = [os.path.abspath(folder) + os.sep for folder in (os.path.dirname(path), os.getcwd(), *more)]
            translation = _Translation(tuple(folders), translate)
            sys.meta_path.insert(0, translation)
            stack.callback(sys.meta_path.remove, translation)
        try:
            if translate is None:
                if as_module:
                    runpy.run_module(program, run_name="__main__", alter_sys=True)
                else:
                    runpy.run_path(path, run_name="__main__")
            else:
                _execute(path, translate)
        except Exception as error:
            _show(error)
            return 1
    return 0


def _origin(module: str) -> str:
    """The file of a module, or of the `__main__` of a package."""
    sys.path.insert(0, os.getcwd())
    spec = importlib.util.find_spec(module)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{module}.__main__")
    if spec is None or spec.origin is None:
        raise Misuse(f"there is no module {module}")
    return spec.origin


def _execute(path: str, translate: Callable[[str, str], CodeType]) -> None:
    """Run a file, translated, as `__main__`."""
    with open(path, encoding="utf-8") as file:
        code = translate(file.read(), path)
    before, module = sys.modules["__main__"], ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)
    finally:
        sys.modules["__main__"] = before


class _Translation:
    """A finder of modules in some folders, which makes their code another way."""

    def __init__(self, folders: tuple[str, ...], translate: Callable[[str, str], CodeType]):
        self.folders, self.translate = folders, translate

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        from importlib.machinery import PathFinder, SourceFileLoader

        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or "site-packages" in str(spec.origin):
            return None
        if not str(spec.origin).startswith(self.folders) or str(spec.origin).startswith(PACKAGE_DIR):
            return None
        translate = self.translate

        class Loader(SourceFileLoader):
            def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
                return translate(importlib.util.decode_source(data), str(path))

            def get_code(self, fullname: str) -> CodeType:
                """Always from the text: stored code is not translated."""
                name = self.get_filename(fullname)
                return self.source_to_code(self.get_data(name), name)

        spec.loader = Loader(fullname, str(spec.origin))
        return spec


def _show(error: BaseException) -> None:
    """Print a traceback that begins at the program."""
    found = error.__traceback__
    while found is not None and found.tb_next is not None:
        file = found.tb_frame.f_code.co_filename
        if not file.startswith((PACKAGE_DIR, "<frozen")) and file != runpy.__file__:
            break
        found = found.tb_next
    traceback.print_exception(type(error), error, found)
