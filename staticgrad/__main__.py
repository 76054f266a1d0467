"""`python -m staticgrad`, also installed as `staticgrad`: compare, explain, draw and profile a function; run an exported step;
the kernel cache; the state of this installation."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

DESCRIPTION = "Looks at functions of tensors, as eager mode, a Session and the compiler run them."
EPILOG = """\
examples
  staticgrad compare train.py:step --shapes 32x784 32:int64    the same values in all modes? how fast is each?
  staticgrad explain train.py:step                             what the compiled step does, and why
  staticgrad explain train.py:step --why-not matmul add        why two operations are not one kernel
  staticgrad draw train.py:step -o step.svg                    its graph
  staticgrad profile train.py:step --trace step.json           where the time goes
  staticgrad run step/                                         a step that plan.export("step/") wrote
  staticgrad torch train.py --epochs 3                         a PyTorch program, as it is
  staticgrad torch --compile train.py                          its training steps compiled
  staticgrad torch --compare 20 train.py                       20 steps in PyTorch, eagerly and compiled, side by side
  staticgrad tf1 train.py                                      a TensorFlow 1 program, as it is
  staticgrad init train.py                                     a training script to begin with
  staticgrad doctor                                            what is slow here, and how to mend it

exit codes
  0 done   1 the program failed, or the modes disagree, or a mode can't run it   2 the command can't be followed
