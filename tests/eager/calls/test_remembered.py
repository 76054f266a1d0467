"""Eager calls that an earlier process has kept: read, they compute the same bits; where anything differs they are made anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT

BEGIN = """
import hashlib, sys
import numpy as np
import staticgrad as sg
import staticgrad.functional as F
from staticgrad import nn
from staticgrad.eager.calls import kernels

sg.manual_seed(0)
made, found = [], hashlib.sha256()
new = kernels.Requests.new
kernels.Requests.new = lambda self, make, *args: made.append(make) or new(self, make, *args)

def note(*tensors):
    for t in tensors:
        found.update(t.detach().numpy().tobytes())
"""
END = """
sg.wait_for_kernels()  # those that were asked for and not run
print(found.hexdigest(), sum(make.__class__ is kernels.Maker for make in made))
made, found = [], hashlib.sha256()
"""
PROGRAMS = {
    "ops": """
x = sg.randn(64, 40)
for i in range(600):
    y = sg.logsumexp(x * (i + 1), 1)
    note(y, sg.cumsum(x, 0), x.std(0))
""",
    "functions": """
x, w = sg.randn(20, 30), sg.randn(30, requires_grad=True)
for i in range(60):
    w.grad = None
    y = F.gelu(F.layer_norm(x, (30,), w))
    y.backward(y.detach())
    note(y, w.grad)
""",
    "training": """
model = nn.Sequential(nn.Linear(12, 33), nn.LayerNorm(33), nn.GELU(), nn.Linear(33, 33), nn.Tanh(), nn.Linear(33, 5))
opt, x, t = sg.optim.Adam(model.parameters()), sg.randn(16, 12), sg.arange(16) % 5
for i in range(60):
    opt.zero_grad()
    loss = F.cross_entropy(model(x), t)
    loss.backward()
    opt.step()
    note(loss)
note(*model.parameters())
""",
    "rows": """
table = nn.Embedding(50, 6)
opt, places = sg.optim.SGD(table.parameters(), lr=0.1), sg.arange(12) * 7 % 50
for i in range(80):
    opt.zero_grad()
    loss = (table(places) ** 2).mean()
    loss.backward()
    opt.step()
    note(loss)
note(table.weight)
""",
    "several results": """
x, h = sg.randn(7, 3, 5), None
cell = nn.GRU(5, 6)
for i in range(40):
    out, last = cell(x)
    (out.sum() + (last**2).sum()).backward()
    note(out, last)
note(*[p.grad for p in cell.parameters()])
""",
    "second derivatives": """
x = sg.linspace(-1, 1, 100).requires_grad_()
for i in range(60):
    (g,) = sg.grad(F.silu(x).sum(), [x], create_graph=True)
    (second,) = sg.grad((g * F.softplus(x)).sum(), [x])
    note(g, second)
""",
    "shapes": """
layers = [nn.Linear(6, n) for n in (3, 9, 17, 9, 31)]
for i in range(40):
    for layer in layers:
        layer.zero_grad()
        F.gelu(layer(sg.ones(4, 6))).sum().backward()
        note(layer.weight.grad)
""",
}
MORE = """
for n in (2, 5, 23):
    layer = nn.Linear(6, n)
    for i in range(40):
        layer.zero_grad()
        F.gelu(layer(sg.ones(4, 6))).sum().backward()
        note(layer.weight.grad)
