"""The CPU that code is compiled for, as Linux describes it; elsewhere LLVM does, which takes time to be imported."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FACT = re.compile(r"(?m)^(?:vendor_id|cpu family|model|model name|stepping|flags|Features|CPU \w+)\s*:.*$")
"""A line of Linux's description that is the same in every run."""


@cache
def description() -> str:
    """What machine code depends on: the model and the names of its features."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        first = ""
    if facts := FACT.findall(first):
        return "\n".join(facts)
    import llvmlite.binding as llvm

    features = sorted(name for name, there in llvm.get_host_cpu_features().items() if there)
    return f"{llvm.get_host_cpu_name()}\nfeatures: {' '.join(features)}"


BYTES, REGISTERS = (64, 32) if re.search(r"\bavx512f\b", description()) else (32, 16)
"""Bytes of this CPU's vectors, and the number of its registers for them."""


def _cache(index: int) -> int:
    """Bytes of a core's cache, as Linux numbers them; 0 where it doesn't say."""
    try:
        size = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size").read_text().strip()
    except OSError:
        return 0
    return int(size[:-1]) << 10 if re.fullmatch(r"\d+K", size) else 0


L2 = _cache(2)
"""Bytes of a core's second cache; 0 where they aren't known."""
