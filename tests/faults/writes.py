"""Every write of the package, disturbed: the process killed, the disk full, or Ctrl-C at each step of it.

A file has its former content or the new one, whole; after an error nothing is left beside it.

    python -m tests.faults.writes [--kills 200] [--seed 0]

kills processes that save checkpoints one after another, at random moments, and restores the last checkpoint after each.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg
from staticgrad.base import files
from staticgrad.compat import tf1 as tf
from staticgrad.compiler.backend import disk_cache as disk
from staticgrad.safetensors import load_file, save_file

CALLS = ("open", "mkdir", "replace", "fsync", "rename")
"""Functions of `os` that change the disk."""


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt() -> None:
    raise KeyboardInterrupt


class Steps:
    """Counts the steps by which files are written, and does `action` before number `at` (from 1)."""

    def __init__(self, action: Callable[[], None] | None = None, at: int = 0):
        self.action, self.at, self.count = action, at, 0

    def __call__(self) -> None:
        self.count += 1
        if self.action is not None and self.count == self.at:
            self.action()

    @contextmanager
    def watched(self) -> Iterator[None]:
        genuine = {name: getattr(os, name) for name in CALLS}

        def opened(*args: Any, **options: Any) -> Any:
            return Half(open(*args, **options), self)

        try:
            for name, function in genuine.items():
                setattr(os, name, self.before(function))
            for module in (files, disk):
                module.open = opened  # type: ignore[attr-defined]
            yield
        finally:
            for name, function in genuine.items():
                setattr(os, name, function)
            for module in (files, disk):
                del module.open  # type: ignore[attr-defined]

    def before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self()
            return function(*args, **options)

        return call


class Half:
    """A stream in which a step is half of what is written at once."""

    def __init__(self, stream: Any, step: Steps):
        self.stream, self.step = stream, step

    def write(self, content: Any) -> int:
        view = memoryview(content).cast("B")
        self.stream.write(view[: len(view) // 2])
        self.stream.flush()
        self.step()
        self.stream.write(view[len(view) // 2 :])
        return len(view)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __enter__(self) -> Half:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stream.close()


# what is written --------------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """write(folder, new): the former content or the new one, to one file. read(folder): which it is; None for no file."""

    write: Callable[[Path, bool], Any]
    read: Callable[[Path], bool | None]
    raises: bool = True
    """An error of the disk is the caller's."""


def _graph(new: bool) -> sg.Graph:
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, (3,), name="x")
        _ = sg.exp(x) if new else x * 2
    return graph


def _text(name: str, write: Callable[[sg.Graph, Path], Any]) -> Kind:
    """By the text that a former or new graph gives."""
    known: dict[bool, bytes] = {}

    def content(folder: Path, new: bool) -> bytes:
        if new not in known:
            write(_graph(new), folder / f"sample-{name}")
            known[new] = (folder / f"sample-{name}").read_bytes()
            (folder / f"sample-{name}").unlink()
        return known[new]

    def read(folder: Path) -> bool | None:
        if not (folder / name).exists():
            return None
        found = (folder / name).read_bytes()
        assert found in (content(folder, False), content(folder, True)), f"{len(found)} bytes"
        return found == content(folder, True)

    return Kind(lambda folder, new: write(_graph(new), folder / name), read)


def _save(folder: Path, new: bool) -> None:
    save_file({"a": np.full(1000, float(new)), "b": np.arange(10)}, folder / "model.safetensors")


def _load(folder: Path) -> bool | None:
    file = folder / "model.safetensors"
    if not file.exists():
        return None
    values = set(load_file(file)["a"].tolist())
    assert values in ({0.0}, {1.0})
    return values == {1.0}


def _save_state(folder: Path, new: bool) -> None:
    sg.save({"epoch": int(new), "model": {"a": sg.full((1000,), float(new))}}, folder / "state.pt")


