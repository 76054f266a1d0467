"""`torch` and `tf1`: programs that were written for PyTorch or TensorFlow 1, run as they are."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import tempfile
from argparse import Namespace
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from .programs import Misuse, output_file, run


def torch(given: Namespace) -> int:
    """Run a PyTorch program: its own exit code, or 1 for an error that it doesn't catch."""
    from ..namespaces.lookup.fronts import TORCH_FRONT

    if given.html is not None and given.compare is None:
        raise Misuse("--html is the report of --compare N: give both")
    if given.compare is not None:
        from .foreign import compare

        output_file(given.html, "--html")
        return compare(given)
    translate = None
    if given.compile:
        from .steps import Steps

        translate = Steps("compiled").code
    with TORCH_FRONT:
        return run(given.file, given.arguments, given.as_module, translate)


def tf1(given: Namespace) -> int:
    """Run a TensorFlow 1 program."""
    from ..namespaces.lookup.fronts import TF1_FRONT

    with TF1_FRONT:
        return run(given.file, given.arguments, given.as_module)


# `torch --compare n` --------------------------------------------------------------------------------------------------

# `torch --compare N`: the first steps of a program in PyTorch, eagerly and compiled, each in a process of its own.
#
# All of them draw the same numbers: those of this library's generator. In PyTorch's process a mode of `__torch_function__`
# takes each call that draws, and gives it this library's result of the same call.


SEED = 0
KINDS = "eager", "compiled", "torch"


def compare(given: Namespace) -> int:
    """Print the report. 1 where the ways differ, or one could not be run."""
    from ..base.interpreter import is_installed
    from ..viz.comparison import Comparison, Mode, differences

    if given.compare < 1:
        raise Misuse("--compare takes the number of steps, at least 1")
    modes = []
    for kind in KINDS:
        if kind == "torch" and not is_installed("torch"):
            print("staticgrad torch: PyTorch is not installed, so it is left out", file=sys.stderr)
            continue
        found = _run(given, kind)
        mode = Mode(kind, found.get("error", ""))
        if not mode.error:
            mode.losses, seconds = found["losses"], found["seconds"]
            mode.values = {
                "losses": np.array(mode.losses, found["dtype"]),
                **{f"{n} after": p for n, p in found["parameters"].items()},
            }
            mode.first_ms, mode.times_us = seconds[0] * 1e3, [s * 1e6 for s in seconds[min(WARM, len(seconds) - 1) :]]
        modes.append(mode)
    for mode in modes[1:]:
        if not mode.error and not modes[0].error:
            mode.differences = list(differences(mode, modes[0]))
    report = Comparison(os.path.basename(given.file), modes)
    print(report)
    if len(modes[0].losses):
        print(_table(modes))
    if given.html:
        report.to_html(given.html)
    return 0 if report.ok and report.agree() else 1


WARM = 5
"""The first steps, in which functions are traced and kernels compiled: their times are left out where there are more."""
ROWS = 12


def _table(modes: list[Any]) -> str:
    """The losses side by side, of at most some steps."""
    run = [mode for mode in modes if not mode.error]
    n = min(len(mode.losses) for mode in run)
    shown = sorted({*np.linspace(0, n - 1, min(n, ROWS)).astype(int).tolist()})
    lines = ["step  " + "".join(f"{mode.name:>14}" for mode in run)]
    lines += [f"{i + 1:4d}  " + "".join(f"{mode.losses[i]:14.7g}" for mode in run) for i in shown]
    return "\n".join(lines)


def _run(given: Namespace, kind: str) -> Any:
    """What a process records of the program."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.pickle"
        command = [sys.executable, "-m", "staticgrad.command_line.foreign", str(path), kind, str(given.compare)]
        command += ["-m"] * given.as_module + [given.file, *given.arguments]
        environment = {"PYTHONHASHSEED": "0", **os.environ}  # sets of strings have one order in all modes
        done = subprocess.run(command, stdout=sys.stderr, env=environment)
        if not path.exists():
            return {"error": f"the program ended with exit code {done.returncode} before a step"}
        return pickle.loads(path.read_bytes())


def record(path: str, kind: str, steps: int, program: str, arguments: list[str], as_module: bool) -> int:
    """Run a program in this process until it has made some steps, and write what they gave."""
    import staticgrad as sg

    from ..namespaces.lookup.fronts import TORCH_FRONT
    from .programs import run
    from .steps import Finished, Recorder, Steps

    recorder = Recorder(steps)
    made = Steps(kind, recorder)
    random.seed(SEED)
    np.random.seed(SEED)
    sg.manual_seed(SEED)
    code = 0
    with ExitStack() as stack:
        if kind == "torch":
            from .shared_draws import SharedDraws

            stack.enter_context(SharedDraws())
        else:
            stack.enter_context(TORCH_FRONT)
        with suppress(Finished):
            try:
                code = run(program, arguments, as_module, made.code)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
    error = "" if recorder.losses else "the program's files call no backward() in lines that make a step" * (not made.found)
    if recorder.losses or error:
        found = {
            "losses": recorder.losses,
            "dtype": recorder.dtype,
            "seconds": recorder.seconds,
            "parameters": recorder.parameters,
        }
        Path(path).write_bytes(pickle.dumps({"error": error} if error else found))
    return code


def main() -> int:
    """The process of one kind."""
    path, kind, steps, *rest = sys.argv[1:]
    as_module = rest[0] == "-m"
    program, *arguments = rest[as_module:]
    return record(path, kind, int(steps), program, arguments, as_module)


if __name__ == "__main__":
    sys.exit(main())
