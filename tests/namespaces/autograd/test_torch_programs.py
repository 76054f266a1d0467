"""Short programs about hooks, tapes and views, which `torch_programs.txt` has, run with PyTorch and with this package.

A program is a name and statements, which go on in indented lines; `found` is what it finds out.
"""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import pytest

import staticgrad as sg

TEXT = (Path(__file__).parent / "torch_programs.txt").read_text(encoding="utf-8")
PROGRAMS = dict(line.split(": ", 1) for line in re.sub(r"\n +", "; ", TEXT).splitlines())


def shown(x):
    """A value as a text that is the same for both packages."""
    if hasattr(x, "detach"):
        dtype = str(x.dtype).removeprefix("staticgrad.").removeprefix("torch.")
        numbers = map(float, x.detach().reshape(-1))
        return f"{dtype} {tuple(x.shape)} {[round(n, 4) if math.isfinite(n) else n for n in numbers]}"
    if isinstance(x, (list, tuple)):
        return [shown(part) for part in x]
    return f"{x:.5g}" if isinstance(x, float) else str(x)


def outcome(work):
    """What a call returns, or its error: the first built-in class of it, and the beginning of its text."""
    try:
        return "no error", shown(work())
    except Exception as error:
        kinds = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
        return next(kinds), str(error).splitlines()[0][:90]


def warnings_of(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [(w.category.__name__, str(w.message).splitlines()[0][:60]) for w in caught]


def run(program, torch):
    def leaf(*values, dtype=None):
        return torch.tensor([float(x) for x in values], dtype=dtype, requires_grad=True)

    names = {
        "torch": torch, "T": torch.tensor, "leaf": leaf, "F": torch.nn.functional, "nn": torch.nn, "grad": torch.autograd.grad,
        "Function": torch.autograd.Function, "err": outcome, "warned": warnings_of, "show": shown, "warnings": warnings,
        "checkpoint": torch.utils.checkpoint.checkpoint,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcome(lambda: (exec(program, names), names["found"])[1])


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_finds_what_it_finds_in_pytorch(name):
    expected = run(PROGRAMS[name], pytest.importorskip("torch"))
    with sg.as_torch():
        import torch

        assert run(PROGRAMS[name], torch) == expected
