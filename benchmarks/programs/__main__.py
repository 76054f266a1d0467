"""python -m benchmarks.programs [NAME ...] [--write FILE]: agreement and times of public training programs.

Each program is one text that runs with this library and with PyTorch. With --write the table becomes a page of the documents.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from . import PROGRAMS
from .measure import Outcome, measured

HEAD = """# Public training programs

`python -m benchmarks.programs --write docs/programs.md` writes this page. Each program is a training step in PyTorch's dialect
(`benchmarks/programs/`), one text for both libraries: the import is the only line that differs.

- *differs*: the largest relative difference between losses of compiled and of eager steps, over ten steps; the last five
  follow a change of a hyperparameter, a flag or a setting between two calls.
- *from PyTorch*: the same for our eager steps and PyTorch's; a dash where the program draws random numbers.
- *cuts*: places where Python needs a value, so that the step runs as several plans.
- *times PyTorch*: PyTorch's eager step, with the better of one and two threads, over ours, {machine}.
  Each program is measured for a second. One that decides by values may meet new roads meanwhile, whose plans are made then:
  measured for 0.4 s, `fixed_point` is level with PyTorch.

| program | | cuts | differs | from PyTorch | ms | PyTorch, ms | times PyTorch |
|---|---|---:|---:|---:|---:|---:|---:|
"""


def row(x: Outcome) -> str:
    peer = "-" if math.isnan(x.peer) else f"{x.peer:.0e}"
    about = PROGRAMS[x.name].about
    return (
        f"| `{x.name}` | {about} | {x.cuts} | {x.differs:.0e} | {peer} | {x.ours * 1e3:.2f} | {x.theirs * 1e3:.2f} "
        f"| {x.ratio:.1f} |"
    )


def page(found: Sequence[Outcome], machine: str) -> str:
    mean = math.exp(sum(math.log(x.ratio) for x in found) / len(found))
    slower = [f"`{x.name}`" for x in found if x.ratio < 1]
    tail = f"\nGeometric mean of {len(found)} programs: {mean:.1f}. Slower than PyTorch: {', '.join(slower) or 'none'}.\n"
    return HEAD.format(machine=machine) + "\n".join(map(row, found)) + "\n" + tail


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*PROGRAMS, []])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--seconds", type=float, default=1.0, help="of measurement for each program")
    parser.add_argument("--machine", default="in one process, taking turns, the fastest block of each")
    arguments = parser.parse_args()
    found = []
    for name in arguments.names or PROGRAMS:
        found.append(measured(name, arguments.seconds))
        print(row(found[-1]), flush=True)
    if arguments.write is not None:
        arguments.write.write_text(page(found, arguments.machine))


if __name__ == "__main__":
    main()
