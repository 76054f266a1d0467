"""PyTorch's switches of the runtime: of determinism, precision, warnings and threads. Here most have one position."""

from __future__ import annotations


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Nothing: results are the same from run to run for one number of threads."""


def are_deterministic_algorithms_enabled() -> bool:
    """True: results are the same from run to run for one number of threads."""
    return True


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """False: there is nothing to warn about, see `are_deterministic_algorithms_enabled`."""
    return False


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Nothing, see `use_deterministic_algorithms`."""


def get_deterministic_debug_mode() -> int:
    """2, which stands for deterministic algorithms alone."""
    return 2


def set_float32_matmul_precision(precision: str) -> None:
    """Nothing: products of float32 matrices are taken in float32."""


def get_float32_matmul_precision() -> str:
    """ "highest": products of float32 matrices are taken in float32."""
    return "highest"


def set_flush_denormal(mode: bool) -> bool:
    """False, which says that numbers below the smallest normal one can't be flushed to 0: they keep their values."""
    return False


def get_num_interop_threads() -> int:
    """1: operations run one after another, each on the threads of `get_num_threads`."""
    return 1


def set_num_interop_threads(num: int) -> None:
    """Nothing, see `get_num_interop_threads`."""


_warnings = {"always": False}


def set_warn_always(b: bool) -> None:
    """Keep what `is_warn_always_enabled` returns. How often a warning appears is decided by Python's filters."""
    _warnings["always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given last; False at first."""
    return _warnings["always"]
