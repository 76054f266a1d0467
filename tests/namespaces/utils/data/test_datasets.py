"""Data sets, samplers and batches of samples."""

from __future__ import annotations

import collections
import inspect

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from staticgrad.utils import data as D


class Squares(D.Dataset):
    def __init__(self, n: int):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i * i


class Count(D.IterableDataset):
    def __init__(self, n: int):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


def test_tensors():
    x, y = sg.arange(6).reshape(3, 2), sg.tensor([1.0, 2.0, 3.0])
    dataset = D.TensorDataset(x, y)
    assert len(dataset) == 3
    a, b = dataset[1]
    assert (a.tolist(), b.item()) == ([2, 3], 2.0)
    with pytest.raises(ShapeError, match="Size mismatch between tensors"):
        D.TensorDataset(x, sg.ones(2))


def test_one_after_another():
    dataset = Squares(2) + Squares(3)
    assert isinstance(dataset, D.ConcatDataset)
    assert [dataset[i] for i in range(len(dataset))] == [0, 1, 0, 1, 4]
    assert dataset[-1] == 4
    with pytest.raises(IndexRangeError, match="index 5 is out of range for 5 samples"):
        dataset[5]
    with pytest.raises(ArgumentError, match="absolute value of index should not exceed dataset length"):
        dataset[-6]
    assert list(Count(2) + Count(3)) == [0, 1, 0, 1, 2]


def test_side_by_side():
    assert D.StackDataset(Squares(3), Squares(3))[2] == (4, 4)
    assert D.StackDataset(a=Squares(3), b=Squares(3))[2] == {"a": 4, "b": 4}
    with pytest.raises(ShapeError, match="Size mismatch between datasets"):
        D.StackDataset(Squares(3), Squares(2))


def test_samplers_of_several_processes():
    def parts(**options):
        return [list(D.DistributedSampler(range(10), 4, rank, **options)) for rank in range(4)]

    assert parts(shuffle=False) == [[0, 4, 8], [1, 5, 9], [2, 6, 0], [3, 7, 1]]
    assert parts(shuffle=False, drop_last=True) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert {i for part in parts() for i in part} == set(range(10))
    sampler = D.DistributedSampler(range(10), num_replicas=4, rank=1)
    first = list(sampler)
    assert list(sampler) == first
    assert len(sampler) == 3
    sampler.set_epoch(1)
    assert list(sampler) != first
    with pytest.raises(sg.distributed.DistError, match="has not been initialized"):
        D.DistributedSampler(range(10))
    with pytest.raises(ValueError, match="Invalid rank 4"):
        D.DistributedSampler(range(10), 4, 4)


@pytest.mark.parametrize(("lengths", "sizes"), [([7, 3], [7, 3]), ([0.5, 0.25, 0.25], [6, 2, 2]), ([10], [10])])
def test_random_split(lengths, sizes):
    parts = D.random_split(Squares(10), lengths, generator=sg.Generator().manual_seed(3))
    assert [len(p) for p in parts] == sizes
    assert sorted(v for p in parts for v in (p[i] for i in range(len(p)))) == [i * i for i in range(10)]
    again = D.random_split(Squares(10), lengths, generator=sg.Generator().manual_seed(3))
    assert [p.indices for p in parts] == [p.indices for p in again]


def test_random_split_refusals():
    with pytest.raises(ArgumentError, match="Sum of input lengths does not equal the length of the input dataset!"):
        D.random_split(Squares(10), [3, 3])
    with pytest.raises(ArgumentError, match="generator is one of staticgrad's or NumPy's, got int"):
        D.random_split(Squares(10), [5, 5], generator=3)


def test_a_seed_fixes_the_order():
    orders = []
    for _ in range(2):
        sg.manual_seed(4)
        orders.append([list(D.RandomSampler(range(10))) for _ in range(2)])
    assert orders[0] == orders[1]
    assert orders[0][0] != orders[0][1]
    assert all(sorted(order) == list(range(10)) for order in orders[0])


