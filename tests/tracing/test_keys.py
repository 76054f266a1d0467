"""What a new trace is made for, what it is not made for, and what `recompiles` says."""

from __future__ import annotations

import array
import functools
import types
from collections import OrderedDict, namedtuple
from enum import Enum

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.compiler.backend.kernel_cache import Counters
from staticgrad.tracing.containers import key
from tests.tracing.helpers import batch, labels

pytestmark = pytest.mark.usefixtures("refusing")

Pair = namedtuple("Pair", "left right")
X = batch(3, 4)


class Kind(Enum):
    DOUBLE = 2
    TRIPLE = 3


def scaled(x, by=1):
    return x * (by.value if isinstance(by, Kind) else by)


def leaf(array):
    return sg.tensor(array, requires_grad=True)


# (function, arguments of the first call, of the second, what the second trace is made for; None: no trace)
ARGUMENTS = {
    "equal": (scaled, [X], [X.copy()], None),
    "values": (scaled, [X], [X + 1], None),
    "tensor for array": (scaled, [X], [sg.tensor(X)], "x: a tensor instead of an array"),
    "columns": (scaled, [X], [np.asfortranarray(X)], None),
    "slice of columns": (scaled, [X[:, :2].copy()], [X[:, :2]], None),
    "big-endian": (scaled, [X], [X.astype(">f4")], None),
    "dtype": (scaled, [X], [X.astype(np.float64)], "x: dtype float64 instead of float32"),
    "shape": (scaled, [X], [X[:2]], "x: shape (2, 4) instead of (3, 4); new shape, plan re-bound"),
    "both": (scaled, [X], [X[0].astype(int)], "x: dtype int64 instead of float32; x: shape (4,) instead of (3, 4)"),
    "requires_grad": (scaled, [sg.tensor(X)], [leaf(X)], "x: requires_grad True instead of False"),
    "number": (scaled, [X, 2], [X, 3], "by: 3 instead of 2"),
    "type of number": (scaled, [X, 2], [X, 2.0], "by: 2.0 instead of 2"),
    "True is not 1": (scaled, [X, 1], [X, True], "by: True instead of 1"),
    "-0.0": (scaled, [X, 0.0], [X, -0.0], "by: -0.0 instead of 0.0"),
    "nan": (scaled, [X, float("nan")], [X, -float("nan") * 1], None),
    "NumPy number": (scaled, [X, np.float32(2)], [X, np.float32(3)], "by: np.float32(3.0) instead of np.float32(2.0)"),
    "enum": (scaled, [X, Kind.DOUBLE], [X, Kind.TRIPLE], "by: <Kind.TRIPLE: 3> instead of <Kind.DOUBLE: 2>"),
    "number for array": (scaled, [X, np.float32(2)], [X, X], "by: an array (3, 4) float32 instead of np.float32(2.0)"),
    "fewer": (scaled, [X, 2], [X], "the arguments have 1 parts instead of 2"),
    "member of a list": (
        lambda parts: parts[0] + parts[1], [[X, X]], [[X, X[0]]], "parts[1]: shape (4,) instead of (3, 4)",
    ),
    "length of a list": (sum, [[X, X]], [[X]], "the arguments have 2 parts instead of 3"),
    "list for tuple": (lambda parts: parts[0], [[X]], [(X,)], "parts: a tuple of 1 instead of a list of 1"),
    "member of a dict": (
        lambda d: d["a"] * d["by"], [{"a": X, "by": 2}], [{"a": X, "by": 4}], "d['by']: 4 instead of 2",
    ),
    "named tuple": (
        lambda pair: pair.left - pair.right, [Pair(X, 2)], [Pair(X, 3)], "pair[1]: 3 instead of 2",
    ),
    "deep": (
        lambda d: d["a"][0][1], [{"a": [(1, X)]}], [{"a": [(2, X)]}], "d['a'][0][0]: 2 instead of 1",
    ),
    "slice": (lambda x, s: x[s], [X, slice(0, 2)], [X, slice(0, 2)], None),
}  # fmt: skip


