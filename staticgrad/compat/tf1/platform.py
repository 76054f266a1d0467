"""`tf.flags`, `tf.app` and `tf.logging`: options of the command line through argparse, the start of a program, and the logger
"tensorflow" of the standard library; files (`tf.gfile`)."""

from __future__ import annotations

import argparse
import glob
import itertools
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import IO, Any, NamedTuple

from .errors import AlreadyExistsError, FailedPreconditionError, NotFoundError, OpError, PermissionDeniedError, UnknownError


class Flags:
    """The values of the flags as attributes, parsed when the first one is read."""

    def __init__(self) -> None:
        self.__dict__["_parser"] = argparse.ArgumentParser(allow_abbrev=False)
        self.__dict__["_values"] = None

    def define(self, name: str, default: Any, help: str | None, type_: Any) -> None:
        self._parser.add_argument(f"--{name}", default=default, help=help, type=type_)
        self.__dict__["_values"] = None

    def parse(self, argv: list[str]) -> list[str]:
        """Read the flags; returns the program's name and the arguments that are no flags."""
        self.__dict__["_values"], rest = self._parser.parse_known_args(argv[1:])
        return [argv[0], *rest]

    def __getattr__(self, name: str) -> Any:
        if self._values is None:
            self.parse(sys.argv)
        return getattr(self._values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._values is None:
            self.parse(sys.argv)
        setattr(self._values, name, value)


FLAGS = Flags()


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0", "t", "f"):
        raise argparse.ArgumentTypeError(f"not a boolean: {text}")
    return text.lower() in ("true", "1", "t")


def _define(name: str, type_: Any) -> Callable[[str, Any, str | None], None]:
    def define(name: str, default: Any, help: str | None) -> None:
        FLAGS.define(name, default, help, type_)

    define.__name__ = name
    return define


DEFINE_string, DEFINE_integer = _define("DEFINE_string", str), _define("DEFINE_integer", int)
DEFINE_float, DEFINE_boolean = _define("DEFINE_float", float), _define("DEFINE_boolean", _boolean)
DEFINE_bool = DEFINE_boolean
FLAG_NAMES = SimpleNamespace(
    FLAGS=FLAGS, DEFINE_string=DEFINE_string, DEFINE_integer=DEFINE_integer, DEFINE_float=DEFINE_float,
    DEFINE_boolean=DEFINE_boolean, DEFINE_bool=DEFINE_bool,
)  # fmt: skip
"""`tf.app.flags`."""


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Parse the flags, call `main` of the program with the arguments that are left, and exit with its result."""
    main = main if main is not None else sys.modules["__main__"].main
    sys.exit(main(FLAGS.parse(sys.argv if argv is None else argv)))


# log entries ----------------------------------------------------------------------------------------------------------

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL
_logger = logging.getLogger("tensorflow")
debug, info, warn, warning, error, fatal = (
    _logger.debug, _logger.info, _logger.warning, _logger.warning, _logger.error, _logger.critical,
)  # fmt: skip
get_verbosity = _logger.getEffectiveLevel


def set_verbosity(v: int) -> None:
    """Messages below this level are dropped."""
    _logger.setLevel(v)


log = vlog = _logger.log
_counts: dict[str, Any] = {}
"""By the text of a message: how often it was asked for."""


def get_logger() -> logging.Logger:
    """The logger."""
    return _logger


def flush() -> None:
    """Accepted: records are written at once."""


def TaskLevelStatusMessage(msg: str) -> None:
    """Log an error."""
    _logger.error(msg)


def log_if(level: int, msg: str, condition: bool, *args: Any) -> None:
    """Log where the condition holds."""
    if condition:
        _logger.log(level, msg, *args)


def _count(msg: str) -> int:
    return next(_counts.setdefault(msg, itertools.count()))


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log at every n-th call with this message."""
    log_if(level, msg, _count(msg) % n == 0, *args)


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log at the first n calls with this message."""
    log_if(level, msg, _count(msg) < n, *args)


# tf.gfile -------------------------------------------------------------------------------------------------------------


@contextmanager
def _translated(path: Any) -> Iterator[None]:
    """Raise OSError as TensorFlow's classes."""
    try:
        yield
    except OSError as error:
        classes: dict[type[OSError], type[OpError]] = {
            FileNotFoundError: NotFoundError, PermissionError: PermissionDeniedError, FileExistsError: AlreadyExistsError,
            IsADirectoryError: FailedPreconditionError, NotADirectoryError: FailedPreconditionError,
        }  # fmt: skip
        raise classes.get(type(error), UnknownError)(f"{path}; {error.strerror}") from None


class GFile:
    """A file: `mode` as in `open`. Reads give text, or bytes in a mode with "b". Raises `tf.errors`."""

    def __init__(self, name: Any, mode: str = "r"):
        self._stream: IO[Any] | None = None
        self._name, self._mode = os.fspath(name), mode

    @property
    def name(self) -> str:
        return str(self._name)

    @property
    def mode(self) -> str:
        return self._mode

    def _open(self) -> IO[Any]:
        if self._stream is None:
            with _translated(self._name):
                self._stream = open(self._name, self._mode, encoding=None if "b" in self._mode else "utf-8")  # noqa: SIM115
        return self._stream

    def read(self, n: int = -1) -> Any:
        return self._open().read(n)

    def readline(self) -> Any:
        return self._open().readline()

    def readlines(self) -> list[Any]:
        return self._open().readlines()

    def write(self, file_content: Any) -> None:
        stream = self._open()
        if "b" in self._mode and isinstance(file_content, str):
            file_content = file_content.encode()
        elif "b" not in self._mode and isinstance(file_content, bytes):
            file_content = file_content.decode()
        stream.write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        self._open().seek((position if offset is None else offset) or 0, whence)

    def tell(self) -> int:
        return self._open().tell()

    def size(self) -> int:
        with _translated(self._name):
            return os.path.getsize(self._name)

    def seekable(self) -> bool:
        return True

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> GFile:
        if "r" not in self._mode:
            self._open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._open())

    def __next__(self) -> Any:
        return next(self._open())