"""
PROGRAM = """\
PROGRAM is FILE.py:name, where the file defines `name`: a function of tensors, a compiled function, a module, a graph or a
session. The file is run. Arrays to call a function with come from --inputs NAME (a tuple in the file, or a function that
returns one), from --shapes, or from a variable `inputs` of the file.
"""


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    text = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(prog="staticgrad", description=DESCRIPTION, epilog=EPILOG, formatter_class=text)
    top.add_argument("--traceback", action="store_true", help="show the whole traceback of an error")
    top.add_argument("--version", action="store_true", help="print the version, and end")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, help: str, module: str, of: Any = commands) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = of.add_parser(
            name, help=help, description=help[0].upper() + help[1:] + ".", formatter_class=text
        )
        made.set_defaults(module=module, function=name, parser=made)
        return made

    def remainder(of: argparse.ArgumentParser) -> None:
        rest = of.add_argument("arguments", nargs=argparse.REMAINDER, help="of the program")
        rest.required = False  # or a call without the program's name is told to give arguments, too

    def program(name: str, help: str) -> argparse.ArgumentParser:
        made = command(name, help, "inspecting")
        made.epilog = PROGRAM
        made.add_argument("program", metavar="PROGRAM", help="FILE.py:name")
        made.add_argument("--inputs", metavar="NAME", help="a tuple of arguments in the file, or a function that returns one")
        made.add_argument("--shapes", nargs="+", default=(), metavar="SHAPE", help="random arguments: 32x784, 32:int64, scalar")
        made.add_argument("--seed", type=int, default=0, help="of the random arguments (0)")
        return made

    one = program("compare", "compare the modes: values, gradients, time")
    one.add_argument(
        "--peer", action="append", default=[], metavar="NAME=TWIN", help="a twin in the file, such as torch=torch_step"
    )
    one.add_argument("--repeats", type=int, default=50, help="timed calls of each mode (50)")
    one.add_argument("--html", metavar="PATH", help="write the report as one HTML file, too")
    one = program("explain", "say what the compiled function does, and why")
    one.add_argument("--detail", action="store_true", help="everything, not a page")
    one.add_argument("--why-not", nargs=2, metavar=("A", "B"), help="why two operations are not fused: ops, names, file.py:12")
    one = program("draw", "draw the graph, or print it as text")
    one.add_argument(
        "-o", "--output", metavar="PATH", help=".svg, .png, .pdf or .dot; without it, the graph is printed as text"
    )
    one.add_argument("--group", choices=("auto", "module", "kernel", "none"), default="auto", help="what is drawn as one box")
    one.add_argument("--stage", help="after a stage of the compiler: functionalize, specialize, simplify, ...")
    one = program("profile", "time each instruction of the compiled function")
    one.add_argument("--repeats", type=int, default=200, help="runs of each instruction at least (200)")
    one.add_argument("--trace", metavar="PATH", help="write a timeline for https://ui.perfetto.dev")
    for name in ("compare", "explain", "profile"):
        commands.choices[name].add_argument("--json", action="store_true", help="print data, not text")
    one = command("run", "run a step that plan.export wrote", "inspecting")
    one.add_argument("folder", metavar="FOLDER", help="of the exported step")
    one.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="an input; others are random")
    one.add_argument("--seed", type=int, default=0, help="of random inputs (0)")
    one.add_argument("--repeat", type=int, default=1, help="number of runs (1)")
    one.add_argument("--output", metavar="FILE.npz", help="write the results of the last run")
    one.add_argument("--save", action="store_true", help="write the variables back to the package")
    for name, library in (("torch", "PyTorch"), ("tf1", "TensorFlow 1")):
        one = command(name, f"run a program that was written for {library}, as it is", "foreign")
        if name == "torch":
            one.add_argument("--compile", action="store_true", help="compile the lines around each call of backward()")
            one.add_argument(
                "--compare", type=int, metavar="N", help="run N steps in PyTorch, eagerly and compiled, from the same draws"
            )
            one.add_argument("--html", metavar="PATH", help="write the report of --compare as one HTML file, too")
        one.add_argument("-m", dest="as_module", action="store_true", help="PROGRAM is the name of a module")
        one.add_argument("file", metavar="PROGRAM", help="FILE.py")
        remainder(one)
    cache = command("cache", "the kernel cache, and what eager mode knows: info, clear, warm, eager", "cache")
    parts = cache.add_subparsers(dest="part", metavar="info|clear|warm|eager", required=True)
    command("info", "where it is and what it holds", "cache", parts).add_argument("--json", action="store_true")
    one = command("clear", "remove kernels, the least recently used first", "cache", parts)
    one.add_argument("--to", metavar="SIZE", help="until this is left: 500MB, 1GB; without it, all are removed")
    for about, where in (("compile the kernels that most programs need", parts), ("the same as `cache warm`", commands)):
        one = command("warm", about, "cache", where)
        one.add_argument("--cpu", metavar="NAME", help="for a lesser CPU than this one, as STATICGRAD_CPU: x86-64-v3")
    one = command("eager", "run a program; which of its eager calls have a plan or a route, and what waits", "cache", parts)
    one.add_argument("file", metavar="FILE.py")
    remainder(one)
    one.add_argument("--most", type=int, default=40, metavar="N", help="rows, those with the most runs first (40)")
    one.add_argument("--json", action="store_true")
    one = command("launch", "run a program in several processes that train together, by MPI", "launch")
    one.add_argument("-n", "--processes", type=int, required=True, metavar="N", help="how many")
    one.add_argument("--threads", type=int, metavar="N", help="of each process (CPUs / processes)")
    one.add_argument("--hosts", metavar="NAME:SLOTS,...", help="where: the host option of mpirun")
    one.add_argument("--bind", action="store_true", help="bind each process to cores that no other program uses")
    one.add_argument("--restarts", type=int, default=0, metavar="N", help="start all again so often after a failure (0)")
    one.add_argument("file", metavar="FILE.py")
    remainder(one)
    one = command("scale", "predict a step on many processes from its plan on one", "scale")
    one.add_argument("program", metavar="FILE.py:STEP", help="a compiled step of a program that calls init_process_group()")
    one.add_argument("--ranks", default="8,64,512", metavar="N,...", help="how many processes (8,64,512)")
    one.add_argument("--threads", type=int, metavar="N", help="of each process (those of this one)")
    one.add_argument("--net", default="100us,10Gbit", metavar="LATENCY,RATE", help="of a message between two (100us,10Gbit)")
    one.add_argument(
        "--shapes", nargs="+", default=[], metavar="SHAPE", help="of the arguments of one process: 32x784 32:int64"
    )
    one.add_argument("--inputs", metavar="NAME", help="a tuple of the file, or a function's result")
    one.add_argument("--seed", type=int, default=0, help="of the arguments that --shapes makes")
    one.add_argument("--repeats", type=int, default=50, help="how often each instruction is timed (50)")
    one.add_argument("--json", action="store_true", help="print data, not text")
    one = command("init", "write a training script to begin with", "launch")
    one.add_argument("file", metavar="FILE.py")
    one.add_argument(
        "--dialect", choices=("torch", "tf1"), default="torch", help="a step of tensors, or a graph and a session (torch)"
    )
    one = command("replay", "compile and run again what STATICGRAD_RECORD=folder recorded, beside NumPy", "inspecting")
    one.add_argument("folder", metavar="FOLDER", help="of the recording, or one of its files")
    one.add_argument("--seed", type=int, default=0, help="of the random arguments (0)")
    one = command("doctor", "versions, BLAS, threads, cache; what is slow and how to mend it", "doctor")
    one.add_argument("--json", action="store_true", help="print data, not text")
    one.add_argument("--report", action="store_true", help="print what a report of a defect needs: no folders, no data")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit code; argparse exits with 2 itself."""
    top = parser()
    given, unknown = top.parse_known_args(arguments)
    if unknown:
        getattr(given, "parser", top).error(f"unrecognized arguments: {' '.join(unknown)}")
    if given.version:
        from . import __version__

        print(__version__)
        return 0
    if given.command is None:
        top.print_help()
        return 2
    from .command_line.programs import Misuse
    from .errors import ArgumentError, StaticgradError, internal

    if arguments is None:
        internal[sys._getframe(1).f_code.co_filename] = True  # the script `staticgrad` is no line of the user
    try:
        return getattr(importlib.import_module(f".command_line.{given.module}", __package__), given.function)(given)
    except Misuse as error:
        print(_said(given.command, str(error)), file=sys.stderr)
        return 2
    except BrokenPipeError:  # `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if given.traceback:
            traceback.print_exc()
            return 1
        if isinstance(error, ArgumentError) and not _place(error):  # of the command, not of the program
            print(_said(given.command, str(error)), file=sys.stderr)
            return 2
        print(_said(given.command, str(error), f"{type(error).__name__}: "), file=sys.stderr)
        if not isinstance(error, StaticgradError):
            print(_place(error), end="", file=sys.stderr)
        print("  --traceback before the command shows the whole traceback", file=sys.stderr)
        return 1


def _said(command: str, text: str, kind: str = "") -> str:
    """The first words of an error name the command, once, though the library's function of that name says it too."""
    return f"staticgrad {command}: {kind}{text.removeprefix(f'{command}: ')}"


def _place(error: BaseException) -> str:
    """The user's line that raised an error, as a line of text."""
    import sysconfig

    from .errors import PACKAGE_DIR, internal

    libraries = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith((PACKAGE_DIR, "<", *libraries)) and not internal.get(f.filename)]
    if isinstance(error, SyntaxError):
        return f"  {error.filename}:{error.lineno}\n"
    return f"  {own[-1].filename}:{own[-1].lineno}   {own[-1].line}\n" if own else ""


if __name__ == "__main__":
    sys.exit(main())