def _load_state(folder: Path) -> bool | None:
    if not (folder / "state.pt").exists():
        return None
    state = sg.load(folder / "state.pt")
    assert set(state["model"]["a"].tolist()) == {float(state["epoch"])}
    return bool(state["epoch"])


def _keep(folder: Path, new: bool) -> None:
    os.environ["STATICGRAD_CACHE_DIR"] = str(folder / "kernels")
    disk._told.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if new else "error")
        content, _ = disk.kept("k0.o", f"key {new}", lambda: b"%d" % new * 100_000)
    assert content == b"%d" % new * 100_000


def _kept(folder: Path) -> bool | None:
    os.environ["STATICGRAD_CACHE_DIR"] = str(folder / "kernels")
    found = [disk.read("k0.o", f"key {new}") for new in (False, True)]
    assert found[0] is None or found[1] is None
    return None if found == [None, None] else found[0] is None


def _checkpoint(folder: Path, step: int) -> None:
    """Save a checkpoint whose values are its step, and delete the one before."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", initializer=np.full(1000, float(step)))
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(max_to_keep=1)
        known = tf.train.get_checkpoint_state(str(folder))
        saver.recover_last_checkpoints([] if known is None else known.all_model_checkpoint_paths)
        saver.save(session, str(folder / "model"), global_step=step)


def _restored(folder: Path) -> int | None:
    """The step of the last checkpoint, whose values have to be whole."""
    path = tf.train.latest_checkpoint(str(folder))
    if path is None:
        return None
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [1000], tf.float64)
        tf.train.Saver().restore(session, path)
        (value,) = set(session.run(v).tolist())
    assert path.endswith(f"-{int(value)}")
    return int(value)


KINDS = {
    "checkpoint": Kind(_checkpoint, _restored),
    "tensors": Kind(_save, _load),
    "state": Kind(_save_state, _load_state),
    "dot": _text("graph.dot", sg.draw),
    "svg": _text("graph.svg", sg.draw),
    "graphml": _text("graph.graphml", sg.to_graphml),
    "kernels": Kind(_keep, _kept, raises=False),
}
ACTIONS = {"killed": kill, "full disk": full, "Ctrl-C": interrupt}


def leftovers(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*.tmp")]


def check(kind: Kind, action: str, folder: Path, former: bool) -> int:
    """Disturb each step of a write in turn. Returns how many there are."""
    at = 0
    while True:
        at += 1
        place = folder / str(at)
        place.mkdir()
        if former:
            kind.write(place, False)
        steps = Steps(ACTIONS[action], at)
        if action == "killed":
            ended = _in_child(kind, place, steps)
            assert not ended or not leftovers(place)
        else:
            ended = True
            passed = (OSError, KeyboardInterrupt) if kind.raises else KeyboardInterrupt
            try:
                with steps.watched():
                    kind.write(place, True)
            except passed:
                ended = False
            assert not leftovers(place)
            ended = ended and steps.count < at
        found = kind.read(place)
        assert found is not None or not former
        if ended:
            assert found, "the write was not disturbed"
            return at - 1
        kind.write(place, True)
        assert kind.read(place), "the next one succeeds"


def _in_child(kind: Kind, place: Path, steps: Steps) -> bool:
    """Whether a child came to the end of the write."""
    child = os.fork()
    if not child:
        try:
            with steps.watched():
                kind.write(place, True)
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def killed_at_random(folder: Path, kills: int, seed: int) -> int:
    """Kill processes that save without end, and restore the last checkpoint after each; the step of the last one."""
    moments, last = random.Random(seed), 0
    _checkpoint(folder, 0)
    for _ in range(kills):
        child = os.fork()
        if not child:
            while True:
                last += 1
                _checkpoint(folder, last)
        time.sleep(moments.uniform(0.02, 0.2))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = _restored(folder)
        assert found is not None
        assert found >= last
        last = found
    return last


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        steps = killed_at_random(Path(place), given.kills, given.seed)
    print(f"{given.kills} processes killed; {steps} checkpoints written; the last was whole each time")