Open = FastGFile = GFile


class FileStatistics(NamedTuple):
    """Bytes, time of the last change in nanoseconds, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


def Copy(oldpath: str, newpath: str, overwrite: bool = False) -> None:
    """Copy a file. Raises `tf.errors.AlreadyExistsError` where there is one, unless `overwrite`."""
    if os.path.exists(newpath) and not overwrite:
        raise AlreadyExistsError(f"file already exists: {newpath}")
    with _translated(oldpath):
        shutil.copyfile(oldpath, newpath)


def Rename(oldname: str, newname: str, overwrite: bool = False) -> None:
    """Rename a file. Raises `tf.errors.AlreadyExistsError` where there is one, unless `overwrite`."""
    if os.path.exists(newname) and not overwrite:
        raise AlreadyExistsError(f"file already exists: {newname}")
    with _translated(oldname):
        os.replace(oldname, newname)


def Remove(filename: str) -> None:
    """Delete a file."""
    with _translated(filename):
        os.remove(filename)


def DeleteRecursively(dirname: str) -> None:
    """Delete a folder and all that is in it."""
    with _translated(dirname):
        shutil.rmtree(dirname)


def Exists(filename: str) -> bool:
    return os.path.exists(filename)


def IsDirectory(dirname: str) -> bool:
    return os.path.isdir(dirname)


def Glob(filename: Any) -> list[str]:
    """Files that fit a pattern, or one of a list of patterns, in order."""
    patterns = [filename] if isinstance(filename, (str, os.PathLike)) else filename
    return sorted(path for pattern in patterns for path in glob.glob(os.fspath(pattern)))


def ListDirectory(dirname: str) -> list[str]:
    with _translated(dirname):
        return os.listdir(dirname)


def MkDir(dirname: str) -> None:
    with _translated(dirname):
        os.mkdir(dirname)


def MakeDirs(dirname: str) -> None:
    """Make a folder, and those that it is in; one that exists is no error."""
    with _translated(dirname):
        os.makedirs(dirname, exist_ok=True)


def Stat(filename: str) -> FileStatistics:
    with _translated(filename):
        found = os.stat(filename)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(filename))


def Walk(top: str, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, folders in it, files in it) for a folder and all below; in_order: a folder before those in it."""
    return os.walk(top, topdown=in_order)
