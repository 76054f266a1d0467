"""`python -m staticgrad warm`: the kernels that are part of the package."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.__main__ import main
from staticgrad.command_line import cache as typical_steps
from staticgrad.compiler import kernels, warm
from staticgrad.compiler.backend import disk_cache, kernel_cache
from staticgrad.compiler.backend.kernel_cache import NOW, Wanted
from staticgrad.ops.convolution_tables import lanes_of
from tests.helpers import load_no_kernels
from tests.processes import ended, start

TYPICAL = typical_steps.typical_steps
NAMES = {wanted.name for wanted in warm.package_kernels()}


def test_every_kernel_of_the_package_is_among_them():
    for path in Path(kernels.__path__[0]).glob("[!_]*.py"):
        for kernel in kernel_cache.library_kernels(path.stem):
            assert any(name.startswith(kernel.partition("_T")[0]) for name in NAMES), kernel


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64], ids=["f32", "f64"])
def test_convolutions_of_any_number_of_channels_are_among_them(dtype):
    short = "f32" if dtype == sg.float32 else "f64"
    assert {f"gather_{short}_{lanes_of(channels, dtype)}" for channels in range(1, 70)} <= NAMES


@pytest.fixture(autouse=True)
def _no_steps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(typical_steps, "typical_steps", lambda: [])


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    one = Wanted(kernel_cache.library_source("strided_moves", "clear"), "clear")
    monkeypatch.setattr(warm, "package_kernels", lambda: [one])
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path))
    load_no_kernels(monkeypatch)
    for count in (1, 0):
        main(["warm"])
        assert capsys.readouterr().out.startswith(f"{count} of 1 kernels compiled in ")
    assert len([*tmp_path.glob("k*.o")]) == 1
    assert main([]) == 2


def test_a_program_of_usual_layers_finds_its_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The command in a fresh process, with the steps of one model: another model of such layers, of other
    extents, in another process compiles nothing. Rows of 9 to 16 columns share kernels."""
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("STATICGRAD_TIERS", "1")
    monkeypatch.setenv("STATICGRAD_EAGER", "kernels")
    first = """
        import sys
        from staticgrad.command_line import cache as typical_steps
        from staticgrad.__main__ import main
        from staticgrad.compiler import warm
        warm.package_kernels = lambda: []
        found = [*typical_steps.typical_steps()]
        typical_steps.typical_steps = lambda: found[:1]
        sys.exit(main(["warm"]))
    """
    second = """
        import staticgrad as sg
        from staticgrad import functional as F, nn, optim
        from staticgrad.compiler.backend import compile_pool
        model = nn.Sequential(nn.Linear(7, 21), nn.ReLU(), nn.Linear(21, 33), nn.ReLU(), nn.Linear(33, 12))
        opt = optim.Adam(model.parameters(), lr=3e-4)
        x, y = sg.randn(40, 7), sg.randint(0, 12, (40,))
        for _ in range(24):
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        sg.wait_for_kernels()
        print(compile_pool._pool is None)
    """
    assert " kernels compiled in " in ended(start(first))[0]
    assert ended(start(second)) == ("True\n", "")


def test_typical_steps_train(monkeypatch: pytest.MonkeyPatch):
    """All models, losses and optimizers, each for a step."""
    monkeypatch.setattr(typical_steps, "STEPS", 1)
    with sg.eager_kernels(False):
        for run in TYPICAL():
            model = run.args[0]
            before = [p.detach().numpy().copy() for p in model.parameters()]
            run()
            assert all(np.isfinite(p.detach().numpy()).all() for p in model.parameters())
            assert any((a != p.detach().numpy()).any() for a, p in zip(before, model.parameters(), strict=True))


def test_for_another_cpu(monkeypatch: pytest.MonkeyPatch):
    """The command runs again, as the compiler reads the variable when it is imported."""
    monkeypatch.delenv("STATICGRAD_CPU", raising=False)
    given: list[Any] = []

    def run(command: list[str], env: dict[str, str], check: bool) -> Any:
        given.append((command[1:], env["STATICGRAD_CPU"]))
        return SimpleNamespace(returncode=3)

    monkeypatch.setattr(subprocess, "run", run)
    assert main(["warm", "--cpu", "x86-64-v3"]) == 3
    assert given == [(["-m", "staticgrad", "warm"], "x86-64-v3")]


def doctor_findings(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    main(["doctor", "--json"])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return found


@pytest.mark.parametrize("room", [0, 1 << 16])
def test_a_cache_that_keeps_nothing(
    room: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """On a full disk the command fails, before it compiles for a minute or with the count of what it lost."""
    one = Wanted(kernel_cache.library_source("strided_moves", "clear"), "clear")
    monkeypatch.setattr(warm, "package_kernels", lambda: [one])
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path))
    load_no_kernels(monkeypatch)
    taken = [0]

    def on_a_full_disk(name: str, content: bytes) -> None:
        taken[0] += len(content)
        if taken[0] > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        kept(name, content)

    kept = disk_cache._write
    monkeypatch.setattr(disk_cache, "_write", on_a_full_disk)
    monkeypatch.setattr(warm, "tiers", lambda: NOW)  # another process would write by itself
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert main(["warm"]) == 1
    said = capsys.readouterr()
    reason = "it has no place for 1 of 1 kernels" if room else "it can't be written: No space left on device"
    assert f"the kernel cache {tmp_path} can't keep kernels: {reason}" in said.err
    assert said.out == ""
    broken = [finding["text"] for finding in doctor_findings(capsys) if finding["broken"]]
    lacking = "the kernel cache is not used: it can't be written: No space left on device; each process compiles its kernels"
    assert broken == [lacking]
    assert not [*tmp_path.iterdir()]
