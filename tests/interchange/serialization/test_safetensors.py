"""Files of tensors: the format byte by byte, both ways, and damaged files."""

from __future__ import annotations

import importlib
import json
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, safetensors
from staticgrad.safetensors import PAIRS, SafetensorsError, load_file, save_file


def written(path: Path, header: Any, body: bytes) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


def entry(dtype: str, shape: list[int], first: int, last: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


def test_a_file_as_others_write_it(tmp_path):
    header = {
        "__metadata__": {"format": "pt"},
        "b": entry("I64", [2], 8, 24),
        "a": entry("F32", [1, 2], 0, 8),
        "half": entry("F16", [2], 24, 28),
        "brain": entry("BF16", [2], 28, 32),
        "none": entry("F64", [0, 3], 32, 32),
        "yes": entry("BOOL", [], 32, 33),
    }
    body = struct.pack("<2f2q2e2H?", 1.5, -2.0, 7, -1, 0.5, -3.0, 0x3FC0, 0xC040, True)
    found = load_file(written(tmp_path / "x.safetensors", header, body))
    assert list(found) == ["b", "a", "half", "brain", "none", "yes"]
    expected = {
        "a": np.array([[1.5, -2.0]], np.float32), "b": np.array([7, -1]), "half": np.array([0.5, -3.0], np.float16),
        "brain": np.array([1.5, -3.0], sg.bfloat16), "none": np.zeros((0, 3)), "yes": np.array(True),
    }  # fmt: skip
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name].numpy(), array)
    found["a"].numpy()[0, 0] = 4.0  # memory of its own


def test_a_model_goes_out_and_comes_back(tmp_path):
    def model():
        return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))

    first, second = model(), model()
    first(sg.randn(5, 1, 4, 4))
    save_file(first.state_dict(), tmp_path / "model.safetensors", {"format": "pt"})
    assert second.load_state_dict(load_file(tmp_path / "model.safetensors")) == ([], [])
    x = sg.randn(2, 1, 4, 4)
    np.testing.assert_array_equal(second.eval()(x).detach().numpy(), first.eval()(x).detach().numpy())
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


DAMAGED = [
    (b"", "header too small"),
    (struct.pack("<Q", 1 << 40), "header too large"),
    (struct.pack("<Q", 2) + b"{]", "invalid JSON in header"),
    (struct.pack("<Q", 100_000) + b"[" * 100_000, "invalid JSON in header"),
    (struct.pack("<Q", 16) + b'{"a": 1, "a": 2}', "invalid JSON in header"),
    (struct.pack("<Q", 10) + b'{"a": NaN}', "invalid JSON in header"),
    (struct.pack("<Q", 8) + b'{"\xff": 1}', "invalid UTF-8 in header"),
    (struct.pack("<Q", 5002) + b"[" + b"9" * 5000 + b"]", "invalid JSON in header"),
]


@pytest.mark.parametrize(("data", "text"), DAMAGED)
def test_damaged_files(tmp_path, data, text):
    file = tmp_path / "x.safetensors"
    file.write_bytes(data)
    with pytest.raises(SafetensorsError, match=text) as caught:
        load_file(file)
    assert str(file) in str(caught.value)


def test_every_truncation_is_found(tmp_path):
    file = tmp_path / "x.safetensors"
    save_file({"a": np.arange(3.0), "b": np.array([True])}, file, {"made by": "a test"})
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(SafetensorsError):
            load_file(file)


