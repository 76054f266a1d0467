"""`.pt` files of PyTorch's: read without it, and never executed. `checkpoint.pt` was written by torch.save."""

from __future__ import annotations

import io
import pickle
import struct
import warnings
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.errors import DeviceError
from staticgrad.serialization.storages import SerializationError

CHECKPOINT = Path(__file__).parent / "checkpoint.pt"


def test_a_checkpoint_of_pytorchs():
    found = sg.load(CHECKPOINT)
    assert (found["epoch"], found["best"], found["bytes"], found["size"]) == (3, (0.5, None, "name"), b"ab", (2, 3))
    assert (found["dtype"], found["device"]) == (sg.int32, sg.device("cpu"))
    assert type(found["model"]) is OrderedDict
    tensors = {
        "base": np.arange(6, dtype=np.float32), "view": np.arange(6, dtype=np.float32).reshape(2, 3).T[1:],
        "half": np.array([0.5], np.float16), "brain": np.array([-1.5], sg.bfloat16), "parameter": np.ones(2),
        "flags": np.array([True, False]), "empty": np.zeros((0, 2), np.float32),
    }  # fmt: skip
    for name, array in tensors.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found[name].detach().numpy(), array)
    assert isinstance(found["parameter"], nn.Parameter)
    assert found["parameter"].requires_grad
    assert not isinstance(found["base"], nn.Parameter)
    found["base"].zero_()
    assert not found["view"].numpy().any()


def test_a_model_and_an_optimizer_take_it():
    found = sg.load(CHECKPOINT)
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = optim.SGD(model.parameters(), lr=1.0, momentum=0.5)
    assert model.load_state_dict(found["model"]) == ([], [])
    optimizer.load_state_dict(found["optimizer"])
    np.testing.assert_allclose(model[0].weight.detach().numpy(), np.arange(6).reshape(2, 3) - 0.1, rtol=1e-6)
    assert optimizer.param_groups[0]["momentum"] == 0.9
    np.testing.assert_array_equal(optimizer.state[model[0].bias]["momentum_buffer"].numpy(), [1, 1])


# crafted files ------------------------------------------------------------------------------------------------------