@pytest.mark.parametrize(("fn", "first", "second", "reason"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments(fn, first, second, reason):
    step = sg.compile(fn)
    for args in (first, second, first, second):
        expected = fn(*args)
        np.testing.assert_allclose(plain(step(*args)), plain(expected), rtol=1e-6)
    assert step.recompiles == ["first call"] + ([] if reason is None else [reason])


def plain(x):
    return x.detach().numpy() if isinstance(x, sg.Tensor) else x


def test_keywords_and_defaults():
    @sg.compile
    def step(x, *, by=2.0, shift=None):
        return x * by if shift is None else x * by + shift

    assert step(X)[0, 0] == X[0, 0] * np.float32(2)
    step(X, by=2.0)
    step(X, by=3.0, shift=X)
    step(X, shift=X, by=3.0)
    assert step.recompiles == [
        "first call",
        "the arguments have 3 parts instead of 1",
        "the arguments have 4 parts instead of 3",
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda k: {1, k},
        lambda k: [1, bytearray([k])],
        lambda k: {"a": {k}},
        lambda k: array.array("d", [k]),
        lambda k: types.MappingProxyType({"a": k}),
        lambda k: memoryview(bytes([k])),
    ],
)
def test_containers_of_other_contents_are_traced_apart(make):
    @sg.compile(on_break="error")
    def step(x, options):
        first = options["a"] if isinstance(options, (dict, types.MappingProxyType)) else options
        last = [*first][-1] if not isinstance(first, int) else first
        return x * (last if isinstance(last, (int, float)) else last[0])

    for k in (2, 3, 2, 3):
        assert step(sg.tensor([1.0]), make(k)).tolist() == [k]


def test_ordered_dicts_stay_what_they_are():
    @sg.compile
    def step(parts):
        assert isinstance(parts, OrderedDict)
        parts["c"] = parts["a"] + parts["b"]
        return parts

    parts = OrderedDict(a=X, b=X)
    found = step(parts)
    assert found is parts
    assert list(parts) == ["a", "b", "c"]


def test_the_default_dtype_and_the_grad_mode_are_part_of_the_key():
    @sg.compile
    def step(x):
        return x * 1.5

    ones = sg.ones(2, dtype=sg.int64)
    assert step(ones).dtype == np.float32
    sg.set_default_dtype(sg.float64)
    try:
        assert step(ones).dtype == np.float64
    finally:
        sg.set_default_dtype(sg.float32)
    assert step(ones).dtype == np.float32
    with sg.no_grad():
        step(ones)
    assert step.recompiles == [
        "first call",
        "same arguments, but the default dtype is dtype('float64') instead of dtype('float32')",
        "same arguments, but grad mode is off",
    ]


# what a training step reaches -------------------------------------------------------------------------------------------


def training(optimizer=lambda p: optim.Adam(p, lr=0.01)):
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    opt = optimizer(net.parameters())

    @sg.compile
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return net, opt, step


def add_group(net, opt):
    opt.add_param_group({"params": [sg.tensor([1.0], requires_grad=True)]})


def replace_layer(net, opt):
    net[0] = nn.Linear(4, 8)


# (optimizer, what changes, how it is undone, the reason of the second trace; None: no trace)
CHANGES = {
    "learning rate": (None, lambda net, opt: setattr(opt, "lr", 0.5), None, None),
    "schedule": (None, lambda net, opt: optim.lr_scheduler.StepLR(opt, 1).step(), None, None),
    "betas": (None, lambda net, opt: opt.param_groups[0].update(betas=(0.5, 0.6)), None, None),
    "values": (None, lambda net, opt: net.load_state_dict(net.state_dict()), None, None),
    "optimizer state": (None, lambda net, opt: opt.load_state_dict(opt.state_dict()), None, None),
    "data": (None, lambda net, opt: setattr(net[0].weight, "data", sg.zeros(8, 4)), None, None),
    "eval": (None, lambda net, opt: net.eval(), lambda net, opt: net.train(), "net.training is False instead of True"),
    "setting": (
        None, lambda net, opt: setattr(net[1], "p", 0.1), lambda net, opt: setattr(net[1], "p", 0.5),
        "net.1.p is 0.1 instead of 0.5",
    ),
    "frozen": (
        lambda p: optim.SGD(p, lr=0.1), lambda net, opt: net[0].requires_grad_(False), lambda net, opt: net[0].requires_grad_(True),  # noqa: E501
        "net.0.weight is",
    ),
    "layer": (None, replace_layer, None, "net.0 is"),
    "weight decay": (
        None, lambda net, opt: opt.param_groups[0].update(weight_decay=0.1),
        lambda net, opt: opt.param_groups[0].update(weight_decay=0.0),
        "opt.param_groups[0].weight_decay is 'a number' instead of 0",
    ),
    "nesterov": (
        lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda net, opt: opt.param_groups[0].update(nesterov=True),
        lambda net, opt: opt.param_groups[0].update(nesterov=False),
        "opt.param_groups[0].nesterov is True instead of False",
    ),
    "group": (None, add_group, None, "opt.number of param_groups is 2 instead of 1"),
}  # fmt: skip


@pytest.mark.parametrize(("optimizer", "change", "undo", "reason"), CHANGES.values(), ids=CHANGES)
def test_changes_between_steps(optimizer, change, undo, reason):
    net, opt, step = training(optimizer) if optimizer is not None else training()
    x, y = batch(3, 4), labels(3, 3)
    step(x, y)
    before = Counters.compiled + Counters.from_disk
    change(net, opt)
    step(x, y)
    if reason is None:
        assert step.recompiles == ["first call"]
        assert Counters.compiled + Counters.from_disk == before
        return
    assert len(step.recompiles) == 2
    assert step.recompiles[1].startswith("same arguments, but " + reason)
    if undo is not None:
        undo(net, opt)
        step(x, y)
        change(net, opt)
        step(x, y)
        assert len(step.recompiles) == 2


def test_a_new_batch_size_compiles_no_kernel():
    _, _, step = training()
    step(batch(3, 4), labels(3, 3))
    before = Counters.compiled, Counters.from_disk
    for n in (7, 1, 0, 64):
        step(batch(n, 4), labels(n, 3))
    assert (Counters.compiled, Counters.from_disk) == before


def test_gradients_at_the_start():
    w = sg.tensor([1.0], requires_grad=True, dtype=sg.float32)

    @sg.compile
    def step():
        (w * w).backward()

    for expected in (2.0, 4.0, 6.0):
        step()
        assert w.grad.item() == expected
    assert step.recompiles == ["first call", "same arguments, but a tensor of shape (1,) has a gradient at the start"]


def test_an_array_has_no_gradient_to_set():
    w = sg.tensor([2.0], requires_grad=True)
    w.name = "w"

    @sg.compile
    def step(x):
        x = sg.as_tensor(x).requires_grad_()
        (slope,) = sg.grad((w * x * x).sum(), x, create_graph=True)
        loss = (slope * slope).sum()
        w.grad = None
        loss.backward()
        return loss

    x = np.array([3.0], np.float32)
    for _ in range(2):
        assert step(x).item() == 144.0
        assert w.grad.item() == 144.0
    entry = step.latest
    assert entry.specs is not None, "arrays take the short way"
    assert not entry.given_after, "a gradient that nobody gets is not computed"
    given = sg.tensor(x)
    step(given)
    assert given.grad.item() == 96.0
    assert step.recompiles[1:] == ["x: a tensor instead of an array"]
    step(x)
    step(sg.tensor(x))
    assert len(step.recompiles) == 2


def test_shape_of_a_parameter():
    w = sg.tensor([1.0, 2.0], requires_grad=True)
    w.name = "w"
    step = sg.compile(lambda: (w * w).sum())
    step()
    w.data = sg.tensor([1.0, 2.0, 3.0])
    assert step().item() == 14
    assert step.recompiles[1] == "same arguments, but w: shape (3,) instead of (2,)"


def test_many_traces_are_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr("staticgrad.tracing.specialization_cache.MOST", 4)
    step = sg.compile(scaled)
    for i in range(8):
        step(X, i)
    assert sum(map(len, step.specializations.values())) <= 4
    np.testing.assert_array_equal(step(X, 7), X * np.float32(7))


def test_partial_has_names():
    step = sg.compile(functools.partial(scaled, by=3))
    np.testing.assert_array_equal(step(X), X * np.float32(3))
    step(X[:1])
    assert step.recompiles[1] == "x: shape (1, 4) instead of (3, 4)"


def test_keywords_are_positions():
    """Where the function's parameters say which: one trace for all ways to write a call."""
    step = sg.compile(lambda x, y, k=2: x * k - y)
    calls = (
        lambda: step(X, X, 3), lambda: step(X, X, k=3), lambda: step(X, y=X, k=3), lambda: step(k=3, y=X, x=X),
    )  # fmt: skip
    for call in calls * 2:
        np.testing.assert_allclose(call(), X * 2, rtol=1e-6)
    assert step.recompiles == ["first call"]
    np.testing.assert_allclose(step(y=X, x=X * 2), X * 3, rtol=1e-6)
    for wrong in (lambda: step(X, x=X, y=X), lambda: step(X, X, z=3), lambda: step(X)):
        with pytest.raises(TypeError):
            wrong()


def test_keywords_that_are_no_positions():
    def fn(x, /, y, *, k=1, **more):
        return x * k + y + sum(more.values())

    step = sg.compile(fn)
    np.testing.assert_allclose(step(X, y=X, k=2), X * 3, rtol=1e-6)
    np.testing.assert_allclose(step(X, X, x=X), X * 3, rtol=1e-6)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        step(x=X, y=X)
    rest = sg.compile(lambda *xs, k=1: sum(xs) * k)
    np.testing.assert_allclose(rest(X, X, k=2), X * 4, rtol=1e-6)


def test_traces_in_turn():
    step = sg.compile(lambda x: x * 2)
    for _ in range(3):
        for n in (4, 3, 2):
            assert step(X[:, :n].copy()).shape == (len(X), n)
    assert len(step.recompiles) == 3
    with sg.no_grad():
        step(X)
    assert step.latest.grad_mode is False


def test_keywords_of_a_wrapper_are_its_own():
    """`inspect.signature` tells the parameters of the wrapped function."""

    def scales(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            return fn(*args, **kwargs) * kwargs.get("scale", 1.0) * len(args)

        return wrapper

    fn = scales(lambda x, scale=2.0, shift=0.0: x * scale + shift)
    step = sg.compile(fn)
    for given in ({"scale": 3.0}, {"shift": 1.0}, {"scale": 3.0, "shift": 1.0}, {}):
        np.testing.assert_allclose(step(X, **given), fn(X, **given), rtol=1e-6)


def test_other_keywords_keep_their_order():
    def fn(x, *, b=1.0, a=2.0, **more):
        for value in more.values():
            x = x * 2 + value
        return x * a + b, [*more]

    step = sg.compile(fn)
    for given in ({"z": 1.0, "y": 2.0}, {"y": 2.0, "z": 1.0}, {"y": 3.0, "a": 1.0, "x1": 2.0, "b": 5.0}):
        (found, names), (expected, order) = step(X, **given), fn(X, **given)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert names == order
    traces = len(step.recompiles)
    step(X, y=3.0, x1=2.0, b=5.0, a=1.0)  # parameters have no order
    assert len(step.recompiles) == traces


def test_scalars_of_other_dtypes_have_other_keys():
    """Whatever their bytes are, and NumPy's letters of their dtypes."""
    kinds = ["V2", [("x", "i1"), ("y", "i1")], [("x", "i2")], np.dtype(sg.bfloat16), "f2", "i2", "u2"]
    scalars = [np.frombuffer(b"ab", kind)[0] for kind in kinds]
    assert len({key(x) for x in scalars}) == len(kinds)
    assert key(scalars[3]) == key(np.frombuffer(b"ab", sg.bfloat16)[0])
