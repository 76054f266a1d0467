"""The command line: what is printed, exit codes, and no traceback for a user's mistake."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.__main__ import main
from staticgrad.command_line import doctor
from staticgrad.compiler.backend import disk_cache
from staticgrad.compiler.backend.object_code import COMPILERS, DEFAULT
from staticgrad.eager.calls import call_cache
from staticgrad.eager.grad_mode import modes

PROGRAM = """
import numpy as np
import staticgrad as sg

inputs = (np.ones((4, 3), "float32"),)


def made():
    return np.ones((2, 3), "float32")


def double(x):
    return (x * 2).sum()


def pair(x, y):
    return x * y


def trained(x):
    loss = layer(x).square().mean()
    loss.backward()
    return loss


def two():
    return 1.0, 2.0


def nothing():
    return sg.ones(3) * 2


def wrong(x):
    return sg.matmul(x, x)


def raises(x):
    raise KeyError("missing")


layer = sg.nn.Linear(3, 2)
graph = sg.graph_of((sg.ones(3, requires_grad=True) * 2).sum())
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "program.py").write_text(PROGRAM)
    return str(tmp_path / "program.py")


# command, exit code, text that is printed, text among the errors
CASES: list[tuple[str, int, str, str]] = [
    ("explain program.py:double", 0, "1 instructions: 1 native (1 generated kernels)", ""),
    ("explain program.py:double --detail", 0, "buffers in the arena", ""),
    ("explain program.py:double --why-not mul sum", 0, "is fused with sum", ""),
    ("explain program.py:double --why-not mul exp", 2, "", "why_not: there is no operation 'exp' in this plan"),
    ("explain program.py:pair --shapes 5x2 scalar", 0, "1 instructions", ""),
    ("explain program.py:nothing", 0, "instructions", ""),
    ("explain program.py:graph", 0, "instructions", ""),
    ("draw program.py:double", 0, '%0  f32[4,3]  placeholder "x"', ""),
    ("draw program.py:double --inputs made", 0, '%0  f32[2,3]  placeholder "x"', ""),
    ("draw program.py:layer --stage functionalize", 0, 'variable "weight"', ""),
    ("draw program.py:layer -o g.dot", 0, "g.dot: ", ""),
    ("draw program.py:layer -o g.gif", 2, "", "staticgrad draw: can't write 'g.gif'"),
    ("draw program.py:double -o no/g.svg", 2, "", "staticgrad draw: --output no/g.svg: there is no folder "),
    ("draw program.py:raises -o .", 2, "", "staticgrad draw: --output .: this is a folder"),
    ("compare program.py:raises --html no/r.html", 2, "", "staticgrad compare: --html no/r.html: there is no folder "),
    ("profile program.py:raises --trace no/t.json", 2, "", "--trace no/t.json: there is no folder "),
    ("explain program.py:pair --shapes 3", 2, "", "--shapes gives 1 argument, and the function takes 2: x, y"),
    ("explain program.py:double --inputs two", 2, "", "--inputs gives 2 arguments, and the function takes 1: x"),
    ("compare program.py:trained --repeats 1", 0, "eager, session and compiled", ""),
    ("profile program.py:double --repeats 10", 0, "mul+sum", ""),
    ("compare program.py:double --repeats 1", 0, "compiled", ""),
    ("compare program.py:raises --repeats 1", 1, "", "KeyError: 'missing'"),
    ("explain program.py:wrong", 1, "", "ShapeError: matmul: inner sizes differ, (4, 3) @ (4, 3)"),
    ("explain program.py:raises", 1, "", '   raise KeyError("missing")'),
    ("explain program.py:pair", 2, "", "the function takes x, y, and the command has no arrays for it"),
    ("explain program.py:triple", 2, "", "it defines made, double, pair, trained, two, nothing, wrong, raises"),
    ("explain program.py", 2, "", "write FILE.py:function"),
    ("explain other.py:double", 2, "", "there is no file other.py\n  there is program.py"),
    ("explain program.py:double --shapes 3y", 2, "", "'3y' is no shape"),
    ("explain program.py:double --inputs none", 2, "", "the file defines no 'none'"),
    ("compare program.py:double --peer torch", 2, "", "--peer takes NAME=VALUE"),
    ("compare program.py:double --peer torch=twin", 2, "", "the file defines no 'twin', which --peer names"),
    ("run .", 2, "", "is no exported step"),
    ("cache clear --to much", 2, "", "'much' is no size"),
    ("cache eager none.py", 2, "", "there is no file none.py"),
    ("init program.py", 2, "", "staticgrad init: program.py exists already"),
    ("init no/train.py", 2, "", "there is no folder"),
    ("doctor --report", 0, "latest files of the cache", ""),
    ("--version", 0, sg.__version__, ""),
    ("", 2, "usage: staticgrad", ""),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_commands(case: tuple[str, int, str, str], program: str, capsys: pytest.CaptureFixture[str]):
    command, code, printed, error = case
    assert main(command.split()) == code
    out, err = capsys.readouterr()
    assert printed in out
    assert error in err
    assert "Traceback" not in err
    assert bool(err) == bool(error)


def test_data(program: str, capsys: pytest.CaptureFixture[str]):
    for command, key in (("explain", "edges"), ("profile", "limits"), ("compare", "modes")):
        main([command, "program.py:double", "--json"])
        assert key in json.loads(capsys.readouterr().out)
    main(["profile", "program.py:double", "--repeats", "10", "--trace", "trace.json"])
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X", "C"}
    assert [event["name"] for event in events if event["ph"] == "X"] == ["mul+sum"]


@pytest.mark.parametrize(
    "command", ["bogus", "cache", "cache bogus", "explain", "draw program.py:double --group x", "warm --bogus"]
)
def test_usage(command: str, program: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        main(command.split())
    assert caught.value.code == 2
    known = command.partition(" ")[0] if command != "bogus" else ""
    assert f"usage: staticgrad {known}" in capsys.readouterr().err


def test_help_teaches(capsys: pytest.CaptureFixture[str]):
    for command, text in (([], "exit codes"), (["explain"], "FILE.py:name"), (["cache", "clear"], "least recently used first")):
        with pytest.raises(SystemExit) as caught:
            main([*command, "--help"])
        assert caught.value.code == 0
        assert text in capsys.readouterr().out


def test_a_traceback_on_demand(program: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--traceback", "explain", "program.py:raises"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_run(program: str, capsys: pytest.CaptureFixture[str]):
    total = sg.tensor(1.0)

    @sg.compile
    def add(x: Any) -> Any:
        total.add_(x.sum())
        return total * 1

    add(np.zeros(3, np.float32))
    add.export("step")
    np.save("x.npy", np.ones(3, np.float32))
    assert main(["run", "step", "--input", "x=x.npy", "--repeat", "2", "--output", "found.npz", "--save"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == ["result0  float32[]  7."]
    assert err.startswith("2 runs in ")
    assert np.load("found.npz")["result0"] == 7
    assert main(["run", "step"]) == 0
    assert "on random x" in capsys.readouterr().err
    for wrong, text in (("y=x.npy", "the step has no input 'y'"), ("x=none.npy", "can't be read as a .npy file")):
        assert main(["run", "step", "--input", wrong]) == 2
        assert text in capsys.readouterr().err


def test_cache(program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path / "cache"))
    for name, content in (("a", b"1" * 1000), ("b", b"2" * 2000)):
        disk_cache.write(f"{name}.o", content)
    assert main(["cache", "info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kernels"], found["bytes"]) == (2, 3000)
    assert main(["cache", "clear", "--to", "2.5kB"]) == 0
    assert capsys.readouterr().out == "1 kernels removed, 1,000 B; 2,000 B left\n"
    assert main(["cache", "clear"]) == 0
    assert [path.name for path in (tmp_path / "cache").iterdir()] == []


def test_eager_calls_of_a_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program = """
        import sys
        import staticgrad as sg

        x = sg.ones(19, 3)
        for _ in range(int(sys.argv[1])):
            sg.flip(x, (0,))
        with sg.eager_kernels(wait=True):
            sg.functional.gelu(x)
    """
    (tmp_path / "flips.py").write_text(textwrap.dedent(program))
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(call_cache, "runs", None)
    monkeypatch.setattr(modes.now, "calls", call_cache.CallCache(100))
    assert main(["cache", "eager", "--json", str(tmp_path / "flips.py"), "9"]) == 0
    found = {row["what"]: row for row in json.loads(capsys.readouterr().out)["calls"]}
    assert (found["flip 19x3 0"]["state"], found["flip 19x3 0"]["runs"]) == ("route", 6)
    assert (found["gelu 19x3"]["state"], found["gelu 19x3"]["runs"]) == ("plan", 1)
    assert main(["cache", "eager", "--most", "1", str(tmp_path / "flips.py"), "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line][:4] == ["thread", "process", "by", "runs"]
    assert "more; --most shows so many" in lines[-1]


def test_doctor(program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(doctor, "_package_kernels", lambda: "3 of 80")
    monkeypatch.setenv("STATICGRAD_FASTCALL", "0")
    main(["doctor", "--json"])
    known = json.loads(capsys.readouterr().out)
    texts = [finding["text"] for finding in known.pop("findings")]
    assert "kernels of the package are not compiled yet (3 of 80)" in texts
    assert "STATICGRAD_FASTCALL=0" in texts
    assert known["versions"]["numpy"] == np.__version__
    assert known["compiler"]["kernels"] == COMPILERS[DEFAULT]
    known["versions"]["llvmlite"], known["kernel cache"]["state"] = "missing", "it belongs to another user"
    known["compiler"]["kernels"] = ""
    assert [f.text for f in doctor.findings(known) if f.broken] == [
        "llvmlite is not installed",
        "the kernel cache is not used: it belongs to another user; each process compiles its kernels",
        "STATICGRAD_KERNELS names no compiler",
    ]
    main(["doctor"])
    assert "to mend" in capsys.readouterr().out


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "staticgrad", "explain", "none.py:f"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "staticgrad explain: there is no file none.py\n")


@pytest.mark.parametrize("dialect", ["torch", "tf1"])
def test_a_script_to_begin_with_trains_as_it_is(dialect: str, tmp_path: Path):
    assert main(["init", str(tmp_path / "train")]) == 2  # no name of a program
    other = {"torch": "tf1", "tf1": "torch"}[dialect]
    # what a script of the other dialect leaves beside it is its own
    assert main(["init", str(tmp_path / f"{other}.py"), "--dialect", other]) == 0
    subprocess.run([sys.executable, f"{other}.py"], cwd=tmp_path, capture_output=True, check=True)
    file = tmp_path / "train.py"
    assert main(["init", str(file), "--dialect", dialect]) == 0
    assert len(file.read_text().splitlines()) <= 40
    if dialect == "torch":
        assert main(["compare", f"{file}:step", "--shapes", "64x10", "64x1", "--repeats", "2"]) == 0
    for _ in range(2):  # the second run finds what the first one left
        done = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, check=True)
        found = re.fullmatch(r"best after \d+ steps: (0\.\d+); see train.html\n", done.stdout)
        assert found, done.stdout
        assert float(found[1]) < 0.2
    assert (tmp_path / "train.html").exists()


def test_a_report_of_a_defect_names_no_folder(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STATICGRAD_CACHE_LIMIT", "3GB")
    main(["doctor", "--report"])
    text = capsys.readouterr().out
    assert "numpy" in text
    assert "STATICGRAD_CACHE_LIMIT: 3GB" in text
    for private in (str(Path.home()), disk_cache.where(), str(Path.cwd())):
        assert private not in text
