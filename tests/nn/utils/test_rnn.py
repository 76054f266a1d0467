"""Sequences of different lengths, and recurrent layers of them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.errors import ArgumentError, ShapeError
from staticgrad.nn.utils import rnn

LENGTHS = [2, 5, 1, 5]


def sequences(tensor, width=3):
    rng = np.random.default_rng(0)
    return [tensor(rng.normal(size=(n, width))) for n in LENGTHS]


def test_padding():
    parts = [sg.tensor([1.0, 2.0]), sg.tensor([3.0])]
    assert rnn.pad_sequence(parts, True).tolist() == [[1.0, 2.0], [3.0, 0.0]]
    assert rnn.pad_sequence(parts, False, -1.0).tolist() == [[1.0, 3.0], [2.0, -1.0]]
    assert rnn.pad_sequence(parts, True, padding_side="left").tolist() == [[1.0, 2.0], [0.0, 3.0]]
    assert [p.tolist() for p in rnn.unpad_sequence(rnn.pad_sequence(parts), [2, 1])] == [[1.0, 2.0], [3.0]]


def test_packing():
    packed = rnn.pack_sequence([sg.tensor([1, 2, 3]), sg.tensor([4, 5]), sg.tensor([6])])
    assert packed.data.tolist() == [1, 4, 6, 2, 5, 3]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices is None
    assert [p.tolist() for p in rnn.unpack_sequence(packed)] == [[1, 2, 3], [4, 5], [6]]


@pytest.mark.parametrize("batch_first", [False, True])
def test_there_and_back(batch_first):
    padded = rnn.pad_sequence(sequences(sg.tensor), batch_first)
    packed = rnn.pack_padded_sequence(padded, LENGTHS, batch_first, enforce_sorted=False)
    again, lengths = rnn.pad_packed_sequence(packed, batch_first)
    np.testing.assert_array_equal(again.numpy(), padded.numpy())
    assert lengths.tolist() == LENGTHS
    longer, _ = rnn.pad_packed_sequence(packed, batch_first, -1.0, total_length=7)
    assert longer.shape == ((4, 7, 3) if batch_first else (7, 4, 3))


def test_refusals():
    padded = sg.zeros(5, 2, 3)
    with pytest.raises(ArgumentError, match="must be sorted in decreasing order when `enforce_sorted` is True"):
        rnn.pack_padded_sequence(padded, [2, 5])
    with pytest.raises(ShapeError, match="but got 3"):
        rnn.pack_padded_sequence(padded, [5, 2, 1])
    with pytest.raises(ArgumentError, match="has to be greater than 0"):
        rnn.pack_padded_sequence(padded, [5, 0])
    with pytest.raises(ArgumentError, match="max sequence length being 5"):
        rnn.pad_packed_sequence(rnn.pack_padded_sequence(padded, [5, 2]), total_length=3)


LAYERS = [
    ("RNN", {}), ("LSTM", {"bidirectional": True}), ("GRU", {"num_layers": 2}), ("LSTM", {"proj_size": 2}),
    ("GRU", {"bidirectional": True, "num_layers": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "kwargs"), LAYERS)
@pytest.mark.parametrize("compiled", [False, True])
def test_layers_run_each_sequence_by_itself(kind, kwargs, compiled):
    layer = getattr(nn, kind)(3, 4, **kwargs).double()
    parts = sequences(sg.tensor)
    padded = rnn.pad_sequence(parts)

    def run(x):
        packed = rnn.pack_padded_sequence(x, LENGTHS, enforce_sorted=False)
        out, state = layer(packed)
        loss = (out.data**2).sum()
        return (rnn.pad_packed_sequence(out)[0], *(state if kind == "LSTM" else (state,)), *sg.grad(loss, layer.parameters()))

    out, *rest = (sg.compile(run) if compiled else run)(padded)
    states, grads = (rest[:2], rest[2:]) if kind == "LSTM" else (rest[:1], rest[1:])
    loss = 0.0
    for i, part in enumerate(parts):
        y, state = layer(part)
        loss = loss + (y**2).sum()
        np.testing.assert_allclose(out.detach().numpy()[: len(part), i], y.detach().numpy(), rtol=1e-10)
        assert not out.detach().numpy()[len(part) :, i].any()
        for mine, other in zip(states, state if kind == "LSTM" else (state,), strict=True):
            np.testing.assert_allclose(mine.detach().numpy()[:, i], other.detach().numpy(), rtol=1e-10)
    for mine, other in zip(grads, sg.grad(loss, list(layer.parameters())), strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN:UserWarning")
@pytest.mark.parametrize(("kind", "kwargs"), LAYERS)
def test_layers_against_torch(kind, kwargs):
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn, kind)(3, 4, **kwargs).double()
    ours = getattr(nn, kind)(3, 4, **kwargs).double()
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    results = []
    for lib, layer, tensor in ((rnn, ours, sg.tensor), (torch.nn.utils.rnn, theirs, torch.tensor)):
        packed = lib.pack_sequence(sequences(tensor), enforce_sorted=False)
        out, state = layer(packed)
        hx = tuple(s * 0.5 for s in state) if kind == "LSTM" else state * 0.5
        again, last = layer(packed, hx)
        padded, lengths = lib.pad_packed_sequence(again, True, 9.0)
        results.append([padded, lengths, *(last if kind == "LSTM" else (last,))])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_dropout_between_layers_draws_for_the_steps_that_there_are(compiled):
    both = nn.GRU(3, 4, num_layers=2, dropout=0.5)
    first, second = nn.GRU(3, 4), nn.GRU(4, 4)
    for k, single in enumerate((first, second)):
        single.load_state_dict({name: getattr(both, name.replace("_l0", f"_l{k}")) for name in single.state_dict()})
    packed = rnn.pack_sequence(sequences(sg.tensor), enforce_sorted=False)
    packed = packed.to(sg.float32)
    sg.manual_seed(3)
    found = (sg.compile(lambda p: both(p)[0].data) if compiled else lambda p: both(p)[0].data)(packed)
    sg.manual_seed(3)
    between = first(packed)[0]
    expected = second(between.with_data(nn.functional.dropout(between.data, 0.5)))[0].data
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_arguments_are_those_of_torch():
    theirs = pytest.importorskip("torch").nn.utils.rnn
    for name in theirs.__all__:
        if inspect.isfunction(getattr(theirs, name)):
            both = (inspect.signature(getattr(lib, name)).parameters.values() for lib in (rnn, theirs))
            mine, other = ([(p.name, p.default) for p in found] for found in both)
            assert mine == other, name
