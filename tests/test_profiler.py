"""`sg.profiler`: regions, steps and schedules; and the questions of `sg.compiler`."""

from __future__ import annotations

import json

import pytest

import staticgrad as sg
from staticgrad.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler


def test_regions(tmp_path):
    @record_function("inner")
    def inner():
        return sg.ones(2) + 1

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof, record_function("outer"):
        inner()
        inner()
    with record_function("outside"):
        pass
    averages = {a.key: a for a in prof.key_averages()}
    assert {key: a.count for key, a in averages.items()} == {"inner": 2, "outer": 1}
    assert averages["outer"].cpu_time_total > averages["inner"].cpu_time_total > 0
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=1)
    assert "outer" in table
    assert "inner" not in table
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events] == ["inner", "inner", "outer"]


def test_schedule(tmp_path):
    found = [schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)(step) for step in range(7)]
    none, warm, record, save = ProfilerAction
    assert found == [none, none, warm, record, save, none, none]
    steps = schedule(wait=1, warmup=0, active=1)
    with profile(schedule=steps, on_trace_ready=tensorboard_trace_handler(str(tmp_path))) as prof:
        for _ in range(4):
            with record_function("work"):
                pass
            prof.step()
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(ValueError, match="active"):
        schedule(wait=0, warmup=0, active=0)


def test_questions():
    assert not sg.compiler.is_compiling()
    seen = sg.compile(lambda x: x * 2 if sg.compiler.is_compiling() else x)
    assert seen(sg.ones(1)).item() == 2
    assert sg.compiler.disable()(len) is sg.compiler.disable(len) is len
    with sg.autograd.profiler.profile(), sg.autograd.set_multithreading_enabled(False):
        pass
