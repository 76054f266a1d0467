"""The examples that compare the modes: they run as a user runs them, and their three modes train alike."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.helpers import sweep

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
MODES = ["eager", "session", "compiled"]

pytest.importorskip("tqdm")

QUICK = {
    "char_gpt": (4.1, r"it writes\nThe ."),
    "char_lstm": (4.1, r"it writes\nThe ."),
    "digits_cnn": (1.5, r"(2[0-9]|3[0-6])\d of 360 held-out digits read correctly"),
    "pinn_poisson": (20, r"the largest error of u is [1-7]\.\de-01"),
}
"""Example -> an upper bound of the last loss (guessing gives log 65 = 4.17, log 10 = 2.3, pi^4 / 2 = 49), and what each
trained model comes to."""

DISAGREEING = """
import numpy as np
from side_by_side import Example, Finding, main
import staticgrad as sg

class Line(Example):
    quick_steps = 2
    inputs = (("float32", (None, 1)),)

    def model(self):
        return sg.nn.Linear(1, 1)

    def optimizer(self, parameters=None):
        return sg.optim.SGD(parameters, lr=0.1)

    def loss(self, model, x):
        return (model(x) ** 2).mean() + 1

    def graph_loss(self, model, x):
        return self.loss(model, x) * 1.002

    def batches(self, steps):
        return ((np.ones((2, 1), "float32"),) for _ in range(steps))

    def finish(self, predict):
        return Finding(str(predict(np.ones((3, 1), "float32")).shape))

if __name__ == "__main__":
    main(Line, __doc__)
"""


def run(file: str | Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """`python file`; `path` comes before all else that Python imports from."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT), str(EXAMPLES)]))}
    command = [sys.executable, str(EXAMPLES / file), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def rows(output: str) -> dict[str, list[float | None]]:
    """The table: numbers by mode."""
    lines = output[output.index("\nmode ") :].split("\n\n")[0].splitlines()[2:]
    return {line.split()[0]: [None if part == "-" else float(part) for part in line.split()[1:]] for line in lines}


def load(name: str) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        return importlib.import_module(name)


@pytest.mark.parametrize("example", sweep(QUICK, lambda _, name: name != "char_gpt"))
def test_a_user_runs_it(tmp_path: Path, example: str) -> None:
    pytest.importorskip("matplotlib")
    if example.startswith("digits"):
        pytest.importorskip("sklearn")
    report = ["--report", str(tmp_path / "report.html")] if example == "pinn_poisson" else []
    done = run(f"{example}.py", "--quick", "--plot", str(tmp_path / "plot.png"), *report)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    for mode in MODES:
        assert re.search(rf"{mode}\s*: 100%", done.stderr), "a progress bar for each mode"

    bound, found = QUICK[example]
    table = rows(done.stdout)
    assert list(table) == MODES
    for mode, (step, first, kernels, host_calls, memory, loss, apart) in table.items():
        assert 1 < step < 1e6, "microseconds"
        assert 0 < first < 300, "seconds"
        assert 10 < memory < 10_000, "megabytes"
        assert 0 < loss < bound
        if mode == "eager":
            assert (kernels, host_calls, apart) == (None, None, None)
        else:
            assert kernels >= 3
            assert host_calls == 0
            assert apart < 1e-3
    assert re.search(rf"eager, session, compiled: {found}", done.stdout), "all modes come to the same"
    assert "The losses agree: they differ by at most" in done.stdout
    if report:
        assert "report.html: eager, session and compiled agree" in done.stdout
        assert "Eager tape" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_losses_that_disagree_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "line.py"
    file.write_text(DISAGREEING)
    done = run(file, "--quick", "--modes", "eager,session")
    assert done.returncode == 1
    assert list(rows(done.stdout)) == ["eager", "session"]
    assert "eager, session: (3, 1)" in done.stdout
    assert "The losses agree" not in done.stdout
    assert done.stderr.splitlines()[-1] == "The losses disagree: by 2.0e-03 of their size, more than 1e-03"


def test_differences_are_relative_to_the_first_mode() -> None:
    module = load("side_by_side")
    Figures = load("measuring").Figures

    def trained(mode: str, *losses: float) -> object:
        finding = module.Finding("fine" if mode == "eager" else "well")
        figures = Figures(np.array(losses), np.array([1e-6, 3e-6]), 0.5, None, None, 100.0)
        return module.Run(mode, figures, finding)

    runs = [trained("eager", 4.0, -2.0), trained("session", 4.0, -2.5), trained("compiled", 5.0, -2.0)]
    assert module.apart(runs) == module.apart(runs[:2]) == 0.25
    assert module.apart(runs[:1]) == 0
    assert np.isnan(module.apart([*runs, trained("broken", np.nan, -2.0)]))
    assert module.findings(runs) == "eager: fine\n\nsession, compiled: well"
    assert rows(module.table(runs))["session"] == [2.0, 0.5, None, None, 100.0, -2.5, 0.25]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "1"], "--steps must be at least 2"),
        (["--modes", "eager,lazy"], "no mode 'lazy': choose from eager, session, compiled"),
    ],
)
def test_arguments_are_checked(arguments: list[str], words: str) -> None:
    done = run("pinn_poisson.py", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize(
    ("example", "missing", "named"),
    [("pinn_poisson.py", "tqdm", "tqdm"), ("digits_cnn.py", "sklearn", "scikit-learn")],
)
def test_a_missing_extra_is_named(tmp_path: Path, example: str, missing: str, named: str) -> None:
    (tmp_path / f"{missing}.py").write_text("raise ImportError")
    done = run(example, "--quick", path=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == f'This example needs {named}: pip install -e ".[examples]" in the checkout\n'


def test_text_becomes_codes_and_pieces_with_what_follows() -> None:
    characters = load("characters")
    text = characters.Text()
    assert len(set(text.alphabet)) == len(text.alphabet) == characters.VOCABULARY
    assert len(text.codes) > 100_000
    assert 0 <= text.codes.min() < text.codes.max() < characters.VOCABULARY
    assert "".join(text.alphabet[code] for code in text.encode("the \N{SNOWMAN}")) == "the ?"
    pieces = list(text.batches(3, 4, 16, seed=0))
    again = list(text.batches(3, 4, 16, seed=0))
    assert len(pieces) == 3
    for (seen, following), (same, _) in zip(pieces, again, strict=True):
        assert seen.shape == following.shape == (4, 16)
        np.testing.assert_array_equal(seen[:, 1:], following[:, :-1])
        np.testing.assert_array_equal(seen, same)


def test_samples_follow_the_scores_and_the_seed() -> None:
    characters = load("characters")
    text = characters.Text()

    def alphabetical(window: np.ndarray) -> np.ndarray:
        """Certain that the next character is the next of the alphabet."""
        assert window.shape == (1, 8)
        return 100 * np.eye(characters.VOCABULARY, dtype="float32")[(window + 1) % characters.VOCABULARY]

    def undecided(window: np.ndarray) -> np.ndarray:
        return np.zeros((*window.shape, characters.VOCABULARY), "float32")

    assert text.sample(alphabetical, 8, 12, seed=0, prompt="ab") == "abcdefghijklmn"
    first, same, other = (text.sample(undecided, 8, 40, seed) for seed in (0, 0, 1))
    assert first == same != other
    assert first.startswith("The ")
    assert len(first) == 44