def test_samplers():
    assert list(D.SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(D.SubsetRandomSampler([3, 5, 9])) == [3, 5, 9]
    longer = list(D.RandomSampler(range(4), num_samples=10))
    assert sorted(longer[:4]) == sorted(longer[4:8]) == [0, 1, 2, 3]
    drawn = list(D.RandomSampler(range(3), replacement=True, num_samples=50))
    assert len(drawn) == 50
    assert set(drawn) == {0, 1, 2}
    assert list(D.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(D.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(D.BatchSampler(range(5), 2, drop)) for drop in (False, True)] == [3, 2]


def test_weights():
    sampler = D.WeightedRandomSampler([0.0, 1.0, 3.0], 4000, generator=np.random.default_rng(0))
    counts = collections.Counter(sampler)
    assert set(counts) == {1, 2}
    assert counts[2] / 4000 == pytest.approx(0.75, abs=0.03)
    assert sorted(D.WeightedRandomSampler([1, 2, 3], 3, replacement=False)) == [0, 1, 2]
    with pytest.raises(ArgumentError, match="than there are positive weights"):
        D.WeightedRandomSampler([0, 2, 3], 3, replacement=False)


@pytest.mark.parametrize("make", [
    lambda: D.RandomSampler([]), lambda: D.BatchSampler([1], 0, False), lambda: D.BatchSampler([1], 2, None),
    lambda: D.RandomSampler([1], num_samples=-1), lambda: D.WeightedRandomSampler([[1.0]], 1),
    lambda: D.WeightedRandomSampler([-1.0], 1),
])  # fmt: skip
def test_samplers_that_make_no_sense(make):
    with pytest.raises(ArgumentError):
        make()


Pair = collections.namedtuple("Pair", "a b")
BATCHES = {
    "tensors": lambda lib: [lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])],
    "arrays": lambda lib: [np.ones((2, 1), np.float32), np.zeros((2, 1), np.float32)],
    "floats": lambda lib: [1.0, 2.0],
    "integers": lambda lib: [1, 2],
    "booleans": lambda lib: [True, False],
    "scalars": lambda lib: [np.float32(1.0), np.float32(2.0)],
    "text": lambda lib: ["a", "b"],
    "pairs": lambda lib: [(1, 2.0), (3, 4.0)],
    "lists": lambda lib: [[1, "a"], [3, "b"]],
    "names": lambda lib: [{"x": 1, "y": [2.0, 3.0]}, {"x": 4, "y": [5.0, 6.0]}],
    "named tuples": lambda lib: [Pair(1, 2.0), Pair(3, 4.0)],
}


def plain(value):
    """With dtypes and types, without the library."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(v) for v in value])
    if isinstance(value, np.generic):
        return value.item()
    return (str(value.numpy().dtype), value.tolist()) if hasattr(value, "numpy") else value


EXPECTED = {
    "tensors": ("float32", [[1.0, 2.0], [3.0, 4.0]]),
    "floats": ("float64", [1.0, 2.0]),
    "integers": ("int64", [1, 2]),
    "text": ("list", ["a", "b"]),
    "pairs": ("list", [("int64", [1, 3]), ("float64", [2.0, 4.0])]),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_batches(name):
    assert plain(D.default_collate(BATCHES[name](sg))) == EXPECTED[name]


@pytest.mark.oracle
@pytest.mark.parametrize("name", BATCHES)
def test_batches_against_torch(name):
    torch = pytest.importorskip("torch")
    for function in ("default_collate", "default_convert"):
        if function == "default_convert" and name == "scalars":
            continue  # they stay NumPy's here
        mine = getattr(D, function)(BATCHES[name](sg))
        other = getattr(torch.utils.data, function)(BATCHES[name](torch))
        assert plain(mine) == plain(other)


def test_samples_that_make_no_batch():
    with pytest.raises(DTypeError, match="batch must contain tensors, numpy arrays, numbers, dicts or lists; found object"):
        D.default_collate([object()])
    with pytest.raises(ArgumentError, match="each element in list of batch should be of equal size"):
        D.default_collate([[1], [1, 2]])


@pytest.mark.oracle
def test_arguments_are_those_of_torch():
    theirs = pytest.importorskip("torch").utils.data

    def arguments(thing):
        found = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing).parameters.values()
        return [(p.name, p.kind, p.default) for p in found if p.name != "generator"]

    for name in D.__all__:
        if hasattr(theirs, name) and name not in ("Sampler", "Dataset", "IterableDataset", "WorkerInfo"):
            assert arguments(getattr(D, name)) == arguments(getattr(theirs, name)), name
    assert not [name for name in ("Dataset", "Sampler") if not hasattr(D, name)]
