"""`SummaryWriter`: what TensorBoard reads back."""

from __future__ import annotations

import numpy as np

import staticgrad as sg
from staticgrad.utils.tensorboard import SummaryWriter
from tests.helpers import raised


def accumulated(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder), size_guidance={"images": 0, "tensors": 0, "histograms": 0}).Reload()


def test_values_are_read_back(tmp_path):
    picture = np.zeros((3, 4, 5), "uint8")
    with SummaryWriter(tmp_path / "run") as writer:
        for step in range(3):
            writer.add_scalar("loss", sg.tensor(1.0 / (step + 1), requires_grad=True), step)
        writer.add_scalars("both", {"train": 0.5, "test": sg.tensor(0.25)}, 1)
        writer.add_histogram("weights", sg.linspace(0, 1, 100), 0)
        writer.add_image("image", picture, 0)
        writer.add_images("images", sg.rand(3, 1, 4, 4), 0)
        writer.add_text("note", "hello", 0)
        writer.add_hparams({"lr": 0.1, "name": "adam"}, {"accuracy": 0.9}, run_name="setting")
        writer.flush()
        assert writer.get_logdir() == str(tmp_path / "run")
    found = accumulated(tmp_path / "run")
    assert [(e.step, e.value) for e in found.Scalars("loss")] == [(0, 1.0), (1, 0.5), (2, np.float32(1 / 3))]
    assert found.Histograms("weights")[0].histogram_value.num == 100
    assert (found.Images("image")[0].height, found.Images("image")[0].width) == (4, 5)
    assert (found.Images("images")[0].height, found.Images("images")[0].width) == (8, 8)
    assert found.Tensors("note/text_summary")[0].tensor_proto.string_val == [b"hello"]
    assert accumulated(tmp_path / "run" / "both_test").Scalars("both")[0].value == 0.25
    assert np.isclose(accumulated(tmp_path / "run" / "setting").Scalars("accuracy")[0].value, 0.9)


def test_what_does_not_fit_is_refused(tmp_path):
    writer = SummaryWriter(tmp_path, purge_step=2)
    with raised(sg.ShapeError, "add_scalar: 'loss' has 2 elements, not one"):
        writer.add_scalar("loss", sg.ones(2))
    with raised(sg.ShapeError, "add_image: 'x' has 2 channels, not 1, 3 or 4"):
        writer.add_image("x", np.zeros((2, 4, 4)))
    with raised(sg.ArgumentError, "the histogram 'h' has values that are not finite"):
        writer.add_histogram("h", np.array([np.nan]))
    writer.close()
    with raised(sg.ArgumentError, "the SummaryWriter is closed"):
        writer.add_scalar("loss", 1.0)
