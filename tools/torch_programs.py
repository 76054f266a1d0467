"""Run the programs of `tests/programs/` in PyTorch and under the torch front, as they are, and write the table of them.

    python -m tools.torch_programs                          # all of them
    python -m tools.torch_programs gp_cholesky maml_sine    # these, and the other rows of docs/from_torch.md as they were

The compilation of kernels is a part of the time of some compiled steps, unless the kernel cache has them from a run before.

PyTorch draws this library's random numbers (`SharedDraws`), so that a program begins with the same values in both. What is
compared is what a program prints: its losses as numbers, the rest of its text without them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tools.torch_packages import KINDS, ROOT, STEADY, difference

PROGRAMS = {path.stem: path for path in sorted((ROOT / "tests" / "programs").glob("*.py"))}
PAGE = ROOT / "docs" / "from_torch.md"
BEGIN, END = "<!-- Written by `python -m tools.torch_programs`. -->", "<!-- Here the table ends. -->"
FIRST = 10
"""Losses of float32 that are compared: rounding grows from step to step."""
STEPS = 10
"""The last steps, which are timed."""


@dataclass
class Outcome:
    """What a process of a program gave. seconds: CPU time of a step. error: the last line of its error, or ""."""

    losses: list[float]
    text: list[str]
    seconds: float
    error: str = ""


def is_double(name: str) -> bool:
    """Whether a program computes in float64."""
    return "set_default_dtype" in PROGRAMS[name].read_text(encoding="utf-8")


def tolerance(name: str) -> float:
    """The largest difference of a loss, relative to PyTorch's, that rounding explains: of all losses in float64, of the first
    ones in float32."""
    return 1e-8 if is_double(name) else 1e-4


def outcome(name: str, kind: str, limit: float = 300) -> Outcome:
    """Run a program in PyTorch ("torch"), eagerly ("eager") or compiled ("compiled"), in a process of one thread."""
    command = [sys.executable, "-m", "tools.torch_programs", "--child", kind, str(PROGRAMS[name])]
    environment = os.environ | STEADY | {"PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=limit)
    except subprocess.TimeoutExpired:
        return Outcome([], [], limit, f"longer than {limit:.0f} s")
    *lines, known = done.stdout.splitlines() or [""]
    if done.returncode or not known.startswith("{"):
        errors = [line for line in done.stderr.splitlines() if re.match(r"[\w.]+(Error|Exception|Exit|Interrupt)\b", line)]
        return Outcome([], lines, 0.0, (errors or done.stderr.splitlines()[-1:] or ["no output"])[-1])
    found = json.loads(known)
    losses = [float(line.split()[1]) for line in lines if line.startswith("loss ")]
    return Outcome(losses, [re.sub(r"[-+]?\d+\.?\d*(e[-+]\d+)?", "#", line) for line in lines], found["seconds"])


def apart(name: str, found: Outcome, expected: Outcome) -> float:
    """The largest relative difference of the losses that are compared."""
    n = None if is_double(name) else FIRST
    same = len(found.losses) == len(expected.losses) > 0
    return difference(found.losses[:n], expected.losses[:n]) if same else float("inf")


def child(kind: str, program: str) -> int:
    """Run a program in this process. The last line that is printed is the CPU time of a step, in JSON."""
    output = Stamped(sys.stdout)
    sys.stdout = output
    if kind == "torch":
        import torch

        from staticgrad.command_line.programs import run
        from staticgrad.command_line.shared_draws import SharedDraws

        torch.set_num_threads(1)
        with SharedDraws():
            code = run(program, [], False)
    else:
        from staticgrad.__main__ import main as staticgrad

        code = staticgrad(["torch", *KINDS[kind], program])
    sys.stdout = output.below
    taken = [b - a for a, b in zip(output.times[:-1], output.times[1:], strict=True)][-STEPS:]
    print(json.dumps({"seconds": statistics.median(taken) if taken else 0.0}))
    return code


class Stamped(io.TextIOBase):
    """An output that notes the CPU time at each loss."""

    def __init__(self, below: Any):
        self.below, self.times = below, list[float]()

    def write(self, text: str) -> int:
        if text.startswith("loss"):
            self.times.append(time.process_time())
        return self.below.write(text)


HEADER = """
The {all} programs of `tests/programs/` were written for this check in the styles of public code, from `Variable` to
`torch.func`, and none was changed for it: `python -m tools.torch_programs` runs each in PyTorch {torch}, under
`python -m staticgrad torch` and with `--compile`, from the same initial values. *eager*, *compiled*: the largest relative
difference of a printed loss from PyTorch's, of the first {first} in float32, of all in float64. *step*: the CPU time of a
step in PyTorch on one thread, the median of the last {steps}, and how many times faster it is here. The
programs are short: some compiled steps include tracing and the compilation of kernels.

{works} of {all} give PyTorch's losses eagerly, {compiled} compiled.

| program | float | eager | compiled | step, ms | eager, times | compiled, times |
|---|---|---:|---:|---:|---:|---:|
"""


def row(name: str, found: dict[str, Outcome]) -> str:
    """A line of the table."""
    theirs = found["torch"]
    cells = [found[kind].error or f"{apart(name, found[kind], theirs):.0e}" for kind in KINDS]
    times = [f"{theirs.seconds / found[k].seconds:.1f}" if found[k].seconds else "" for k in KINDS]
    dtype = "64" if is_double(name) else "32"
    return f"| `{name}` | {dtype} | {' | '.join(cells)} | {1e3 * theirs.seconds:.2f} | {' | '.join(times)} |"


def written() -> dict[str, str]:
    """The lines of the table as they are in the page, by the programs' names."""
    section = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    return {match[1]: match[0] for match in re.finditer(r"(?m)^\| `(\w+)` \|.*$", section)}


def agree(lines: dict[str, str]) -> list[int]:
    """How many lines say that losses are PyTorch's, eagerly and compiled."""
    cells = {name: line.split(" | ")[2:4] for name, line in lines.items()}
    return [sum(is_close(name, of[i]) for name, of in cells.items()) for i in range(len(KINDS))]


def is_close(name: str, cell: str) -> bool:
    """Whether a cell of the table is a difference that rounding explains."""
    return re.fullmatch(r"[\d.]+e[+-]\d+", cell) is not None and float(cell) <= tolerance(name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run programs, and write their lines of the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", help="all by default")
    options.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args(arguments)
    if given.child:
        return child(*given.child)
    lines = written()
    for name in given.names or PROGRAMS:
        found = {kind: outcome(name, kind) for kind in ("torch", *KINDS)}
        lines[name] = row(name, found)
        print(lines[name], flush=True)
        for kind in KINDS:
            if found[kind].text != found["torch"].text:
                print(f"    {kind} prints another text", flush=True)
    lines = {name: lines[name] for name in PROGRAMS if name in lines}
    works, compiled = agree(lines)
    torch = importlib.metadata.version("torch").partition("+")[0]
    head = HEADER.format(all=len(lines), torch=torch, first=FIRST, steps=STEPS, works=works, compiled=compiled)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    table = head + "\n".join(lines.values())
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
