"""The CPU that code is compiled for, as Linux describes it; elsewhere LLVM is asked, which takes time to be imported.

The environment variable STATICGRAD_CPU names a lesser CPU that LLVM knows: `x86-64-v3`, say, has AVX2 but not AVX-512, like
most machines that people have.
"""

from __future__ import annotations

import os
import platform
import re
from functools import cache

FACT = re.compile(r"(?m)^(?:vendor_id|cpu family|model|model name|stepping|flags|Features|CPU \w+)\s*:.*$")
"""A line of Linux's description that is the same in every run."""

CHOSEN = os.environ.get("STATICGRAD_CPU", "native")


@cache
def description() -> str:
    """What machine code depends on: the kind of machine, the model and the names of its features."""
    try:
        with open("/proc/cpuinfo") as stream:
            first = stream.read().partition("\n\n")[0]
    except OSError:
        first = ""
    if facts := FACT.findall(first):
        return "\n".join([platform.machine(), *facts, CHOSEN])
    import llvmlite.binding as llvm

    features = sorted(name for name, there in llvm.get_host_cpu_features().items() if there)
    return f"{llvm.get_host_cpu_name()}\nfeatures: {' '.join(features)}\n{CHOSEN}"


X86, ARM = ("x86_64", "AMD64", "i386", "i686"), ("aarch64", "arm64")
"""Names of machines, as `platform.machine` has them."""
KINDS = {"x86-64-v2": (16, 16, "sse4.2"), "x86-64-v3": (32, 16, "avx2"), "x86-64-v4": (64, 32, "avx512f")}
"""Bytes of the vectors of kinds of CPUs, the number of their registers for them, and the feature that shows them: a pattern."""


def has(feature: str) -> bool:
    """Whether this is a CPU of Intel's kind with the feature. An emulated one may show the description of its host."""
    return platform.machine() in X86 and re.search(rf"\b{feature}\b", description()) is not None


def _vectors() -> tuple[int, int]:
    if CHOSEN == "native":
        if platform.machine() in ARM:
            return 16, 32
        return next(((size, count) for size, count, feature in reversed(KINDS.values()) if has(feature)), (16, 16))
    if CHOSEN not in KINDS:
        raise ValueError(f"STATICGRAD_CPU is native or one of {', '.join(KINDS)}, got {CHOSEN!r}")
    size, count, feature = KINDS[CHOSEN]
    if not has(feature):
        raise ValueError(f"STATICGRAD_CPU={CHOSEN}: this CPU has no {feature}")
    return size, count


BYTES, REGISTERS = _vectors()
"""Bytes of the vectors that code is compiled for, and the number of registers for them."""


def _cache(index: int) -> int:
    """Bytes of a core's cache, as Linux numbers them; 0 where it doesn't say."""
    try:
        with open(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size") as stream:
            size = stream.read().strip()
    except OSError:
        return 0
    return int(size[:-1]) << 10 if re.fullmatch(r"\d+K", size) else 0


L2 = _cache(2)
"""Bytes of a core's second cache; 0 where they aren't known."""
