"""`sg.fit`: one loop for steps of all modes, which is resumed bit for bit."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.distributed.checkpoint.index import named
from staticgrad.utils.data import DataLoader, Prefetcher, TensorDataset
from tests.helpers import raised
from tests.namespaces.utils.tensorboard.test_writer import accumulated

X = np.random.default_rng(0).standard_normal((20, 3)).astype("float32")
Y = (X.sum(1, keepdims=True) > 0).astype("float32")


def tensors(dtype=sg.float32):
    """A model with dropout, its optimizer and scheduler, and an eager step that also draws of Python and NumPy."""
    sg.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.3), nn.Linear(8, 1)).to(dtype)
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    schedule = optim.lr_scheduler.StepLR(optimizer, 3, 0.5)

    def step(x, y):
        noise = random.random() + np.random.rand()
        loss = F.mse_loss(model(x.to(dtype)) + noise * 1e-3, y.to(dtype))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return {"loss": loss.detach(), "noise": noise}

    return step, {"model": model, "optimizer": optimizer, "schedule": schedule}


def compiled():
    sg.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.3), nn.Linear(8, 1))
    optimizer = optim.Adam(model.parameters(), lr=0.05)

    @sg.compile
    def step(x, y):
        loss = F.mse_loss(model(x), y)
        return loss, optimizer.minimize(loss)

    return step, {"model": model, "optimizer": optimizer}


def session():
    sg.manual_seed(1)
    start = sg.randn(3, 1).numpy()
    with sg.Graph().as_default() as graph:
        x, y = sg.placeholder("float32", (None, 3)), sg.placeholder("float32", (None, 1))
        w = sg.Variable(start, name="w")
        loss = F.mse_loss(F.dropout(x, 0.3) @ w, y)
        train = optim.Adam(lr=0.05).minimize(loss)
        begin = sg.global_variables_initializer()
    made = sg.Session(graph)
    made.run(begin)
    return made.make_callable([loss, train], [x, y]), {"session": made}


MODES = {"eager": tensors, "float64": lambda: tensors(sg.float64), "compiled": compiled, "session": session}


def loader(kind: str):
    data = TensorDataset(sg.tensor(X), sg.tensor(Y))
    if kind == "own generator":
        return DataLoader(data, 4, shuffle=True, generator=sg.Generator(5))
    if kind == "NumPy's generator":
        return DataLoader(data, 4, shuffle=True, generator=np.random.default_rng(5))
    plain = DataLoader(data, 4, shuffle=True)
    return Prefetcher(plain) if kind == "prefetched" else plain


def values(state) -> dict[str, np.ndarray]:
    """All numbers of a state, by name."""
    parts = {name: part.state_dict() for name, part in state.items()}
    return {key: np.array(x) for key, (_, x) in named(parts).items()}


def seed():
    random.seed(3)
    np.random.seed(3)
    sg.manual_seed(3)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize(
    ("mode", "kind"),
    [*((mode, "plain") for mode in MODES), *(("compiled", k) for k in ("own generator", "NumPy's generator", "prefetched"))],
)
def test_a_training_that_was_interrupted_goes_on_bit_for_bit(mode: str, kind: str, tmp_path: Path):
    step, state = MODES[mode]()
    seed()
    whole = sg.fit(step, loader(kind), epochs=4, every=3, state=state, progress=False)
    expected = values(state)

    step, state = MODES[mode]()
    seed()
    calls = 0

    def interrupted(*batch):
        nonlocal calls
        calls += 1
        if calls == 9:  # in the middle of the second epoch, two steps after a checkpoint
            raise Interrupted
        return step(*batch)

    with pytest.raises(Interrupted):
        sg.fit(interrupted, loader(kind), epochs=4, every=3, state=state, checkpoint=tmp_path, progress=False)
    step, state = MODES[mode]()
    random.seed(99)
    sg.manual_seed(99)
    again = sg.fit(step, loader(kind), epochs=4, every=3, state=state, checkpoint=tmp_path, progress=False)
    np.testing.assert_array_equal(again.losses, whole.losses)
    assert (again.evaluations, again.best, again.stopped) == (whole.evaluations, whole.best, "epochs")
    found = values(state)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    after = sg.fit(lambda *_: pytest.fail("it has ended"), loader(kind), epochs=4, every=3, state=state, checkpoint=tmp_path)
    np.testing.assert_array_equal(after.losses, whole.losses)


@pytest.mark.parametrize("kept", [True, False])
def test_early_stopping_ends_with_the_best_state(kept: bool, tmp_path: Path):
    w = nn.Parameter(sg.zeros(1))
    scores = iter([3.0, 1.0, 2.0, 5.0])
    options = {"checkpoint": tmp_path / "run"} if kept else {}

    def step(x):
        with sg.no_grad():
            w.add_(x)
        return w.sum()

    history = sg.fit(
        step, [sg.ones(1)], epochs=10, patience=2, evaluate=lambda: {"error": next(scores)}, state={"w": w}, **options
    )
    assert history.stopped == "patience"
    assert history.losses.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert history.best == {"step": 2, "epoch": 2, "train": 2.0, "error": 1.0}
    assert w.item() == 2.0
    assert (tmp_path / "run" / "best").exists() is kept
    if kept:
        again = sg.fit(step, [sg.ones(1)], epochs=10, patience=2, evaluate=None, state={"w": w}, **options)
        assert (again.stopped, w.item()) == ("patience", 2.0)


def test_the_best_of_several_numbers_may_be_the_largest():
    scores = iter([1.0, 3.0, 2.0])
    history = sg.fit(
        lambda x: x, [1.0], epochs=3, evaluate=lambda: {"loss": 0.0, "accuracy": next(scores)}, monitor="accuracy", mode="max"
    )
    assert history.best["accuracy"] == 3.0


def test_it_ends_in_an_epoch_and_goes_on_there(tmp_path: Path):
    seen = []
    state = {"w": sg.zeros(1)}
    for steps in (3, 5, 8):
        history = sg.fit(lambda x: seen.append(x) or x, [0.0, 1.0, 2.0, 3.0], steps=steps, state=state, checkpoint=tmp_path)
        assert (len(history.losses), history.stopped) == (steps, "steps")
    assert seen == [0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]


def test_tensorboard_and_a_report_are_written(tmp_path: Path):
    step, state = compiled()
    sg.fit(
        step, loader("plain"), epochs=2, evaluate=lambda: 0.5, state=state, logdir=tmp_path / "log", report=tmp_path / "r.html",
        progress=False,
    )  # fmt: skip
    found = accumulated(tmp_path / "log")
    assert [e.step for e in found.Scalars("loss/step")] == [*range(1, 11)]
    assert [(e.step, e.value) for e in found.Scalars("evaluation/loss")] == [(5, 0.5), (10, 0.5)]
    page = (tmp_path / "r.html").read_text()
    assert '"name":"compiled"' in page
    assert "addmm" in page or "matmul" in page


def test_a_bar_shows_loss_and_speed(capsys):
    sg.fit(lambda x: x, [0.25] * 4, epochs=2)
    shown = capsys.readouterr().err
    assert "8/8" in shown
    assert "loss=0.25" in shown
    assert "steps/s" in shown
    sg.fit(lambda x: x, [0.25] * 4, progress=False)
    assert capsys.readouterr().err == ""


def test_misuse(tmp_path: Path):
    with raised(sg.ArgumentError, "fit: epochs has to be an integer of at least 1, got 0"):
        sg.fit(lambda x: x, [1.0], epochs=0)
    with raised(sg.ArgumentError, 'fit: mode is "min" or "max", got \'least\''):
        sg.fit(lambda x: x, [1.0], mode="least")
    with raised(sg.ArgumentError, "fit: a checkpoint needs a state"):
        sg.fit(lambda x: x, [1.0], checkpoint=tmp_path)
    with raised(sg.ArgumentError, "fit: step returned NoneType in place of a number"):
        sg.fit(lambda x: None, [1.0])
    with raised(sg.ArgumentError, "fit: the loader gave no batch in epoch 2"):
        sg.fit(lambda x: x, iter([1.0]), epochs=2)
    with raised(sg.ArgumentError, "fit: there is no 'accuracy' to monitor"):
        sg.fit(lambda x: x, [1.0], monitor="accuracy")


def test_a_session_gives_and_takes_its_state():
    step, state = session()
    step(X[:4], Y[:4])
    kept = state["session"].state_dict()
    assert kept["w"].shape == (3, 1)
    step(X[:4], Y[:4])
    state["session"].load_state_dict(kept)
    np.testing.assert_array_equal(state["session"].state_dict()["w"], kept["w"])
    with raised(sg.GraphError, "the graph has no variable 'v'"):
        state["session"].load_state_dict({"v": kept["w"]})
    with raised(sg.FeedError, ""):
        state["session"].load_state_dict({"w": np.zeros(2, "float32")})
