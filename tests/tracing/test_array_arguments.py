"""Arrays of NumPy as arguments: inside of a compiled function they are arrays, with NumPy's meaning, as in eager mode."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import TraceError
from tests.helpers import assert_close

MODES = {"default": {}, "strict": {"numerics": "strict"}, "split": {"on_break": "split"}}
ARRAYS = {
    "matrix": np.array([[3.0, 1.0], [2.0, 4.0]], np.float32),
    "wide": np.array([[3.0, 1.5], [2.0, -4.0]]),
    "vector": np.array([3.0, 1.0, 2.0], np.float32),
    "integers": np.array([[3, 1], [2, 4]]),
    "short": np.array([3, 1, 2], np.int32),
    "truth": np.array([[True, False], [True, True]]),
    "number": np.array(3.0, np.float32),
    "block": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
}
"""One of each kind that NumPy and tensors treat apart."""
ATTRIBUTES = sorted({name for name in dir(np.ndarray) if name[0] != "_"} - {"data", "ctypes", "dump", "tofile", "flat"})
ARGUMENTS = {
    "astype": ("float64",), "repeat": (2,), "take": ([0, 1],), "reshape": (-1,), "swapaxes": (0, 1), "clip": (1, 2),
    "fill": (2,), "compress": ([True, False],), "partition": (0,), "argpartition": (0,), "put": ([0], 7),
    "searchsorted": (1.5,), "getfield": ("int8",), "view": ("int8",), "dot": (2.0,),
    "choose": ([1, 2],), "itemset": (0, 1), "setfield": (1, "int8"),
    "to_device": ("cpu",), "resize": (4,),
}  # fmt: skip
EXPRESSIONS = [
    "a / a", "a / 2", "a // 2", "a % 2", "a ** 2", "a ** 0.5", "2 ** a", "1 / (a + 1)", "-a", "+a", "abs(a)", "~a", "a * 1.5",
    "a * True", "a * np.float64(2)", "np.float32(2) * a", "a + a.T", "a @ a.T", "a == a", "a != 1", "a < 2", "a & a",
    "a << 1", "divmod(a, 2)", "a[0]", "a[-1]", "a[..., 0]", "a[None]", "a[::-1]", "a[:1]", "a[[0, 0]]", "a[a > 1]", "a[()]",
    "len(a)", "list(a)", "sum(a)", "a.max(0)", "a.min(axis=0)", "a.std(0)", "a.var(ddof=1)", "a.sum(axis=0, keepdims=True)",
    "a.mean()", "a.cumsum(0)", "a.argmax(0)", "(a * 2).std()", "(a + a).T.var()", "a.mean() * a", "a.sum() / 2",
    "a.sum().dtype", "a.dtype == np.float32", "a.flags.writeable", "isinstance(a, np.ndarray)",
    "isinstance(a.sum(), np.floating)", "isinstance(a, sg.Tensor)", "sg.is_tensor(a)", "type(a) is np.ndarray",
    "hasattr(a, 'relu')", "hasattr(a, 'detach')", "a.reshape(-1).shape", "a.T.strides", "a.copy() is a", "np.sin(a)",
    "np.sign(a)", "np.std(a)", "np.sort(a)", "np.unique(a)", "np.where(a > 1, a, 0)", "np.stack([a, a])", "np.add(a, 1)",
    "np.add.reduce(a)", "np.maximum(a, 2)", "np.linalg.norm(a)", "np.zeros_like(a)", "np.shape(a)", "np.asarray(a)",
    "np.array(a)", "np.percentile(a, 50)", "np.fft.fft(a)", "np.sum(a, dtype='float64')", "np.expand_dims(a, 0)",
    "np.median(a)", "str(a)", "f'{a}'", "a.tolist()", "float(a.sum())", "int(a.max())", "a.sum() > 3",
    "'y' if a.max() > 3 else 'n'", "copy.deepcopy(a)", "bytes(a)", "memoryview(a).nbytes", "a + [1.0]", "a in [1]",
    "a * np.ma.array(1.0, mask=True)", "np.asmatrix(np.ones((2, 2))) * a",
]  # fmt: skip
MEETINGS = [
    "x + a", "a + x", "x * a.std()", "x * a.max()", "x + a.sum(0)", "x / (a.mean() + 1)", "x * a.size", "x + len(a)",
    "x + a[0]", "x * (a > 1)", "x * a.astype('float64')", "x + np.sin(a + 1.0)", "x + (a * 2).var()", "x + a / (a + 1)",
    "(a.mean() + 1) ** x", "a < x", "a == x", "np.add(a, x)", "sg.exp(a * 0.5)", "sg.tensor(a) * 2", "sg.as_tensor(a) + 1",
    "sg.stack([sg.as_tensor(a), x + a])", "sg.where(a > 1, a, x)", "(x + a)[a > 1]", "sg.from_numpy(a).std(0)",
    "sg.as_tensor(a).max()", "sg.tensor(a.sum())", "x.add(a)", "sg.nn.functional.relu(a - 1)",
    "sg.tensor(a, dtype=sg.float32).mean()", "x.clone().copy_(x + a)", "x.clone().add_(a.mean())",
]  # fmt: skip


def outcome(f, *args):
    """The result, or the class of an error."""
    try:
        return f(*args)
    except Exception as error:
        return type(error).__name__ if isinstance(error, (AttributeError, TypeError, ValueError, IndexError)) else "error"


def alike(actual, expected):
    """Equal results, of the same classes: arrays, NumPy's scalars and tensors are told apart."""
    if isinstance(expected, sg.Tensor):
        assert isinstance(actual, sg.Tensor), type(actual)
        assert_close(actual, expected, 2e-5)
        return
    assert type(actual) is type(expected), f"{type(actual)}, expected {type(expected)}"
    if isinstance(expected, dict):
        actual, expected = [*actual.items()], [*expected.items()]
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected, strict=True):
            alike(a, b)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert_close(actual, expected, 2e-5)
    elif type(expected) in (int, float, str, bytes, bool):
        assert actual == pytest.approx(expected, nan_ok=True) if type(expected) is float else actual == expected


