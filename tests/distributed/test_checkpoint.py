"""`sg.distributed.checkpoint` in one process. `checks.py` has what two do together."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import staticgrad as sg
from staticgrad import nn, optim, safetensors
from staticgrad.distributed import checkpoint
from staticgrad.distributed.checkpoint import state_dict as helpers
from tests.distributed.checkpoint_drill import drill


def trained(seed: int = 0, steps: int = 2):
    sg.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.01 * (1 + seed))
    for _ in range(steps):
        optimizer.zero_grad()
        model(sg.ones(5, 3)).square().mean().backward()
        optimizer.step()
    return model, optimizer


def same(one, other):
    for p, q in zip(one[0].parameters(), other[0].parameters(), strict=True):
        assert_array_equal(p.detach().numpy(), q.detach().numpy())
        for slot, value in one[1].state[p].items():
            assert_array_equal(value.numpy(), other[1].state[q][slot].numpy())
    assert one[1].param_groups[0]["lr"] == other[1].param_groups[0]["lr"]


def test_all_kinds_of_values(tmp_path):
    state = {
        "model": trained()[0], "step": 3, "text": "a", "list": [1, (2, None)], "deep": {"x": [sg.ones(2), {"y": sg.zeros(())}]},
        "array": np.arange(3), "number": np.float64(0.5), "double": sg.tensor([1 + 2j], dtype=sg.complex128), "none": None,
        "mask": sg.tensor([True, False]), 7: sg.tensor([1]), "empty": {}, "nothing": sg.zeros(0, 3),
    }  # fmt: skip
    found = checkpoint.save(state, checkpoint_id=tmp_path)
    assert "deep.x.1.y" in found.state_dict_metadata
    again = {
        "model": trained(1)[0], "step": 0, "text": "", "list": [], "deep": {"x": [sg.zeros(2), {"y": sg.ones(())}]},
        "array": np.zeros(3, np.int64), "number": np.float64(0), "double": sg.zeros(1, dtype=sg.complex128), "none": 3,
        "mask": sg.tensor([False, False]), 7: sg.tensor([0]), "empty": {}, "nothing": sg.ones(0, 3),
    }  # fmt: skip
    kept = again["deep"]["x"][0]
    checkpoint.load(again, storage_reader=checkpoint.FileSystemReader(tmp_path))
    assert kept.tolist() == [1, 1]
    assert again["deep"]["x"][1]["y"].item() == 0
    assert_array_equal(again["model"][0].weight.detach().numpy(), state["model"][0].weight.detach().numpy())
    for key in ("step", "text", "list", "number", "none", "empty"):
        assert again[key] == state[key]
    for key in ("array", "double", "mask", 7):
        assert_array_equal(np.asarray(again[key]), np.asarray(state[key]))
    everything: dict = {}
    checkpoint.load(everything, checkpoint_id=tmp_path)
    assert {*everything} == {*state}
    assert everything["list"] == [1, (2, None)]


def test_a_fresh_optimizer_gets_its_state(tmp_path):
    model, optimizer = trained()
    checkpoint.save({"model": model, "optimizer": optimizer}, checkpoint_id=tmp_path)
    other = trained(1, 0)
    checkpoint.load({"model": other[0], "optimizer": other[1]}, checkpoint_id=tmp_path)
    same((model, optimizer), other)


@pytest.mark.parametrize("flat", [False, True])
def test_states_by_name(tmp_path, flat):
    options = helpers.StateDictOptions(flatten_optimizer_state_dict=flat)
    one, other = trained(), trained(1)
    model_state, optimizer_state = helpers.get_state_dict(*one, options=options)
    assert ("state.0.weight.exp_avg" if flat else "0.weight") in (optimizer_state if flat else optimizer_state["state"])
    checkpoint.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=tmp_path)
    state = dict(zip(("model", "optimizer"), helpers.get_state_dict(*other, options=options), strict=True))
    checkpoint.load(state, checkpoint_id=tmp_path)
    helpers.set_state_dict(*other, model_state_dict=state["model"], optim_state_dict=state["optimizer"], options=options)
    same(one, other)
    wrapped = nn.parallel.DataParallel(one[0])
    assert list(helpers.get_model_state_dict(wrapped)) == list(model_state)
    helpers.set_model_state_dict(wrapped, model_state)
    one[0][0].weight.requires_grad_(False)
    assert "0.weight" not in helpers.get_model_state_dict(one[0], options=helpers.StateDictOptions(ignore_frozen_params=True))
    with pytest.raises(sg.ArgumentError, match="parameters that are not the model's"):
        helpers.get_optimizer_state_dict(nn.Linear(1, 1), one[1])


def test_files_are_those_of_other_libraries(tmp_path):
    checkpoint.save({"w": sg.ones(2, 3)}, checkpoint_id=tmp_path)
    told = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert told["metadata"]["total_size"] == 24
    assert safetensors.load_file(tmp_path / told["weight_map"]["w"])["w"].shape == (2, 3)
    before = {*tmp_path.iterdir()}
    for dead in (f"model.safetensors.index.json.{'a' * 16}.tmp", f"{'b' * 16}-00001-of-00002.safetensors.{'c' * 16}.tmp"):
        (tmp_path / dead).write_text("{")  # of a process that died while it wrote
    checkpoint.async_save({"w": sg.zeros(2, 3)}, checkpoint_id=tmp_path).result()
    assert len({*tmp_path.iterdir()} & before) == 1 == len(before) - 1
    assert len([*tmp_path.iterdir()]) == 2


def test_errors(tmp_path):
    checkpoint.save({"w": sg.ones(2), "step": 1}, checkpoint_id=tmp_path)
    w = sg.zeros(2)
    with pytest.raises(checkpoint.CheckpointException, match=r"there is no 'v'.*\n.*\n  load the state that was saved"):
        checkpoint.load({"w": w, "v": sg.zeros(1)}, checkpoint_id=tmp_path)
    with pytest.raises(sg.ShapeError, match=r"w has shape \(3,\), and \(2,\) in"):
        checkpoint.load({"w": sg.zeros(3)}, checkpoint_id=tmp_path)
    assert w.tolist() == [0, 0]
    checkpoint.load({"w": w, "v": 1}, checkpoint_id=tmp_path, planner=checkpoint.DefaultLoadPlanner(allow_partial_load=True))
    assert w.tolist() == [1, 1]
    with pytest.raises(sg.StaticgradError, match="there is no checkpoint in"):
        checkpoint.load({"w": w}, checkpoint_id=tmp_path / "none")
    with pytest.raises(sg.ArgumentError, match="give the folder"):
        checkpoint.save({"w": w})
    with pytest.raises(sg.ArgumentError, match="a dict is expected"):
        checkpoint.save(w, checkpoint_id=tmp_path)
    with pytest.raises(sg.ArgumentError, match="has a checkpoint"):
        checkpoint.save({"w": w}, storage_writer=checkpoint.FileSystemWriter(tmp_path, overwrite=False))
    with pytest.raises(sg.StaticgradError, match="have one name, 'a"):
        checkpoint.save({"a": {"b": w}, "a.b": w}, checkpoint_id=tmp_path)
    with pytest.raises(sg.StaticgradError, match="keys are strings or numbers"):
        checkpoint.save({"a": {(1, 2): w}}, checkpoint_id=tmp_path)
    with pytest.raises(sg.ArgumentError, match="does not lie in a whole"):
        checkpoint.Shard(w, (2,), (3,))
    with pytest.raises(sg.ArgumentError, match="planners"):
        checkpoint.save({"w": w}, checkpoint_id=tmp_path, planner=object())
    (tmp_path / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(sg.StaticgradError, match="is damaged"):
        checkpoint.load({"w": w}, checkpoint_id=tmp_path)


def test_a_disk_that_fails_leaves_the_former_checkpoint(tmp_path, monkeypatch):
    checkpoint.save({"w": sg.ones(2)}, checkpoint_id=tmp_path)
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save({"w": sg.zeros(2)}, checkpoint_id=tmp_path)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.async_save({"w": sg.zeros(2)}, checkpoint_id=tmp_path).result()
    found = {"w": sg.zeros(2)}
    checkpoint.load(found, checkpoint_id=tmp_path)
    assert found["w"].tolist() == [1, 1]


def test_in_a_compiled_function(tmp_path):
    @sg.compile
    def step(x):
        y = x * 2
        checkpoint.save({"y": y}, checkpoint_id=tmp_path)
        return y + 1

    for value in (1.0, 2.0):
        step(sg.tensor([value]))
        found = {"y": sg.zeros(1)}
        checkpoint.load(found, checkpoint_id=tmp_path)
        assert found["y"].item() == 2 * value


def test_kills_leave_the_last_checkpoint():
    """Two hundred are `python -m tests.distributed.checkpoint_drill`."""
    pytest.importorskip("mpi4py")
    assert drill(4, seed=1) > 4