"""


def run(cache: Path, *programs: str, **environment: str) -> list[tuple[str, int]]:
    """Of each program, all in one process, a hash of what it computes, and how many calls were made that may be read."""
    unset = ("STATICGRAD_EAGER", "STATICGRAD_PLANS", "STATICGRAD_TIERS")  # as a user has them
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {"PYTHONPATH": str(ROOT), "STATICGRAD_CACHE_DIR": str(cache), **environment}
    text = BEGIN + "".join([program + END for program in programs])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [(bits, int(made)) for bits, made in map(str.split, done.stdout.splitlines())]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, tuple[str, int]]]:
    """What two processes find, of which the second one has the cache of the first."""
    cache = tmp_path_factory.mktemp("kernels")
    return [dict(zip(PROGRAMS, run(cache, *PROGRAMS.values()), strict=True)) for _ in range(2)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_process_makes_no_call_and_computes_the_same_bits(runs: list[dict[str, tuple[str, int]]], name: str):
    (bits, made), second = [found[name] for found in runs]
    assert made > 0
    assert second == (bits, 0)


def test_what_comes_after_calls_that_were_read_has_the_bits_that_it_has_without_a_cache(tmp_path: Path):
    program = PROGRAMS["shapes"] + MORE
    ((wanted, _),) = run(tmp_path / "other", program)
    run(tmp_path, PROGRAMS["shapes"])
    ((bits, made),) = run(tmp_path, program)
    assert bits == wanted
    assert made > 0
    assert run(tmp_path, program) == [(bits, 0)]


def test_the_order_of_shapes_is_part_of_what_is_kept(tmp_path: Path):
    """A plan may have taken the template of the one before it, and has other bits than one that was made first."""
    backwards = PROGRAMS["shapes"].replace("in layers", "in layers[::-1]")
    ((wanted, _),) = run(tmp_path / "other", backwards)
    run(tmp_path, PROGRAMS["shapes"])
    assert run(tmp_path, backwards)[0][0] == wanted


def widths(*ns: int) -> str:
    return MORE.replace("(2, 5, 23)", f"{ns}")


def test_what_a_new_shape_makes_does_not_grow_with_the_shapes_that_were_read(tmp_path: Path):
    """It asks for the templates of its family, and not for the plans that took them."""

    def new_shape(*ns: int) -> int:
        ((wanted, _),) = run(tmp_path / f"other{len(ns)}", widths(*ns, 64))
        run(tmp_path / f"{len(ns)}", widths(*ns))
        ((bits, made),) = run(tmp_path / f"{len(ns)}", widths(*ns, 64))
        assert bits == wanted
        return made

    few, many = new_shape(9, 17), new_shape(*range(9, 25))
    assert 0 < many <= few


READS = """
from staticgrad.compiler.backend import disk_cache
from staticgrad.eager.grad_mode import modes
reads, read = [], disk_cache.read
disk_cache.read = lambda name, key: reads.append((modes.now.passes, name)) or read(name, key)
"""
BY_THEN = """
late = {name for passes, name in reads if passes > 1}
found.update(repr(late).encode())
assert len(reads) > 5
"""


def test_the_first_call_that_is_asked_for_reads_the_others_ahead(tmp_path: Path):
    """It comes in the second step, and no later step reads a file."""
    program = READS + PROGRAMS["training"]
    wanted = run(tmp_path / "other", PROGRAMS["training"] + "found.update(repr(set()).encode())\n")
    first, second, third = (run(tmp_path, program + BY_THEN)[0][0] for _ in range(3))
    assert first != second == third == wanted[0][0]


FORMS = """
from staticgrad.eager import backward_plans
from staticgrad.eager.grad_mode import modes
formed, form_of = [], backward_plans.form_of
backward_plans.form_of = lambda *args: formed.append(modes.now.passes) or form_of(*args)
"""


def test_a_backward_pass_is_ready_before_the_first_tape_of_its_form(tmp_path: Path):
    """From the third step on no tape is looked at to find out its form, where an earlier process has kept that."""
    program = FORMS + PROGRAMS["training"] + "found.update(repr([p for p in formed if p > 2]).encode())\n"
    wanted = run(tmp_path / "other", PROGRAMS["training"] + "found.update(b'[]')\n")
    first, second, third = (run(tmp_path, program)[0][0] for _ in range(3))
    assert first != second == third == wanted[0][0]


TWICE = """
x = sg.randn(20, 30, requires_grad=True)
for i in range(20):
    x.grad = None
    z = F.gelu(x * 3)
    a = F.silu(z)
    b = F.mish(z)
    (a * b).sum().backward()
    note(x.grad)
