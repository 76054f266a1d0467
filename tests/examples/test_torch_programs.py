"""Programs in PyTorch's dialect run as they stand, and give PyTorch's losses, compiled too."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tests.examples.dialect import EXAMPLES, load

PROGRAMS = {path.stem: path for path in sorted((EXAMPLES / "torch").glob("*.py")) if path.stem != "cartpole"}
LOSSES = json.loads((Path(__file__).parent / "torch_losses.json").read_text(encoding="utf-8"))
"""The losses of ten steps with PyTorch 2.13."""

INTERPRETED = {"maml": 10, "pinn": 3}
"""Programs whose compiled steps NumPy runs, for so many steps: no kernels take as long to compile as those of their second and
third derivatives. `test_notebooks.py` and `test_side_by_side.py` run kernels of such derivatives."""


TEXT = (EXAMPLES.parent / "LICENSE").read_text(encoding="utf-8") * 50


@pytest.fixture(autouse=True)
def one_text(monkeypatch):
    """The programs' text is Python's own reference, which is another one in each version."""
    monkeypatch.setattr("pydoc_data.topics.topics", defaultdict(lambda: TEXT))


def losses(name: str, library: str = "staticgrad", steps: int = 10, **options: bool) -> list[float]:
    return load(PROGRAMS[name], library)["train"](steps=steps, **options)


def compiles(name: str) -> bool:
    return "compiled" in inspect.signature(load(PROGRAMS[name], "staticgrad")["train"]).parameters


@pytest.mark.parametrize("name", PROGRAMS)
def test_ten_steps(name):
    np.testing.assert_allclose(losses(name), LOSSES[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_ten_compiled_steps(name, request):
    if not compiles(name):
        pytest.skip("its docstring says why it is not compiled")
    if name in INTERPRETED:
        request.getfixturevalue("interpreted")
    found = losses(name, steps=INTERPRETED.get(name, 10), compiled=True)
    expected = LOSSES[name][: len(found)] if name in INTERPRETED else LOSSES[name]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_docstring_says_how_to_run_it(name):
    text = PROGRAMS[name].read_text(encoding="utf-8")
    assert f"python examples/torch/{name}.py" in text
    assert compiles(name) == ("--compile" in text.split('"""')[1])


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_ten_steps_are_pytorchs(name):
    pytest.importorskip("torch")
    np.testing.assert_allclose(losses(name), losses(name, "torch"), rtol=1e-5, atol=1e-5)
