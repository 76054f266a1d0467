"""Host calls in a profile: each has a row with its time, in tables and traces; variables keep their values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import staticgrad as sg


def test_host_calls_are_timed(tmp_path: Path):
    w = sg.tensor(np.eye(3, dtype=np.float32), requires_grad=True)

    @sg.compile
    def step(x):
        with sg.no_grad():
            w.add_(1)
        return sg.linalg.svdvals(x).sum() + sg.fft.fft(x).abs().sum() + w.sum()

    step(np.eye(3, dtype=np.float32))
    before = w.detach().numpy().copy()
    found = sg.profile(step, repeats=10)
    np.testing.assert_array_equal(w.detach().numpy(), before)
    hosts = {name: us for kind, name, us in found.instructions if kind == "host"}
    assert {"linalg_svdvals", "fft_c2c"} <= {*hosts}
    assert min(hosts.values()) > 0
    assert found.untimed == 0
    assert "not timed" not in str(found)
    found.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {*hosts} <= {event["name"] for event in events if event.get("cat") == "host"}


def test_a_call_that_refuses_the_numbers_is_counted():
    def never(x):
        return sg.linalg.cholesky(-x @ x.T - 1).sum()

    step = sg.compile(lambda x: sg.where(x.sum() > 1e9, never(x), sg.zeros(())))
    try:
        step(np.eye(3, dtype=np.float32))
    except sg.errors.StaticgradError:
        return
    assert sg.profile(step, repeats=1).untimed == 1