"""


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("    a = F.silu(z)\n    b = F.mish(z)\n", "    b = F.mish(z)\n    a = F.silu(z)\n"),
        ("    a = F", "    if i == 2: sg.set_num_threads(1)\n    a = F"),
        ("    a = F", "    if i == 2: sg.set_default_dtype(sg.float64)\n    a = F"),
        ("    (a", "    if i < 9: z.register_hook(lambda g: g * 2)\n    (a"),
    ],
    ids=["order", "threads", "dtype", "hook"],
)
def test_a_pass_that_is_ready_takes_over_where_it_would_have_been_made(tmp_path: Path, line: str, other: str):
    changed = TWICE.replace(line, other)
    ((wanted, _),) = run(tmp_path / "other", changed)
    run(tmp_path, TWICE)
    for _ in range(2):
        assert run(tmp_path, changed)[0][0] == wanted


def test_files_that_are_not_asked_for_any_more_are_read_ahead_no_longer(tmp_path: Path):
    few = "(w := sg.ones(9, 9, requires_grad=True)).sum()\nfor i in range(4): F.gelu(w).sum().backward()\n"
    more = few + "for n in range(20):\n for i in range(4): F.silu(sg.ones(9 + n, 9) @ w).sum().backward()\n"
    counted = "from staticgrad.eager.calls.remembered import ahead\nfound.update(b'%d' % len(ahead.noted))\n"
    run(tmp_path, more)
    runs = [run(tmp_path, few + counted)[0][0] for _ in range(5)]
    assert runs[0] != runs[-1] == runs[-2]


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def foreign(file: Path) -> None:
    file.chmod(0o666)


def gone(file: Path) -> None:
    file.unlink()


@pytest.fixture(scope="module")
def first_process(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, int]]]:
    """A cache that one process has filled, and what it found."""
    cache = tmp_path_factory.mktemp("functions")
    return cache, run(cache, PROGRAMS["functions"])


@pytest.fixture
def filled(first_process: tuple[Path, list[tuple[str, int]]], tmp_path: Path) -> tuple[Path, list[tuple[str, int]]]:
    """A copy of it."""
    return shutil.copytree(first_process[0], tmp_path / "cache"), first_process[1]


@pytest.mark.parametrize("spoil", [truncated, foreign, gone])
def test_a_file_that_is_no_good_is_missed(filled: tuple[Path, list[tuple[str, int]]], spoil: Callable[[Path], Any]):
    cache, found = filled
    spoiled = list(cache.glob("c*.call"))
    assert spoiled
    for file in spoiled:
        spoil(file)
    assert run(cache, PROGRAMS["functions"]) == found


def test_machine_code_that_is_gone_is_compiled_again(filled: tuple[Path, list[tuple[str, int]]]):
    cache, found = filled
    for file in cache.iterdir():
        if file.suffix != ".call":
            file.unlink()
    assert run(cache, PROGRAMS["functions"]) == found


@pytest.mark.parametrize("setting", ["sg.set_num_threads(1)", "sg.set_default_dtype(sg.float64)", ""])
def test_other_settings_have_calls_of_their_own(filled: tuple[Path, Any], tmp_path: Path, setting: str):
    program, other = f"{setting}\n{PROGRAMS['functions']}", {} if setting else {"STATICGRAD_CPU": "x86-64-v2"}
    assert run(filled[0], program, **other) == run(tmp_path / "other", program, **other)


def test_a_call_that_was_read_can_be_explained(tmp_path: Path):
    explained = PROGRAMS["functions"] + (
        "calls = [c for c in kernels.requests.plans.everything().values() if getattr(c, 'plan', None) is not None]\n"
        "found.update(repr(sorted(str(c.plan.explain()) for c in calls)).encode())\n"
    )
    assert run(tmp_path, explained)[0][0] == run(tmp_path, explained)[0][0]
