"""`python -m staticgrad warm`: the kernels that are part of the package."""

from __future__ import annotations

import errno
import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

import staticgrad as sg
from staticgrad.__main__ import main
from staticgrad.compiler import kernels, warm
from staticgrad.compiler.backend import disk_cache, kernel_cache
from staticgrad.compiler.backend.machine_code import Wanted
from staticgrad.ops.convolution_tables import lanes_of

NAMES = {wanted.name for wanted in warm.package_kernels()}


def test_every_kernel_of_the_package_is_among_them():
    for path in Path(kernels.__path__[0]).glob("[!_]*.py"):
        for kernel in kernel_cache.library_kernels(path.stem):
            assert any(name.startswith(kernel.partition("_T")[0]) for name in NAMES), kernel


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64], ids=["f32", "f64"])
def test_convolutions_of_any_number_of_channels_are_among_them(dtype):
    short = "f32" if dtype == sg.float32 else "f64"
    assert {f"gather_{short}_{lanes_of(channels, dtype)}" for channels in range(1, 70)} <= NAMES


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    one = Wanted(kernel_cache.library_source("strided_moves", "clear"), "clear")
    monkeypatch.setattr(warm, "package_kernels", lambda: [one])
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "_loaded", {})
    for count in (1, 0):
        main(["warm"])
        assert capsys.readouterr().out.startswith(f"{count} of 1 kernels compiled in ")
    assert len([*tmp_path.glob("k*.o")]) == 1
    assert main([]) == 2


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
    monkeypatch.setattr(kernel_cache, "_loaded", {})
    taken = [0]

    def on_a_full_disk(name: str, content: bytes) -> None:
        taken[0] += len(content)
        if taken[0] > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        kept(name, content)

    kept = disk_cache._write
    monkeypatch.setattr(disk_cache, "_write", on_a_full_disk)
    monkeypatch.setattr(warm, "tiers", lambda: False)  # another process would write by itself
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
