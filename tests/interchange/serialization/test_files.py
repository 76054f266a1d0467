"""Nestings of state in a file, and back: what is preserved, what is refused, and damaged files."""

from __future__ import annotations

import io
import json
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim, safetensors
from staticgrad.base.dtypes import DTYPES
from staticgrad.errors import ArgumentError, DeviceError, StaticgradError
from staticgrad.safetensors import SafetensorsError
from staticgrad.serialization.storages import SerializationError

pytestmark = pytest.mark.usefixtures("refusing")


def through(value: Any, **options: Any) -> Any:
    stream = io.BytesIO()
    sg.save(value, stream)
    stream.seek(0)
    return sg.load(stream, **options)


def assert_alike(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            assert_alike(found[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert_alike(a, b)
    elif isinstance(expected, (sg.Tensor, np.ndarray, np.generic)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(sg.tensor(found).numpy()), np.asarray(sg.tensor(expected).numpy()))
    else:
        assert found == expected or (found != found and expected != expected)


VALUES = [
    None, True, 3, 10**30, -1, 2.5, float("inf"), float("nan"), 1e-320, "", "tëxt", "\ud800", 1 - 2j, b"\x00\xff", (), [], {},
    OrderedDict([("b", 1), ("a", 2)]), {1, 2}, frozenset("ab"), {3: "int", (1, "a"): "tuple", None: 0, True: 1, 2.5: 2},
    [[(1, [2, {"a": ()}])]], sg.float32, sg.bool, sg.device("cpu"), np.float64(1.5), np.int32(3), np.bool_(True),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=[f"{i} {type(v).__name__}" for i, v in enumerate(VALUES)])
def test_values_come_back(value):
    assert_alike(through({"value": value})["value"], value)
    assert_alike(through(value), value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,), (2, 3)], ids=str)
def test_tensors_come_back(dtype, shape):
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    assert_alike(through([sg.tensor(array), array]), [sg.tensor(array), array])


def test_flags_of_tensors():
    parameter = nn.Parameter(sg.ones(2))
    leaf = sg.ones(2, requires_grad=True)
    found = through([parameter, leaf, leaf * 2, sg.ones(2)])
    assert [isinstance(x, nn.Parameter) for x in found] == [True, False, False, False]
    assert [x.requires_grad for x in found] == [True, True, True, False]
    assert all(x.is_leaf for x in found)


def test_shared_memory_is_shared_again():
    base = sg.arange(12.0).reshape(3, 4)
    rows, columns, backwards = base[1:], base[:, 1], sg.tensor(base.numpy()[::-1])
    state = {"rows": rows, "columns": columns, "base": base, "again": base, "alone": sg.ones(3)[1:]}
    found = through(state)
    assert_alike(found, state)
    assert found["base"] is found["again"]
    found["base"].zero_()
    assert found["rows"].sum().item() == found["columns"].sum().item() == 0
    assert_alike(through([backwards]), [backwards])


def test_interleaved_and_reversed_views():
    array = np.arange(10.0)
    parts = [sg.from_numpy(array[::2]), sg.from_numpy(array[1::2]), sg.from_numpy(array[::-1])]
    found = through(parts)
    assert_alike(found, parts)
    found[2].zero_()
    assert not found[0].numpy().any()
    assert not found[1].numpy().any()


def test_memory_seen_as_two_dtypes_becomes_two_tensors():
    array = np.arange(4.0)
    found = through([array, array.view(np.int64)])
    assert_alike(found, [array, array.view(np.int64)])


def test_a_view_alone_takes_only_its_own_bytes():
    stream = io.BytesIO()
    sg.save(sg.zeros(1000, 1000)[:, 0], stream)
    assert len(stream.getvalue()) < 10_000


def test_an_object_that_occurs_twice_is_one():
    inner = [1]
    found = through({"a": inner, "b": (inner, inner)})
    assert found["a"] is found["b"][0] is found["b"][1]


def test_a_model_and_its_optimizer_go_on_as_before(tmp_path):
    def made():
        sg.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        return model, optimizer, optim.lr_scheduler.StepLR(optimizer, 2)

    def steps(model, optimizer, schedule, count):
        for _ in range(count):
            optimizer.zero_grad()
            model(sg.arange(15.0).reshape(5, 3)).square().mean().backward()
            optimizer.step()
            schedule.step()

    first = made()
    steps(*first, 3)
    sg.save([part.state_dict() for part in first], tmp_path / "checkpoint.pt")
    second = made()
    for part, state in zip(second, sg.load(tmp_path / "checkpoint.pt"), strict=True):
        part.load_state_dict(state)
    steps(*first, 3)
    steps(*second, 3)
    assert_alike(dict(second[0].state_dict()), dict(first[0].state_dict()))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_any_reader_of_safetensors_reads_a_state_dict(tmp_path):
    state = nn.Linear(3, 2).state_dict()
    sg.save(state, tmp_path / "model.pt")
    assert_alike(dict(sorted(safetensors.load_file(tmp_path / "model.pt").items())), dict(sorted(state.items())))
    safetensors.save_file(state, tmp_path / "model.safetensors")
    assert_alike(dict(sorted(sg.load(tmp_path / "model.safetensors").items())), dict(sorted(state.items())))


def test_names_of_tensors_that_clash():
    state = {"a.b": sg.ones(1), "a": {"b": sg.zeros(1)}, "__metadata__": sg.full((1,), 2.0), 1: sg.ones(2), "1": sg.zeros(2)}
    assert_alike(through(state), state)


@pytest.mark.parametrize("kind", [str, Path])
def test_paths(tmp_path, kind):
    sg.save({"a": 1}, kind(tmp_path / "x.pt"))
    assert sg.load(kind(tmp_path / "x.pt")) == {"a": 1}


def test_streams(tmp_path):
    with open(tmp_path / "x.pt", "wb") as stream:
        sg.save([1], stream)
    with open(tmp_path / "x.pt", "rb") as stream:
        assert sg.load(stream) == [1]


class Plain:
    pass


def refused(value: Any, **options: Any) -> str:
    stream = io.BytesIO()
    with pytest.raises(SerializationError) as caught:
        sg.save(value, stream, **({"weights_only": True} | options))
    assert stream.getvalue() == b""
    return caught.value.summary


CYCLE: list[Any] = []
CYCLE.append({"a": CYCLE})
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"m": [Plain()]}, "the value at 'm.0' is an object of class Plain"),
        (nn.Linear(1, 1), "the value is an object of class Linear"),
        (len, "the value is an object of class builtin_function_or_method"),
        (CYCLE, "the value at '0.a' contains itself"),
        (DEEP, "nested too deeply"),
        (np.array(["text"]), "the value is an object of class ndarray"),
        (10**5000, "Exceeds the limit"),
    ],
    ids=["object", "module", "function", "cycle", "deep", "strings", "long"],
)
def test_values_that_are_no_state(value, text):
    assert text in refused(value)


