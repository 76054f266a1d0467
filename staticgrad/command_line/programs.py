"""Functions of the user's files, and arrays to call them with, as the command line names them; programs run in this process."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from inspect import Parameter, signature
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ..errors import PACKAGE_DIR

EXAMPLE = "for example step.py:train_step, where step.py defines train_step"


class Misuse(Exception):
    """Arguments of the command line that can't be followed: exit code 2."""


def subject(text: str) -> tuple[Any, ModuleType]:
    """What `FILE.py:name` names, and the module of the file, which is run. Raises Misuse, and what the file raises."""
    path, _, name = text.rpartition(":")
    if not path:
        raise Misuse(f"{text!r} names no function: write FILE.py:function\n  {EXAMPLE}")
    file = Path(path)
    if not file.is_file():
        near = [f"  there is {other}" for other in sorted(file.parent.glob("*.py"))[:5]] if file.parent.is_dir() else []
        raise Misuse("\n".join([f"there is no file {path}", *near]))
    module = load(file)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            own = [
                n
                for n, value in vars(module).items()
                if callable(value) and getattr(value, "__module__", "") == module.__name__
            ]
            raise Misuse(f"{path} defines no {name!r}\n  it defines {', '.join(own) if own else 'no function'}")
        found = getattr(found, part)
    return found, module


def load(file: Path) -> ModuleType:
    """The module of a file, whose folder is on the path as for `python FILE.py`."""
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = file.stem if file.stem.isidentifier() else re.sub(r"\W", "_", f"file_{file.stem}")
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise Misuse(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def inputs_of(fn: Any, module: ModuleType, named: str | None, shapes: Sequence[str], seed: int) -> tuple[Any, ...] | None:
    """The arguments of a call: a variable or function of the file, tensors of shapes that the user gave, `inputs` of the file,
    or none for a function without parameters. None where the subject is called already. Raises Misuse, also for arguments
    that the function does not take."""
    if named is not None:
        if not hasattr(module, named):
            raise Misuse(f"the file defines no {named!r}, which --inputs names")
        return _fitting(fn, _tuple(getattr(module, named)), "--inputs")
    if shapes:
        from ..eager.conversion import from_numpy

        rng = np.random.default_rng(seed)
        return _fitting(fn, tuple(from_numpy(array_of(shape, rng)) for shape in shapes), "--shapes")
    if _called(fn):
        return None
    required = _required(fn)
    if hasattr(module, "inputs") and required:
        found = _tuple(module.inputs)
        if len(found) >= len(required):
            return found
    if required:
        raise Misuse(
            f"the function takes {', '.join(required)}, and the command has no arrays for it\n"
            "  --shapes 32x784 32:int64 makes random ones; --inputs NAME takes a tuple of the file, or a function's"
        )
    return ()


def _fitting(fn: Any, found: tuple[Any, ...], option: str) -> tuple[Any, ...]:
    """Arguments that the subject can be called with. Raises Misuse for others."""
    if not callable(fn) and hasattr(fn, "nodes"):
        raise Misuse(f"a {type(fn).__name__} is not called, so it takes no arguments: leave out {option}")
    try:
        parameters = signature(_target(fn))
    except (TypeError, ValueError):
        return found
    try:
        parameters.bind(*found)
    except TypeError:
        names = [*parameters.parameters]
        raise Misuse(
            f"{option} gives {len(found)} argument{'s' if len(found) != 1 else ''}, and the function takes "
            f"{len(names)}: {', '.join(names) or 'none'}\n  give one {'shape' if option == '--shapes' else 'value'} for each"
        ) from None
    return found


def _target(fn: Any) -> Any:
    """The function that has the parameters of a subject: a module's `forward`, the one that is compiled."""
    return fn.fn if hasattr(fn, "fn") else getattr(fn, "forward", fn)


def _tuple(value: Any) -> tuple[Any, ...]:
    value = value() if callable(value) else value
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _required(fn: Any) -> list[str]:
    """The names of the parameters without a default."""
    try:
        return [p.name for p in signature(_target(fn)).parameters.values() if p.default is p.empty and p.kind in POSITIONAL]
    except (TypeError, ValueError):
        return []


POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def _called(what: Any) -> bool:
    """Whether it needs no call: a graph, tensor, session, plan, or a compiled function that the file has called."""
    return not callable(what) or getattr(what, "latest", None) is not None or hasattr(what, "_record")


def array_of(text: str, rng: np.random.Generator) -> np.ndarray:
    """A random array of a shape such as `32x784` or `32:int64`; `scalar` has no axes. Raises Misuse."""
    shape, _, kind = text.partition(":")
    try:
        dtype = np.dtype(kind or "float32")
        extents = () if shape in ("", "scalar") else tuple(int(part) for part in shape.split("x"))
    except (TypeError, ValueError):
        raise Misuse(f"{text!r} is no shape\n  write 32x784, or 32:int64 for another dtype, or scalar") from None
    if dtype.kind in "iu":
        return rng.integers(0, 2, extents).astype(dtype)
    return rng.standard_normal(extents).astype(dtype) if dtype.kind == "f" else rng.random(extents).astype(dtype)


def output_file(path: str | None, option: str) -> None:
    """Check, before any work, that a file can be written. Raises Misuse."""
    if path is None:
        return
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise Misuse(f"{option} {path}: there is no folder {folder}")
    if os.path.isdir(path):
        raise Misuse(f"{option} {path}: this is a folder, not a file")
    if not os.access(folder, os.W_OK):
        raise Misuse(f"{option} {path}: the folder {folder} can't be written to")


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """The parts of `NAME=VALUE` texts. Raises Misuse."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise Misuse(f"{option} takes NAME=VALUE, got {text!r}")
        found[name] = value
    return found


def array_file(path: str) -> np.ndarray:
    """The array of a .npy file. Raises Misuse."""
    try:
        array: np.ndarray = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise Misuse(f"{os.fspath(path)} can't be read as a .npy file: {error}") from None
    return array


# running --------------------------------------------------------------------------------------------------------------


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
