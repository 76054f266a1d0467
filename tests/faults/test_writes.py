"""Writes that are disturbed at each of their steps; a disk that is full in fact."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.writes import ACTIONS, KINDS, check
from tests.helpers import sweep
from tests.processes import ended, start


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path / "unused"))  # put back afterwards


CASES = [(kind, action, former) for kind in KINDS if kind != "svg" for action in ACTIONS for former in (False, True)]


SAMPLE = ("checkpoint", "kernels", "tensors")
"""Kinds whose writers are always killed at each step: each is written by code of its own. In the sweep, all are."""


def kept(_: int, case: tuple[str, str, bool]) -> bool:
    kind, action, former = case
    return action != "killed" or (former and kind in SAMPLE)


@pytest.mark.parametrize(("kind", "action", "former"), [*sweep(CASES, kept), ("svg", "full disk", True)])
def test_a_file_is_whole(kind: str, action: str, former: bool, tmp_path: Path):
    if kind == "svg":
        pytest.importorskip("matplotlib")
    assert check(KINDS[kind], action, tmp_path, former) >= 3


FULL = """
    import os, resource, sys, warnings
    import numpy as np
    import staticgrad as sg
    from staticgrad.safetensors import load_file, save_file

    place = sys.argv[1] if len(sys.argv) > 1 else os.environ["PLACE"]
    file = os.path.join(place, "model.safetensors")
    save_file({"a": np.zeros(10)}, file)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, resource.RLIM_INFINITY))
    try:
        save_file({"a": np.ones(10_000)}, file)
    except OSError as error:
        print(error.strerror)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            step = sg.compile(lambda x: sg.exp(x * 3) + 1)
            assert step(np.zeros(3, np.float32)).tolist() == [2, 2, 2]
    print(*[str(w.message).splitlines()[0].partition("not used: ")[2] for w in told])
    print(load_file(file)["a"].tolist() == [0] * 10, [n for n in os.listdir(place) if n.endswith(".tmp")])
    print([n for n in os.listdir(os.environ["STATICGRAD_CACHE_DIR"]) if n.endswith(".tmp")])
"""


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Files can't grow beyond 500 bytes."""
    monkeypatch.setenv("PLACE", str(tmp_path))
    out, err = ended(start(FULL))
    assert out.splitlines() == ["File too large", "it can't be written: File too large", "True []", "[]"], err