def test_tensors_of_a_graph():
    with sg.Graph().as_default():
        assert "a tensor of a graph" in refused([sg.placeholder(sg.float32, (2,))])
        assert "a tensor of a graph" in refused([sg.Variable([1.0])])


def test_a_traced_tensor():
    stream = io.BytesIO()

    @sg.compile
    def step(x):
        sg.save({"x": x}, stream)
        return x

    with pytest.raises(sg.TraceError):
        step(sg.ones(2))


def test_an_error_leaves_the_former_file(tmp_path):
    sg.save([1], tmp_path / "x.pt")
    with pytest.raises(SerializationError):
        sg.save([1, Plain()], tmp_path / "x.pt", weights_only=True)
    assert sg.load(tmp_path / "x.pt") == [1]


# asked for: pickle --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [None, False])
def test_whole_modules_are_pickled(asked):
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    stream = io.BytesIO()
    sg.save({"model": model, "weight": model[0].weight}, stream, weights_only=asked)
    stream.seek(0)
    with pytest.raises(SerializationError, match="holds pickled objects"):
        sg.load(stream)
    stream.seek(0)
    found = sg.load(stream, weights_only=False)
    assert found["model"][0].weight is found["weight"]
    assert_alike(dict(found["model"].state_dict()), dict(model.state_dict()))
    with pytest.raises(SerializationError, match="an object of class Sequential"):
        sg.save(model, io.BytesIO(), weights_only=True)


