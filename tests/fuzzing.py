"""What commands that try random programs share: making one that fails smaller, and trying many in several processes."""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

Program = TypeVar("Program")
Examine = Callable[[int, int, argparse.Namespace, "Counter[str]"], "str | None"]
"""(seed, number, options, counts) -> the text of a program that differs, made small, or None."""


def shrunk(program: Program, fails: Callable[[Program], bool], smaller: Callable[[Program], Iterable[Program]]) -> Program:
    """The program with fewer parts, as long as it fails."""
    while True:
        for less in smaller(program):
            try:
                worse = fails(less)
            except Exception:  # a part that was dropped made a name that another one reads
                worse = False
            if worse:
                program = less
                break
        else:
            return program


def examined(
    program: Program,
    check: Callable[[Program], str | None],
    smaller: Callable[[Program], Iterable[Program]],
    kind: Callable[[str | None], str],
) -> tuple[Program, str] | None:
    """A program that differs, made small, and how, in words; None for one that does not. check: how a program differs;
    kind: what stays the same of that."""
    found = check(program)
    if found is None:
        return None
    small = shrunk(program, lambda p: kind(check(p)) == kind(found), smaller)
    return small, check(small) or ""


def parser(text: str | None) -> argparse.ArgumentParser:
    """The options that all commands have. text: the docstring of the command's module."""
    options = argparse.ArgumentParser(description=(text or "").splitlines()[0])
    options.add_argument("--count", type=int, default=500)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--fast", type=int, default=20, help="compile kernels for every so many programs; 0: for none")
    options.add_argument("--show", action="store_true", help="print the programs too")
    return options


def _examined(task: tuple[Examine, int, int, argparse.Namespace]) -> tuple[list[str], Counter[str]]:
    examine, first, last, options = task
    counts: Counter[str] = Counter()
    found = []
    for number in range(first, last):
        try:
            text = examine(options.seed, number, options, counts)
        except Exception as error:  # the generator's own fault, or the package's: the number says which program
            text = f"# seed {options.seed}, program {number}: {type(error).__name__}: {error}\n"
        if text is not None:
            found.append(text)
    return found, counts


def run(options: argparse.Namespace, examine: Examine, text: Callable[[int, int], str]) -> int:
    """Try programs and print those that differ; 1 if there are any. text: of the program with a seed and number."""
    started = time.time()
    numbers: Sequence[int] = range(options.first, options.first + options.count)
    if options.show:
        for number in numbers:
            print(text(options.seed, number))
    ends = [*numbers[::50], options.first + options.count]
    tasks = [(examine, a, b, options) for a, b in itertools.pairwise(ends)]
    counts: Counter[str] = Counter()
    failures = 0
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        results: Any = pool.map(_examined, tasks) if options.jobs > 1 else map(_examined, tasks)
        for found, part in results:
            counts += part
            failures += len(found)
            for each in found:
                print(each, flush=True)
    print(f"{options.count} programs, {failures} differ, {time.time() - started:.0f} s; runs: {dict(counts)}")
    return 1 if failures else 0
