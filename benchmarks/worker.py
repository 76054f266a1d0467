"""One process of a cold or warm start: from the interpreter's first breath to the first result of a case.

    python -m benchmarks.worker CASE BACKEND ARRAYS.npz BEGAN

BEGAN is the monotonic clock when the process was started. Prints a JSON object: `total` seconds, the `phases` in which
they went, the peak of resident memory in MB, and the loss.
"""

import time

AWAKE = time.monotonic()

import json  # noqa: E402
import re  # noqa: E402
import sys  # noqa: E402
from importlib import import_module  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from . import cases  # noqa: E402, F401  (registers them)
from .phases import Phases  # noqa: E402
from .registry import BACKENDS, IMPLEMENTATIONS  # noqa: E402


def main(case: str, backend: str, file: str, began: str) -> None:
    phases = Phases()
    phases.seconds["python"] = AWAKE - float(began)
    with np.load(file) as stored:
        data = dict(stored)
    package = next(b.package for b in BACKENDS if b.name == backend)
    phases.enter("import", AWAKE)
    import_module(package)
    if package == "staticgrad":
        import staticgrad.functional
        import staticgrad.nn
        import staticgrad.optim
        import staticgrad.static
        import staticgrad.tracing  # noqa: F401

        phases.watch_compiler()
    phases.enter("build")
    job = IMPLEMENTATIONS[case, backend](data)
    phases.enter("first step")
    job.enter()
    loss = job.step()
    phases.enter("end")
    result: dict[str, Any] = {"total": time.monotonic() - float(began), "phases": phases.seconds, "loss": loss}
    print(json.dumps(result | {"peak_mb": peak_memory()}))


def peak_memory() -> float | None:
    """MB; None where Linux doesn't tell."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else None


if __name__ == "__main__":
    main(*sys.argv[1:])