def check(f, kind, **settings):
    """Two calls with other values give eager mode's results, and leave the arrays as it does."""
    compiled = sg.compile(f, **settings)
    for turn in range(2):
        a = ARRAYS[kind]
        given = [a.copy() if not turn else a[::-1].copy() if a.ndim else a + 1 for _ in "12"]
        x = [sg.tensor(np.full(given[0].shape, 1.5, np.float32)) for _ in "12"]
        with np.errstate(all="ignore"):
            alike(outcome(compiled, given[0], x[0]), outcome(f, given[1], x[1]))
        alike(given[0], given[1])


def function(text):
    return eval(f"lambda a, x: {text}", {"np": np, "sg": sg, "copy": copy})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_and_methods(name, kind, interpreted):
    def f(a, x):
        found = getattr(a, name)
        return found(*ARGUMENTS.get(name, ())) if callable(found) else found

    if name == "flags":
        check(lambda a, x: str(a.flags), kind)
    elif name not in ("dumps", "tobytes", "base") or kind == "matrix":
        check(f, kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_numpys_meaning(text, interpreted):
    for kind in ARRAYS:
        check(function(text), kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", MEETINGS)
def test_arrays_that_meet_tensors(text):
    for kind in ("matrix", "wide", "integers", "number"):
        check(function(text), kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "text", ["a.std() * x", "(a * 2).max(0)", "a / 2", "a[0]", "x + np.sin(a)", "a.sort()", "str(a)", "a.mean()"]
)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode(mode, text):
    for kind in ("matrix", "wide", "integers"):
        check(function(text), kind, **MODES[mode])


WRITES = {
    "item": lambda a, x: a.__setitem__(0, 5), "sort": lambda a, x: a.sort(),
    "slice": lambda a, x: a.__setitem__(slice(1), x.numpy()),
    "operator": lambda a, x: a.__iadd__(2), "ufunc": lambda a, x: np.add(a, 1, out=a), "copyto": lambda a, x: np.copyto(a, 3),
    "view": lambda a, x: a.T.__setitem__(0, 7), "tensor": lambda a, x: sg.from_numpy(a).add_(1), "fill": lambda a, x: a.fill(2),
    "part": lambda a, x: sg.from_numpy(a[1:]).mul_(3),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", WRITES)
def test_writes_reach_the_callers_array(name, mode):
    def f(a, x):
        WRITES[name](a, x)
        return x * a.sum()

    for kind in ("matrix", "wide"):
        check(f, kind, **MODES[mode])


@pytest.mark.parametrize("mode", MODES)
def test_results_share_memory_as_eagerly(mode):
    f = sg.compile(lambda a: (a, a[0], a.T, a.copy(), a.reshape(-1), sg.as_tensor(a), a * 1), **MODES[mode])
    a = np.arange(4, dtype=np.float32).reshape(2, 2)
    for _ in range(3):
        same, row, turned, copied, flat, tensor, made = f(a)
        assert same is a
        assert [np.shares_memory(x, a) for x in (row, turned, copied, flat, tensor.numpy(), made)] == [1, 1, 0, 1, 1, 0]


def test_operations_of_arrays_are_one_plan():
    """Nothing that NumPy computes is a value of the trace."""

    def step(a, b, w):
        scaled = (a - a.mean(0)) / (a.std(0) + 1e-6)
        return ((scaled @ w - b[:, None]) ** 2).mean()

    f, random = sg.compile(step, on_break="error"), np.random.default_rng(0)
    w = sg.tensor(random.standard_normal((3, 1)).astype(np.float32))
    for _ in range(4):
        a, b = random.standard_normal((8, 3)).astype(np.float32), random.standard_normal(8).astype(np.float32)
        alike(f(a, b, w), step(a, b, w))
    assert f.recompiles == ["first call"]


def test_a_training_step_is_one_plan():
    w = sg.tensor(np.ones((3, 1), np.float32), requires_grad=True)

    @sg.compile(on_break="error")
    def step(x, y):
        loss = ((x @ w - y) ** 2).mean()
        w.grad = None
        loss.backward()
        with sg.no_grad():
            w.sub_(0.1 * w.grad)
        return loss

    random = np.random.default_rng(0)
    for _ in range(5):
        step(random.standard_normal((4, 3)).astype(np.float32), random.standard_normal((4, 1)).astype(np.float32))
    assert step.recompiles == ["first call"]


def test_arrays_and_tensors_take_traces_of_their_own():
    f = sg.compile(lambda a: a.std())
    a = np.array([1.0, 2.0, 4.0], np.float32)
    for _ in range(3):
        alike(f(a), a.std())
        alike(f(sg.tensor(a)), sg.tensor(a).std())
    assert f.recompiles == ["first call", "a: a tensor instead of an array"]


def test_other_extents_serve_arrays():
    f = sg.compile(lambda a: a.std() + a.shape[0] + (a / a.size).sum(0), on_break="error")
    for n in (3, 4, 5, 6):
        a = np.random.default_rng(n).standard_normal((n, 2)).astype(np.float32)
        alike(f(a), a.std() + n + (a / a.size).sum(0))
    assert f.traces == 2


@dataclasses.dataclass
class Pair:
    left: np.ndarray
    right: np.ndarray


@pytest.mark.parametrize("mode", MODES)
def test_arrays_in_containers(mode):
    def f(given, pair, x):
        left, right = pair
        return x * given["a"].std() + left.max(0) * right[0].var()

    compiled, random = sg.compile(f, **MODES[mode]), np.random.default_rng(0)
    for _ in range(3):
        a, b, c = (random.standard_normal((2, 3)).astype(np.float32) for _ in range(3))
        alike(compiled({"a": a}, [b, c], sg.ones(3)), f({"a": a}, [b, c], sg.ones(3)))


@pytest.mark.parametrize("mode", MODES)
def test_what_is_kept_is_an_array(mode):
    kept = {}

    def f(a, x):
        kept["mean"], kept["row"] = a.mean(), a[0] * 2
        return x * kept["mean"]

    compiled = sg.compile(f, **MODES[mode])
    for turn in range(3):
        a = np.arange(6, dtype=np.float32).reshape(2, 3) + turn
        compiled(a, sg.ones(2))
        alike(kept, {"mean": a.mean(), "row": a[0] * 2})


def test_what_needs_the_array_is_told():
    with pytest.raises(TraceError, match=r"Python can't have x\.tobytes of an array before the compiled function runs"):
        sg.compile(lambda a: a.tobytes(), on_break="error")(np.ones(2))


def test_loops_over_batches_stack_arrays():
    f = sg.compile(lambda a: (a.sum(), a * 2))
    batches = np.arange(12, dtype=np.float32).reshape(4, 3)
    total, doubled = f.loop(batches)
    alike((total, doubled), (batches.sum(1), batches * 2))
    alike(f.loop([batches[0], batches[1]]), [(batches[0].sum(), batches[0] * 2), (batches[1].sum(), batches[1] * 2)])


@pytest.mark.parametrize("mode", MODES)
def test_constructors_of_a_dtype_copy_arrays(mode):
    """`FloatTensor(array)` of an argument, of an element of it, and of numbers."""

    def step(a, w):
        x, y = sg.FloatTensor(a), sg.FloatTensor([a[0], 2.0])
        return (x * w).sum(), (x + y) * sg.LongTensor(np.array([1, 2], np.int32))

    w = sg.tensor([1.0, 2.0], requires_grad=True)
    compiled = sg.compile(step, **MODES[mode])
    for a in (np.array([1.0, 2.0]), np.array([3.0, 5.0])):
        for expected, actual in zip(step(a, w), compiled(a, w), strict=True):
            assert actual.dtype == expected.dtype == sg.float32
            assert actual.tolist() == expected.tolist()
