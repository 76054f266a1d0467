"""Source to machine code: content-addressed files in a private folder, compiled by Numba with its disk cache.

The file of a source is named by the hash of the source, of the modules that it imports, of Numba's version and the CPU.
Files are written whole and renamed into place, so two processes never see half of one. A file or cache entry that
does not load is made again. `STATICGRAD_CACHE_DIR` moves the folder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import CompileError

HEADER = """\
import math

import numpy as np

from staticgrad.compiler.elementary import *
from staticgrad.compiler.lang import *

"""

SPECIAL = {
    "dense": ("dot_rows_", "add_rows_"),
    "division": ("floor_divide_", "remainder_", "pow_int"),
    "philox": ("uniform_", "normal_"),
}
"""Modules that few kernels need, by what their text has when it needs them."""

IMPORTED = ("address", "blas", "lang", "spans", "table", "tiles", "vector", *SPECIAL)
"""The modules beside `elementary` that kernels and drivers import."""

_lock = threading.RLock()
_loaded: dict[str, dict[str, Any]] = {}


class Counters:
    """What the compiler did in this process; tests count compilations with it."""

    compiled = 0
    from_disk = 0


def cache_dir() -> Path:
    """The folder of generated kernels, private to this user. Raises CompileError when it belongs to somebody else."""
    root = os.environ.get("STATICGRAD_CACHE_DIR")
    path = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "staticgrad"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = path.stat()
    if info.st_uid != os.getuid():
        raise CompileError(
            f"the kernel cache {path} belongs to another user", "set STATICGRAD_CACHE_DIR to a folder of yours"
        )
    if stat.S_IMODE(info.st_mode) & 0o077:
        path.chmod(0o700)
    return path


@cache
def toolchain() -> str:
    """Hash of what machine code depends on besides the kernel's own source."""
    import llvmlite
    import llvmlite.binding as llvm
    import numba

    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for file in sorted([*(folder / f"{name}.py" for name in IMPORTED), *(folder / "elementary").glob("*.py")]):
        digest.update(file.read_bytes())
    for text in (numba.__version__, llvmlite.__version__, sys.version, llvm.get_host_cpu_name()):
        digest.update(text.encode())
    digest.update(str(sorted(llvm.get_host_cpu_features().items())).encode())
    return digest.hexdigest()


def load(body: str) -> dict[str, Any]:
    """The kernels of a source, by name, compiled or from the disk cache. Raises CompileError."""
    code = without_comments(body)
    with _lock:
        found = _loaded.get(code)
        if found is None:
            found = _loaded[code] = _load(header(body) + body)
        return found


def header(body: str) -> str:
    """The imports of a kernel: each costs compile time, so the special ones only where they are used."""
    needed = [module for module, names in SPECIAL.items() if any(name in body for name in names)]
    return HEADER + "".join(f"from staticgrad.compiler.{module} import *\n\n" for module in needed)


def without_comments(source: str) -> str:
    """What makes a kernel: the lines that it came from don't, so equal layers share one."""
    return re.sub(r"  # .*", "", source)


def path_of(source: str) -> Path:
    key = hashlib.sha256((toolchain() + without_comments(source)).encode()).hexdigest()[:24]
    return cache_dir() / f"k{key}"


def _load(source: str) -> dict[str, Any]:
    module = _module(source)
    kernels = {k: v for k, v in vars(module).items() if hasattr(v, "address") and hasattr(v, "cache_hits")}
    for kernel in kernels.values():
        if kernel.cache_hits:
            Counters.from_disk += 1
        else:
            Counters.compiled += 1
    return kernels


def _module(source: str) -> ModuleType:
    """The source as an imported module, from a file in the cache."""
    folder = path_of(source)
    for attempt in (1, 2):
        try:
            return _import(_written(folder, source))
        except CompileError:
            raise
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)  # a damaged entry: once more from the source
            sys.modules.pop(folder.name, None)
            if attempt == 2:
                raise CompileError(
                    f"a kernel does not compile: {type(error).__name__}: {error}", *source.splitlines()
                ) from error
    raise AssertionError


def _written(folder: Path, source: str) -> Path:
    """The file with the source, written unless it is there and whole."""
    file = folder / f"{folder.name}.py"
    try:
        if without_comments(file.read_text()) == without_comments(source):
            return file
    except (OSError, UnicodeDecodeError):
        pass
    folder.mkdir(mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    with os.fdopen(handle, "w") as stream:
        stream.write(source)
    os.replace(temporary, file)
    return file


def _import(file: Path) -> ModuleType:
    """Run the file as a module. It is in sys.modules before it runs: Numba's cache looks it up there."""
    name = file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def module(*names: str) -> ModuleType:
    """Whole files of `library/` as one module, in the kernel cache like every other."""
    return _module("\n\n".join(map(_text, names)))


def library(name: str, kernel: str) -> Any:
    """One kernel of a file in `library/`; the others are not compiled."""
    common, kernels = _library(name)
    return load(common + kernels[kernel])[kernel]


@cache
def _library(name: str) -> tuple[str, dict[str, str]]:
    """What the kernels of a file share, and the source of each."""
    parts = re.split(r"(?m)^(?=@(?:kernel|inline|merged)\n)", _text(name))
    kernels = [part for part in parts if part.startswith("@kernel")]
    common = "".join(part for part in parts if part not in kernels)
    return common, {re.findall(r"def (\w+)", kernel)[0]: kernel for kernel in kernels}


def _text(name: str) -> str:
    return (Path(__file__).parent / "library" / f"{name}.py").read_text().split("# kernels\n", 1)[1]
