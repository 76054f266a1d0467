"""python -m benchmarks.programs [NAME ...]: agreement and times of the programs."""

import sys

from . import PROGRAMS
from .measure import measured

for name in sys.argv[1:] or PROGRAMS:
    x = measured(name)
    print(
        f"{name:22s} {x.ratio:6.2f}x  {x.ours * 1e3:8.3f} ms  PyTorch {x.theirs * 1e3:8.3f} ms  differs {x.differs:.1e}  "
        f"from PyTorch {x.peer:.1e}  cuts {x.cuts}  traces {x.traces}",
        flush=True,
    )
