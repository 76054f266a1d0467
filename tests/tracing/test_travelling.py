"""Compiled functions go to other processes: by name, with their module, or by value from the program's own file."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import staticgrad as sg
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


def test_a_session_says_what_to_send():
    with sg.Graph().as_default() as graph:
        sg.placeholder("float32", ())
    with pytest.raises(sg.GraphError, match="send a function that builds the graph"):
        pickle.dumps(sg.Session(graph))


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
