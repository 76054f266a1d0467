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