def test_what_can_not_be_pickled_is_an_error_of_saving():
    with pytest.raises(SerializationError, match="an object of class function"):
        sg.save([lambda: 1], io.BytesIO())


# wrong arguments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("location", [None, "cpu", sg.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage])
def test_locations(location):
    assert through([1], map_location=location) == [1]


@pytest.mark.parametrize(("location", "error"), [("cuda", DeviceError), ({"cpu": "cuda:1"}, DeviceError), (3, ArgumentError)])
def test_wrong_locations(location, error):
    with pytest.raises(error):
        through([1], map_location=location)


def test_what_is_no_file():
    for wrong in (3, None):
        with pytest.raises(ArgumentError, match="a path or a stream of bytes"):
            sg.save([1], wrong)
        with pytest.raises(ArgumentError, match="a path or a stream of bytes"):
            sg.load(wrong)
    with pytest.raises(ArgumentError, match='open it with "rb"'):
        sg.load(io.StringIO("text"))
    with pytest.raises(FileNotFoundError):
        sg.load("no such file")


def test_a_stream_at_its_end():
    stream = io.BytesIO()
    sg.save([1], stream)
    with pytest.raises(SerializationError, match="no more bytes") as caught:
        sg.load(stream)
    assert "f.seek(0)" in str(caught.value)


# damaged files ------------------------------------------------------------------------------------------------------


def a_file() -> bytes:
    base = sg.arange(6.0)
    stream = io.BytesIO()
    sg.save({"a": base, "b": (base[2:], base[:4]), "n": np.float32(2)}, stream)
    return stream.getvalue()


def test_truncations():
    whole = a_file()
    for length in range(1, len(whole)):
        with pytest.raises((SafetensorsError, SerializationError)):
            sg.load(io.BytesIO(whole[:length]))


def test_flipped_bytes_are_refused_or_give_values():
    whole = a_file()
    for position in range(len(whole)):
        for mask in (0x01, 0x10, 0x80):
            data = bytearray(whole)
            data[position] ^= mask
            try:
                found = sg.load(io.BytesIO(bytes(data)))
            except StaticgradError:
                continue
            repr(found)


def changed(change: Any) -> bytes:
    arrays, metadata = safetensors.from_bytes(a_file(), "")
    content = json.loads(metadata["staticgrad"])
    change(content)
    return safetensors.to_bytes(arrays, {"staticgrad": json.dumps(content)})


def setting(path: tuple[Any, ...], value: Any) -> Any:
    def change(content: Any) -> None:
        for part in path[:-1]:
            content = content[part]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("places", 0, 0), "another"),
        (("places", 0, 1), 3),
        (("places", 0, 1), -1),
        (("places", 0, 1), 1 << 62),
        (("places", 0, 2), [7]),
        (("places", 0, 2), [-1]),
        (("places", 0, 2), ["1"]),
        (("places", 0, 3), [-1]),
        (("places", 0, 3), [1, 1]),
        (("places", 0, 3), [1 << 62]),
        (("objects", 0), 3),
        (("objects", 0, 0), "os.system"),
        (("objects", 3, 1), [{"at": 3}]),
        (("objects", 3, 1), [{"at": -1}]),
        (("objects",), []),
        (("root",), {"at": 99}),
        (("root",), {}),
    ],
)
def test_a_nesting_that_does_not_fit_the_tensors(path, value):
    with pytest.raises(SerializationError, match="is damaged"):
        sg.load(io.BytesIO(changed(setting(path, value))))


class Harmful:
    ran = False

    def __reduce__(self):
        return (setattr, (Harmful, "ran", True))


def test_a_bare_pickle_is_not_executed(tmp_path):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "x.pt").write_bytes(pickle.dumps(Harmful(), protocol))
        with pytest.raises((SafetensorsError, SerializationError)):
            sg.load(tmp_path / "x.pt")
    assert not Harmful.ran
