"""The examples of several processes: the same losses and parameters however many there are."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.distributed.test_two_processes import launch
from tests.examples.dialect import EXAMPLES


def rows(processes: int) -> list[tuple[str, ...]]:
    """(rank, way, first loss, last loss, checksum of the parameters)."""
    ended = launch(str(EXAMPLES / "distributed_digits.py"), "--steps", "20", processes=processes)
    assert ended.returncode == 0, ended.stderr
    return re.findall(r"^ +(\d+)  (\w+) +\d+ +([\d.]+) +([\d.]+)  (\w+)$", ended.stdout, re.MULTILINE)


def test_digits_in_two_processes():
    pytest.importorskip("mpi4py")
    pytest.importorskip("sklearn")
    one, two = rows(1), rows(2)
    assert [row[:2] for row in two] == [(rank, way) for way in ("eager", "session", "compiled") for rank in "01"]
    for way, first, last in {(way, first, last) for _, way, first, last, _ in one}:
        of_two = [row for row in two if row[1] == way]
        for row in of_two:
            assert float(row[2]) == pytest.approx(float(first), rel=1e-5)
            assert float(row[3]) == pytest.approx(float(last), rel=1e-4)
        assert len({row[4] for row in of_two}) == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_a_program_of_pytorchs_in_two_processes(compiled):
    pytest.importorskip("mpi4py")
    options = ["--epochs", "2", *(["--compile"] if compiled else [])]
    one = subprocess.run(
        [sys.executable, str(EXAMPLES / "torch" / "ddp.py"), *options], capture_output=True, text=True, check=True
    )
    two = launch(str(EXAMPLES / "torch" / "ddp.py"), *options)
    assert two.returncode == 0, two.stderr
    assert len(one.stdout.splitlines()) == 2
    assert one.stdout == two.stdout


@pytest.mark.oracle
def test_pytorch_over_gloo_gives_the_same_losses(tmp_path):
    from tests.examples.dialect import source

    pytest.importorskip("torch")
    program = tmp_path / "ddp.py"
    program.write_text(source(EXAMPLES / "torch" / "ddp.py", "torch"))
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(program), "--epochs", "3"]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ours = launch(str(EXAMPLES / "torch" / "ddp.py"), "--epochs", "3").stdout
    assert re.findall("epoch .*", ours) == re.findall("epoch .*", theirs)


@pytest.mark.parametrize("way", ["dask", "joblib"])
def test_a_sweep_finds_what_one_process_finds(way):
    pytest.importorskip("sklearn")
    pytest.importorskip({"dask": "distributed"}.get(way, way))
    command = [sys.executable, str(EXAMPLES / "sweep_dask.py"), "--trainings", "8", "--steps", "30", "--ways", way, "vmap"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout
    found = dict(re.findall(r"^(\w+) .* best: (.*)$", told, re.MULTILINE))
    assert {*found} == {way, "vmap"}
    assert found[way] == found["vmap"]