WRONG = [
    ({"a": entry("F32", [2], 0, 4)}, 4, "invalid shape, data type, or offset for tensor"),
    ({"a": entry("F32", [2], 0, 8)}, 4, "incomplete metadata, file not fully covered"),
    ({"a": entry("F32", [1], 4, 8)}, 8, "invalid offset for tensor `a`"),
    ({"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 0, 4)}, 4, "invalid offset for tensor"),
    ({"a": entry("F32", [1], 0, 4)}, 8, "incomplete metadata, file not fully covered"),
    ({"a": entry("F8_E5M2", [8], 0, 8)}, 8, "a: dtype F8_E5M2 is not supported"),
    ({"a": entry("F64", [1], 0, 8), "__metadata__": {PAIRS: '["a"]'}}, 8, "'a' holds no pairs of float64 numbers"),
    ({"a": entry("F64", [1], 0, 8), "__metadata__": {PAIRS: "a"}}, 8, "has to be a list of names"),
    ([], 0, "invalid type: sequence"),
    ({"a": []}, 0, "invalid JSON in header"),
    ({"a": {}}, 0, "missing field `dtype`"),
    ({"a": entry("F32", [-1, -1], 0, 4)}, 4, "invalid value: integer `-1`"),
    ({"a": {**entry("F32", [1], 0, 4), "shape": [1.0]}}, 4, "invalid type: floating point `1.0`"),
    ({"a": {**entry("F32", [1], 0, 4), "dtype": []}}, 4, "invalid JSON in header"),
    ({"a": {**entry("F32", [1], 0, 4), "data_offsets": [0, 4, 8]}}, 4, "invalid JSON in header"),
    ({"a": entry("F32", [1], 0, 4), "b": {**entry("F32", [1], 0, 4), "data_offsets": "48"}}, 8, "invalid JSON in header"),
    ({"a": entry("F32", [1 << 62, 0], 0, 0)}, 0, "invalid shape for tensor `a`"),
    ({"a": entry("F32", [0] * 65, 0, 0)}, 0, "invalid shape for tensor `a`"),
    (b'{"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0], "x": ' + b"9" * 5000 + b"}}", 0, "invalid JSON in header"),
    ({"__metadata__": {"epoch": 1}}, 0, "expected a string"),
]


@pytest.mark.parametrize(("header", "size", "text"), WRONG)
def test_headers_that_lie(tmp_path, header, size, text):
    with pytest.raises(SafetensorsError, match=text):
        load_file(written(tmp_path / "x.safetensors", header, bytes(size)))


def test_booleans_are_0_or_1_in_memory(tmp_path):
    found = load_file(written(tmp_path / "x.safetensors", {"a": entry("BOOL", [3], 0, 3)}, bytes([0, 1, 255])))["a"].numpy()
    assert found.tobytes() == bytes([0, 1, 1])


@pytest.mark.parametrize("name", ["__metadata__", 1])
def test_names_that_a_file_cannot_have(tmp_path, name):
    with pytest.raises(SafetensorsError, match="can't be the name of a tensor"):
        save_file({name: np.ones(2)}, tmp_path / "x.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("tensors", "metadata", "text"),
    [
        ([np.ones(2)], None, "save_file: expected tensors by name, got list"),
        (None, None, "save_file: expected tensors by name, got NoneType"),
        ({"a": np.ones(2)}, [1], "save_file: metadata is a dict of strings to strings, got [1]"),
        ({"a": np.ones(2)}, {"epoch": 1}, "save_file: metadata is a dict of strings to strings, got {'epoch': 1}"),
    ],
)
def test_what_can_not_be_saved(tmp_path, tensors, metadata, text):
    with pytest.raises(SafetensorsError) as caught:
        save_file(tensors, tmp_path / "x.safetensors", metadata)
    assert caught.value.summary == text
    assert caught.value.where.file == __file__
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_former_file(tmp_path):
    file = tmp_path / "x.safetensors"
    save_file({"a": np.ones(2)}, file)
    with pytest.raises(sg.DTypeError):
        save_file({"a": np.ones(2), "b": np.array(["text"])}, file)
    np.testing.assert_array_equal(load_file(file)["a"].numpy(), [1, 1])


@pytest.mark.oracle
def test_weights_saved_by_pytorch_give_the_same_outputs(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = pytest.importorskip("torch")
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16, 6)
    )
    ours = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 6))
    x = np.random.default_rng(0).normal(size=(3, 1, 4, 4)).astype(np.float32)
    theirs(torch.tensor(x))
    file = tmp_path / "model.safetensors"
    importlib.import_module("safetensors.torch").save_file(theirs.state_dict(), file)
    ours.load_state_dict(load_file(file))
    expected = theirs.eval()(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(ours.eval()(sg.tensor(x)).detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_parts_of_a_file(tmp_path):
    path = tmp_path / "rows.safetensors"
    rows = np.arange(12.0).reshape(4, 3)
    pairs = np.array([[1 + 2j, 3], [4, 5j]])
    safetensors.save_file({"rows": rows, "pairs": pairs, "one": np.float32(2), "mask": rows > 3}, path, {"step": "3"})
    with safetensors.safe_open(path, framework="pt", device="cpu") as file:
        assert file.keys() == ["mask", "one", "pairs", "rows"]
        assert file.metadata() == {"step": "3"}
        part = file.get_slice("rows")
        assert (part.get_shape(), part.get_dtype(), len(part)) == ([4, 3], "F64", 4)
        np.testing.assert_array_equal(part[1:3, ::2].numpy(), rows[1:3, ::2])
        np.testing.assert_array_equal(part[[3, 0]].numpy(), rows[[3, 0]])
        assert part[2, 1].item() == 7
        np.testing.assert_array_equal(file.get_tensor("pairs").numpy(), pairs)
        np.testing.assert_array_equal(file.get_slice("pairs")[:, 1].numpy(), pairs[:, 1])
        assert file.get_slice("pairs").get_shape() == [2, 2]
        assert file.get_tensor("one").item() == 2
        np.testing.assert_array_equal(file.get_slice("mask")[1].numpy(), rows[1] > 3)
        copy = file.get_tensor("rows")
        copy += 1
        assert file.get_tensor("rows")[0, 0].item() == 0
        with pytest.raises(safetensors.SafetensorsError, match="does not contain tensor none"):
            file.get_slice("none")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(safetensors.SafetensorsError, match="whole safetensors file"):
        safetensors.safe_open(path)
