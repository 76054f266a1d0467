"""PyTorch's arguments of `compile`."""

from __future__ import annotations

import pytest

import staticgrad as sg


@pytest.mark.parametrize(
    "decorate",
    [
        sg.compile,
        sg.compile(),
        sg.compile(fullgraph=True, dynamic=False, backend="inductor", mode="max-autotune"),
        lambda fn: sg.compile(fn, options={"trace": True}, backend="aot_eager"),
        sg.compile(disable=True),
        sg.compile(backend="eager"),
    ],
)
def test_arguments(decorate):
    assert decorate(lambda x: x + 1)(sg.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"backend": "tvm"}, "Invalid backend: 'tvm'"),
        ({"mode": "fast"}, "Unrecognized mode=fast"),
        ({"mode": "default", "options": {}}, "Either mode or options"),
        ({"on_break": "stop"}, "on_break is one of 'split', 'eager', 'error'"),
        ({"fullgraph": True, "on_break": "split"}, "fullgraph=True refuses"),
    ],
)
def test_refused_arguments(settings, text):
    with pytest.raises(sg.ArgumentError, match=text):
        sg.compile(lambda x: x, **settings)


def test_prints_without_a_cut(capsys):
    @sg.compile
    def double(x):
        y = 2 * x
        sg.print("y:", y, sep="")
        return y

    for k in range(3):
        double(sg.tensor(float(k)))
    assert double.segmented is None
    assert capsys.readouterr().out == "y:tensor(0.)\ny:tensor(2.)\ny:tensor(4.)\n"


def test_prints_values_as_they_were_at_the_call(capsys):
    def texts(compiled):
        weight = sg.tensor([1.0, 2.0], requires_grad=True)
        optimizer = sg.optim.SGD([weight], lr=0.5)
        count, seen = sg.tensor(0), {"rows": []}

        def step(x):
            y = weight * x.clone()
            z, row = x * 2, x[1:]
            sg.print("at first", weight, count, x, z, (z, [row]), weight.detach(), sep="; ")
            z[0] = 7
            x += 1
            count.add_(1)
            seen["rows"].append(z)
            sg.print(z, y.detach(), seen, x[1:])
            z.mul_(2)
            seen["rows"].clear()
            y.sum().backward()
            sg.print(weight.grad)
            optimizer.step()
            optimizer.zero_grad()
            sg.print(weight, weight.grad, f"{3}", end="\n\n")

        run = sg.compile(step, on_break="error") if compiled else step
        for k in range(3):
            run(sg.tensor([1.0, float(k)]))
        return capsys.readouterr().out

    assert texts(True) == texts(False)


def test_breakpoints(monkeypatch):
    seen = []

    @sg.compile
    def double(x):
        y = 2 * x
        sg.debug.breakpoint()
        return y

    monkeypatch.setattr("sys.breakpointhook", lambda: seen.append(1))
    assert [double(sg.tensor(float(k))).item() for k in range(2)] == [0, 2]
    assert seen == [1, 1]
