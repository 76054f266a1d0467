"""Calls that a trace can neither guard nor repeat: foreign random number generators, clocks, files."""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any, NoReturn

from ..guards import has, is_a
from .access_log import AccessLog
from .python_types import is_known

CLOCKS = frozenset(
    [
        "time",
        "time_ns",
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "process_time",
        "process_time_ns",
        "thread_time",
        "thread_time_ns",
        "localtime",
        "gmtime",
        "ctime",
        "asctime",
        "strftime",
        "sleep",
        "clock_gettime",
        "clock_gettime_ns",
    ]
)
PURE_OS = frozenset(["fspath", "cpu_count", "getpid"])
NUMPY_FILES = frozenset(["load", "loadtxt", "genfromtxt", "fromfile", "memmap", "save", "savez", "savetxt", "open_memmap"])
SYSTEM = ("posix", "nt", "_socket", "select", "_posixsubprocess", "fcntl", "mmap")
PROCESS = ("_signal", "atexit", "faulthandler", "gc")
"""Modules of C whose functions read and change the process."""
SETTINGS = frozenset(["getrecursionlimit", "getswitchinterval", "get_int_max_str_digits", "getprofile", "gettrace"])
"""Functions of `sys` that read what others set."""
PACKAGE_SETTINGS = {
    "staticgrad": frozenset(
        ["set_default_dtype", "set_default_tensor_type", "set_num_threads", "get_num_threads", "set_warn_always",
         "is_warn_always_enabled", "set_detect_anomaly", "is_anomaly_enabled", "is_anomaly_check_nan_enabled",
         "set_printoptions"]
    ),
    "numpy": frozenset(
        ["seterr", "geterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize", "set_printoptions", "get_printoptions"]
    ),
    "warnings": frozenset(["simplefilter", "filterwarnings", "resetwarnings"]),
}  # fmt: skip
"""Functions of packages whose frames are not observed, that read or change the process."""


def refuse_random(log: AccessLog, what: str) -> NoReturn:
    log.refuse(
        f"{what} draws a random number inside a compiled function: every run would get the one of the time of tracing",
        "draw with staticgrad (sg.rand, sg.randn, sg.bernoulli), or outside, and pass the number as an argument",
    )


def refuse_io(log: AccessLog, what: str) -> NoReturn:
    log.refuse(
        f"{what} reads or writes files inside a compiled function, which would happen only while tracing",
        "do it outside, and pass the values as arguments",
    )


def refuse_clock(log: AccessLog, what: str) -> NoReturn:
    log.refuse(
        f"{what} reads the clock inside a compiled function: every run would get the time of tracing",
        "read it outside, and pass it as an argument",
    )


def refuse_thread(log: AccessLog) -> NoReturn:
    log.refuse(
        "a thread is started inside a compiled function, which would happen only while tracing",
        "start it outside, and pass the values as arguments",
    )


def refuse_use(log: AccessLog, x: Any, name: str) -> None:
    """Raises TraceError for a method of a class of C that is not known: it may read state that no guard sees, and its changes
    could neither be undone nor be repeated. An object that the trace has made may be used."""
    if not log.ages.is_new(x):
        log.refuse(
            f"{type(x).__name__}.{name} is called inside a compiled function, which would happen only while tracing",
            "keep the values in a list or a deque, or do it outside",
        )


def check_known(log: AccessLog, x: Any, *names: str) -> None:
    """The same for an operator or statement that calls the first of these methods which the object has."""
    found = next((name for name in names if has(type(x), name)), None)
    if found is not None and not is_known(type(x), found):
        refuse_use(log, x, found)


def package_setting(fn: types.FunctionType | type) -> str:
    """The package of a function that reads or changes a setting of the process; empty for another function."""
    package = (fn.__module__ or "").partition(".")[0].removeprefix("_py_")  # Python 3.14's `_py_warnings`
    return package if fn.__name__ in PACKAGE_SETTINGS.get(package, ()) else ""


def check_settings(log: AccessLog, fn: types.FunctionType | type) -> None:
    """Raises TraceError for such a function. Filters of warnings that the trace itself has begun, in
    `warnings.catch_warnings`, end in it."""
    package = package_setting(fn)
    if package and not (package == "warnings" and log.ages.is_new(warnings.filters)):
        log.refuse(
            f"{package}.{fn.__name__} is called inside a compiled function, which would happen only while tracing",
            "do it outside",
        )


def check_allowed(log: AccessLog, fn: Any, name: str, module: Any, first: Any, args: tuple[Any, ...]) -> None:
    """Raises TraceError for a native function that a trace can't contain. first: its first argument or `__self__`."""
    kind = type(first)
    home = kind.__module__
    if (home.startswith("numpy.random") or home in ("random", "_random")) and not log.ages.is_new(first):
        refuse_random(log, f"{'np.random' if home.startswith('numpy') else 'random'}.{name}")
    if str(module).startswith("numpy.random") and not home.startswith("numpy.random") and name != "default_rng":
        refuse_random(log, f"np.random.{name}")
    if name == "default_rng" and (not args or args[0] is None):
        refuse_random(log, "np.random.default_rng")
    if module == "_thread" and name.startswith("start_"):
        refuse_thread(log)
    if module in ("_random", "_secrets"):
        refuse_random(log, name)
    if module == "time" and name in CLOCKS:
        refuse_clock(log, f"time.{name}")
    if (
        name in ("now", "today", "utcnow")
        and is_a(getattr(fn, "__self__", None), type)
        and fn.__self__.__module__ == "datetime"
    ):
        refuse_clock(log, f"{fn.__self__.__name__}.{name}")
    if module in ("posix", "nt") and name in ("urandom", "getrandom"):
        refuse_random(log, f"os.{name}")
    if module in SYSTEM and name not in PURE_OS:
        refuse_io(log, f"{'os' if module in ('posix', 'nt') else module.strip('_')}.{name}")
    if module in PROCESS or (module == "sys" and (name.startswith("set") or name in SETTINGS)):
        log.refuse(
            f"{module.strip('_')}.{name} is called inside a compiled function, which would happen only while tracing",
            "do it outside, and pass the value as an argument",
        )
    if module in ("io", "_io") or (module == "builtins" and name == "input"):
        refuse_io(log, name)
    console = name in ("isatty", "fileno", "flush") or first is sys.stdout or first is sys.stderr
    if home == "_io" and not console and not log.ages.is_new(first):
        refuse_io(log, f"{kind.__name__}.{name}")