def archive(program: bytes, members: dict[str, bytes] | None = None, compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as file:
        for name, content in {"data.pkl": program, "byteorder": b"little", **(members or {})}.items():
            file.writestr(f"archive/{name}", content)
    stream.seek(0)
    return stream


def name(module: str, attribute: str) -> bytes:
    return f"c{module}\n{attribute}\n".encode()


def tensor(offset: Any = 0, size: Any = (2,), stride: Any = (1,), count: Any = 2, location: str = "cpu") -> bytes:
    """The program that makes a tensor of float32."""

    def plain(value: Any) -> bytes:
        return pickle.dumps(value, 2)[2:-1]

    storage = b"(" + plain("storage") + name("torch", "FloatStorage") + plain("0") + plain(location) + plain(count) + b"tQ"
    rest = plain(offset) + plain(size) + plain(stride) + plain(False) + name("collections", "OrderedDict") + b")R"
    return b"\x80\x02" + name("torch._utils", "_rebuild_tensor_v2") + b"(" + storage + rest + b"tR."


DATA = {"data/0": struct.pack("<2f", 1.0, 2.0)}


def test_a_crafted_tensor():
    assert sg.load(archive(tensor(), DATA)).tolist() == [1, 2]
    assert sg.load(archive(tensor(), {"data/0": struct.pack(">2f", 1.0, 2.0), "byteorder": b"big"})).tolist() == [1, 2]


WRONG = [
    tensor(count=3), tensor(count=-1), tensor(count="2"), tensor(offset=1), tensor(offset=-1), tensor(size=(3,)),
    tensor(size=(-1,)), tensor(size=(2, 2), stride=(1, 1)), tensor(size=(2,), stride=(1, 1)),
    tensor(size=(1 << 62,), stride=(0,)), tensor(size=("2",)), tensor(size=(2,), stride=(1 << 62,)),
    tensor(size=None), tensor(offset=1 << 70),
]  # fmt: skip


@pytest.mark.parametrize("program", WRONG)
def test_tensors_outside_of_their_storage(program):
    with pytest.raises(SerializationError):
        sg.load(archive(program, DATA))


@pytest.mark.parametrize("location", ["cuda:0", "mps"])
def test_tensors_of_other_devices(location):
    program = tensor(location=location)
    with pytest.raises(DeviceError, match="map_location="):
        sg.load(archive(program, DATA))
    for where in ("cpu", sg.device("cpu"), {location: "cpu"}, lambda storage, place: storage):
        assert sg.load(archive(program, DATA), map_location=where).tolist() == [1, 2]


# files that would do harm -------------------------------------------------------------------------------------------


class Ran(Exception):
    pass


def harm(*args: Any) -> None:
    raise Ran


class Call:
    def __init__(self, function: Any, *args: Any):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


OPEN = b"cbuiltins\nopen\n"
REBUILD = name("torch._utils", "_rebuild_tensor_v2")
HARMFUL = {
    "a function": pickle.dumps(Call(harm, 1), 2),
    "a function in a dict": pickle.dumps({"state": [Call(harm)]}, 4),
    "eval": pickle.dumps(Call(eval, "1/0"), 2),
    "getattr": pickle.dumps(Call(getattr, 1, "real"), 2),
    "a class": pickle.dumps(Path("x"), 2),
    "an instance": b"(i" + name("builtins", "open")[1:] + b".",
    "os": b"\x80\x02" + name("os", "system") + b"U\x04true\x85R.",
    "torch's own": b"\x80\x02" + name("torch.hub", "load") + b")R.",
    "an extension": b"\x80\x02\x82\x01.",
    "a dotted name": b"\x80\x04\x8c\x0ctorch._utils\x8c\x1b_rebuild_tensor_v2.__init__\x93.",
    "dunder of a container": b"\x80\x04\x8c\x0bcollections\x8c\x16OrderedDict.__class__\x93.",
    "attributes of a function": b"\x80\x02" + REBUILD + b"}U\x08functionNsb.",
    "slots of a function": b"\x80\x02" + REBUILD + b"N}U\x08function" + name("collections", "OrderedDict") + b"s\x86b.",
    "attributes of a class": b"\x80\x02" + name("collections", "OrderedDict") + b"}U\x05itemsNsb.",
    "memory for the memo": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "too little": b"\x80\x02(",
    "no pickle": b"hello",
    "nothing": b"",
    "an empty stack": b"\x80\x020.",
    "a storage that is none": b"\x80\x02NQ.",
    "not a parameter": b"\x80\x02" + name("torch._utils", "_rebuild_parameter") + b"(NNNtR.",
    "a type of a tensor": b"\x80\x02" + name("torch._tensor", "_rebuild_from_type_v2") + b"(NNNNtR.",
    "a call of a dtype": b"\x80\x02" + name("torch", "float32") + b")R.",
}


@pytest.mark.parametrize("program", HARMFUL.values(), ids=HARMFUL)
def test_nothing_is_executed(program):
    with pytest.raises(SerializationError):
        sg.load(archive(program, DATA))


def test_the_error_names_the_function():
    with pytest.raises(SerializationError) as caught:
        sg.load(archive(pickle.dumps(Call(harm), 2)))
    assert f"uses {__name__.rpartition('.')[2]}" in str(caught.value) or "uses " in str(caught.value)
    assert "harm, which is neither a tensor nor a container; it was not executed" in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


class Options:
    def __init__(self, size: int):
        self.size = size


def test_a_class_that_the_program_trusts():
    program = pickle.dumps({"options": Options(3)}, 2)
    with pytest.raises(SerializationError, match="Options, which is neither a tensor nor a container"):
        sg.load(archive(program))
    with sg.serialization.safe_globals([Options]):
        assert sg.serialization.get_safe_globals() == [Options]
        assert sg.load(archive(program))["options"].size == 3
        with sg.serialization.safe_globals([(harm, "os.system")]):
            assert len(sg.serialization.get_safe_globals()) == 2
    assert sg.serialization.get_safe_globals() == []
    with pytest.raises(SerializationError):
        sg.load(archive(program))


def test_methods_of_a_container_cannot_be_hidden():
    program = b"\x80\x02" + name("collections", "OrderedDict") + b")RU\x01aK\x01s}(U\x05itemsNU\x04keysNU\x09_metadataK\x02ub."
    found = sg.load(archive(program))
    assert list(found.items()) == [("a", 1)]
    assert vars(found) == {"_metadata": 2}


def test_containers_that_contain_themselves():
    found = sg.load(archive(b"\x80\x02]q\x00h\x00a."))
    assert found[0] is found


def test_deep_nesting():
    with pytest.raises(SerializationError, match="nested too deeply"):
        sg.load(archive(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b"."))


def test_archives_that_are_no_checkpoint():
    with pytest.raises(SerializationError, match="TorchScript"):
        sg.load(archive(tensor(), {**DATA, "constants.pkl": b""}))
    with pytest.raises(SerializationError, match=r"not one of torch\.save's"):
        sg.load(archive(tensor(), DATA, zipfile.ZIP_DEFLATED))
    with pytest.raises(SerializationError, match=r"is damaged|does not hold"):
        sg.load(archive(tensor()))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("readme.txt", "hello")
    with pytest.raises(SerializationError, match=r"not one of torch\.save's"):
        sg.load(io.BytesIO(stream.getvalue()))
    with pytest.raises(SerializationError, match="bare pickle"):
        sg.load(io.BytesIO(pickle.dumps(0x1950A86A20F9469CFC6C, 2)))


def test_truncated_and_flipped_archives():
    whole = CHECKPOINT.read_bytes()
    for length in range(1, len(whole), 13):
        with pytest.raises((SerializationError, ValueError)):
            sg.load(io.BytesIO(whole[:length]))
    for position in range(0, len(whole), 7):
        data = bytearray(whole)
        data[position] ^= 0x11
        try:
            found = sg.load(io.BytesIO(bytes(data)))
        except sg.StaticgradError:
            continue
        repr(found)


# with PyTorch -------------------------------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_files_of_pytorch_of_today(protocol):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = pytest.importorskip("torch")
    base = torch.arange(24).reshape(2, 3, 4)
    tagged = torch.nn.Parameter(torch.ones(2))
    tagged.tag = "kept by PyTorch"
    state = {
        "tensors": [base, base.permute(2, 0, 1), base[:, 1:2], torch.tensor(1.5, dtype=torch.float64), torch.zeros(0, 3)],
        "dtypes": [torch.ones(2).to(kind) for kind in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32)],
        "tagged": tagged,
        "leaf": torch.ones(2, requires_grad=True),
        "set": {1, 2},
        "complex": 1j,
        "long": 10**30,
    }
    stream = io.BytesIO()
    torch.save(state, stream, pickle_protocol=protocol)
    stream.seek(0)
    found = sg.load(stream)
    for kind in ("tensors", "dtypes"):
        for ours, theirs in zip(found[kind], state[kind], strict=True):
            np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
            assert ours.dtype == theirs.numpy().dtype
    assert (found["set"], found["complex"], found["long"]) == ({1, 2}, 1j, 10**30)
    assert isinstance(found["tagged"], nn.Parameter)
    assert found["leaf"].requires_grad
    stream = io.BytesIO()
    torch.save(torch.nn.Linear(2, 2), stream, pickle_protocol=protocol)
    stream.seek(0)
    with pytest.raises(SerializationError, match=r"uses torch\.nn\.modules\.linear\.Linear"):
        sg.load(stream)
