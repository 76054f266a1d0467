"""Compiled functions go to other processes: by name, with their module, or by value from the program's own file."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgrad as sg
import staticgrad.compat.tf1 as tf
from staticgrad import nn, optim


@sg.compile
def doubled(x):
    return x * 2


def test_a_function_of_a_module_goes_by_name():
    assert pickle.loads(pickle.dumps(doubled)) is doubled


def test_modules_and_optimizers_go_with_their_values():
    model = nn.Linear(2, 1)
    optimizer = optim.Adam(model.parameters())
    model(sg.ones(1, 2)).sum().backward()
    optimizer.step()
    compiled = sg.compile(model)
    x = sg.ones(1, 2)
    expected = compiled(x).item()
    again, slots = pickle.loads(pickle.dumps((compiled, optimizer)))
    assert again(x).item() == expected
    assert slots.state_dict()["state"][0]["exp_avg"].tolist() == optimizer.state_dict()["state"][0]["exp_avg"].tolist()


def network():
    """A session after a step, its inputs, and what is fetched."""
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, [None, 3], name="x")
        w = sg.Variable(np.arange(6, dtype=np.float32).reshape(3, 2) / 10, name="w")
        h = sg.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 1.5), [sg.constant(0), (x @ w).tanh()])[1]
        loss = (sg.nn.functional.dropout(h, 0.5) ** 2).mean()
        optimizer = optim.Adam(lr=0.1)
        train = optimizer.minimize(loss)
        init = sg.global_variables_initializer()
    session = sg.Session(graph)
    session.run(init)
    session.run(train, {x: np.ones((4, 3))})
    return session, x, loss, train, optimizer


def losses(session, x, loss, train, optimizer):
    sg.manual_seed(5)
    found = [session.run([loss, train], {x: np.ones((4, 3))})[0].item() for _ in range(3)]
    optimizer.param_groups[0]["lr"] = 0.0  # which runs read
    before = session.run("w")
    session.run(train, {x: np.ones((4, 3))})
    return found, before.tolist(), session.run("w").tolist()


def test_a_session_goes_with_its_graph_and_values():
    sent = pickle.dumps(network())
    program = "import pickle, sys, tests.tracing.test_travelling as t\nprint(t.losses(*pickle.load(sys.stdin.buffer)))"
    ended = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, check=True)
    found, before, after = losses(*pickle.loads(sent))
    assert ended.stdout.decode().strip() == repr((found, before, after))
    assert before == after
    assert len({*found}) == 3


def test_a_graph_of_a_module_goes_with_the_module():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, [None, 3])
        loss = model(x).square().mean()
        train = optim.SGD(lr=0.1, momentum=0.9).minimize(loss)
        init = sg.global_variables_initializer()
    session = sg.Session(graph)
    session.run(init)
    values = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    session.run(train, {x: values})
    there, model, place, total, step = pickle.loads(pickle.dumps((session, model, x, loss, train)))
    found = [there.run([total, step], {place: values})[0] for _ in range(3)]
    assert found == [session.run([loss, train], {x: values})[0] for _ in range(3)]
    with there.graph.as_default():  # the module's parameters are the graph's variables there, too
        assert_allclose(there.run(model(place).square().mean(), {place: values}), there.run(total, {place: values}), rtol=1e-6)
        assert len(there.graph.variables) == len(graph.variables)
    with pytest.raises(sg.UninitializedError):
        sg.Session(there.graph).run(total, {place: values})


def test_graphs_of_any_depth_and_dtype():
    with sg.Graph().as_default() as graph:
        x = y = sg.placeholder(sg.float16, [2], name="x")
        for _ in range(3000):
            y = y + 1
        z = sg.exp(sg.placeholder(sg.complex64, [2], name="z") * 1j)
    session, x, y, z = pickle.loads(pickle.dumps((sg.Session(graph), x, y, z)))
    assert session.run(y, {x: [0, 0]}).dtype == np.float16
    assert_allclose(session.run(z, {"z": [0, 1]}), np.exp([0j, 1j]), rtol=1e-6)


def test_what_can_not_go_says_so(monkeypatch):
    monkeypatch.setattr("staticgrad.ir.graph.by_value", lambda: None)  # cloudpickle sends classes of a function

    class Twice(sg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with sg.Graph().as_default() as graph:
        Twice.apply(sg.placeholder(sg.float32, []))
    with pytest.raises(sg.GraphError, match="can't be pickled"):
        pickle.dumps(sg.Session(graph))
    closed = sg.Session(sg.Graph())
    closed.close()
    with pytest.raises(sg.GraphError, match="closed Session"):
        pickle.dumps(closed)
    with pytest.raises(sg.GraphError, match="send a function that builds the graph"):
        pickle.dumps(tf.Session(graph=tf.Graph()))


PROGRAM = """\
import staticgrad as sg
import {library}

@sg.compile
def doubled(x):
    return x * factor

factor = 2

def call(function, x):
    return function(x).tolist()

def local(by):
    return sg.compile(lambda x: x * by)

if __name__ == "__main__":
    {run}
"""
RUNS = {
    "joblib": "print(joblib.Parallel(2)(joblib.delayed(call)(f, sg.ones(2)) for f in (doubled, local(3))))",
    "distributed": (
        "with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:\n"
        "        print(client.gather([client.submit(call, f, sg.ones(2)) for f in (doubled, local(3))]))"
    ),
    "cloudpickle": "import pickle; print([call(pickle.loads(cloudpickle.dumps(f)), sg.ones(2)) for f in (doubled, local(3))])",
}


@pytest.mark.parametrize("library", RUNS)
def test_a_function_of_the_programs_own_file(library, tmp_path):
    pytest.importorskip(library)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(library=library, run=RUNS[library]))
    told = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=120)
    assert told.stdout == "[[2.0, 2.0], [3.0, 3.0]]\n", told.stderr
