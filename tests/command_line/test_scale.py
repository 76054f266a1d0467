"""`staticgrad scale`: the model of a network, and predictions from a plan."""

from __future__ import annotations

import json

import pytest

from staticgrad.__main__ import main
from staticgrad.command_line.programs import Misuse
from staticgrad.command_line.scale import Net, duration, network

PROGRAM = """\
import staticgrad as sg
import staticgrad.distributed as dist
import staticgrad.functional as F
from staticgrad import nn, optim
from staticgrad.nn.parallel import DistributedDataParallel

dist.init_process_group()
model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)), bucket_cap_mb=0.01)
optimizer = optim.SGD(model.parameters(), lr=0.1)


@sg.compile
def step(x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


inputs = sg.randn(32, 64), sg.arange(32) % 10
"""


def test_networks():
    assert network("100us,10Gbit") == Net(pytest.approx(1e-4), 1.25e9)
    assert network("2 ms,4MB/s".replace(" ", "")) == Net(pytest.approx(2e-3), 4e6)
    for text in ("10Gbit", "100us", "100us,fast", "1h,1Gbit"):
        with pytest.raises(Misuse, match="--net is a latency and a rate"):
            network(text)


@pytest.mark.parametrize(
    ("kind", "size", "ranks", "expected"),
    [
        ("all_reduce", 1e6, 2, (2e-3, "tree")),
        ("all_reduce", 1e8, 1024, (2 * 10 * 1e-3 + 0.2 * 1023 / 1024, "halves")),
        ("all_reduce", 0, 16, (4e-3, "tree")),
        ("all_reduce", 1e9, 5, (2 * 4 * (1e-3 + 0.2), "ring")),
        ("all_gather", 1e6, 8, (3e-3 + 7e-3, "doubling")),
        ("reduce_scatter", 8e6, 8, (3e-3 + 7e-3, "halves")),
        ("all_to_all", 8e6, 8, (7 * 2e-3, "pairs")),
        ("broadcast", 1e3, 8, (3 * (1e-3 + 1e-6), "tree")),
        ("all_reduce", 1e6, 1, (0.0, "none")),
    ],
)
def test_the_model_of_collectives(kind, size, ranks, expected):
    found = duration(kind, int(size), ranks, Net(1e-3, 1e9))
    assert found == (pytest.approx(expected[0]), expected[1])


def test_predictions(tmp_path, capsys):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    slow = ["scale", f"{program}:step", "--repeats", "10", "--threads", "1", "--ranks", "1,2,512", "--net", "1ms,1Gbit"]
    assert main([*slow, "--json"]) == 0
    one, two, many = json.loads(capsys.readouterr().out)
    size = 4 * (64 * 256 + 256 + 256 * 10 + 10)
    assert one["communicating"] == 0
    assert one["step"] == pytest.approx(one["computing"])
    assert size < one["memory"] < two["memory"] == many["memory"]
    rounds = many["communicating"] - many["latency"]
    assert 0 < rounds < 9 * 8 * size / 1e9
    assert one["step"] < two["step"] < many["step"]
    for row in (two, many):
        assert row["computing"] <= row["step"] <= row["computing"] + row["communicating"]
        assert row["step"] - row["computing"] == pytest.approx((1 - row["hidden"]) * row["communicating"])
    assert main(slow) == 0
    text = capsys.readouterr().out
    assert "ranks    step/ms" in text
    assert "of the communication is latency: fewer and larger buckets help" in text
    assert main([*slow[:-1], "1ms,fast"]) == 2
    assert main([*slow[:6], "--ranks", "0"]) == 2


def test_rows_of_others_are_other_rows(tmp_path, capsys):
    """Of a table whose rows travel: others are only supposed to be there, and their rows are in range."""
    sparse = PROGRAM.replace(
        "nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))",
        "nn.Sequential(nn.Embedding(1000, 4, sparse=True), nn.Linear(4, 10))",
    ).replace("sg.randn(32, 64)", "sg.arange(32) * 3")
    program = tmp_path / "train.py"
    program.write_text(sparse)
    pytest.importorskip("mpi4py")
    assert main(["scale", f"{program}:step", "--ranks", "4", "--net", "100us,10Gbit", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["communicating"] > 0
