"""PyTorch's spelling: namespaces, dtypes, devices, constructors, words for arguments, what names mean, texts."""

from __future__ import annotations

import importlib
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as torch
from staticgrad import linalg, random, special
from staticgrad.autograd import Variable
from tests.helpers import assert_close, rng_of

X = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], np.float32)


def x() -> Any:
    return torch.tensor(X)


# dtypes and constructors ------------------------------------------------------------------------------------------------

MADE: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "Tensor of data": (lambda: torch.Tensor([1, 2]), [1, 2], "float32"),
    "Tensor of an array": (lambda: torch.Tensor(np.arange(2)), [0, 1], "float32"),
    "Tensor of sizes": (lambda: torch.Tensor(2, 1).zero_(), [[0], [0]], "float32"),
    "FloatTensor": (lambda: torch.FloatTensor([1]), [1], "float32"),
    "LongTensor": (lambda: torch.LongTensor([[1]]), [[1]], "int64"),
    "DoubleTensor": (lambda: torch.DoubleTensor([1]), [1], "float64"),
    "BoolTensor": (lambda: torch.BoolTensor([True]), [True], "bool"),
    "ByteTensor": (lambda: torch.ByteTensor([3]), [3], "uint8"),
    "float is float64": (lambda: torch.tensor([1], dtype=float), [1], "float64"),
    "torch.float": (lambda: torch.tensor([1], dtype=torch.float), [1], "float32"),
    "torch.int": (lambda: torch.tensor([1], dtype=torch.int), [1], "int32"),
    "torch.long": (lambda: torch.zeros(1, dtype=torch.long), [0], "int64"),
    "a name": (lambda: x()[0].type("torch.IntTensor"), [3, 1, 2], "int32"),
    "a class": (lambda: x()[0].type(torch.LongTensor), [3, 1, 2], "int64"),
    "long": (lambda: x()[0].long(), [3, 1, 2], "int64"),
    "byte": (lambda: x()[0].byte(), [3, 1, 2], "uint8"),
    "bool": (lambda: x()[0].bool(), [True, True, True], "bool"),
    "to a device and dtype": (lambda: x()[0].to("cpu", torch.double), [3, 1, 2], "float64"),
    "to another tensor": (lambda: x()[0].to(torch.ones(1, dtype=torch.int)), [3, 1, 2], "int32"),
    "new_zeros": (lambda: x().double().new_zeros(1, 2), [[0, 0]], "float64"),
    "new_full": (lambda: x().new_full((2,), 7), [7, 7], "float32"),
    "new_tensor": (lambda: x().new_tensor([1]), [1], "float32"),
    "full_like": (lambda: torch.full_like(torch.ones(2), 3), [3, 3], "float32"),
    "full by name": (lambda: torch.full(size=(1,), fill_value=2.0), [2], "float32"),
    "arange by name": (lambda: torch.arange(start=1, end=5, step=2), [1, 3], "int64"),
    "linspace": (lambda: torch.linspace(0, 1, steps=3), [0, 0.5, 1], "float32"),
    "logspace": (lambda: torch.logspace(0, 2, 3), [1, 10, 100], "float32"),
    "tril_indices": (lambda: torch.tril_indices(2, 2), [[0, 1, 1], [0, 0, 1]], "int64"),
    "device=": (lambda: torch.zeros(1, device="cpu"), [0], "float32"),
    "Variable": (lambda: Variable(torch.ones(1)), [1], "float32"),
}


@pytest.mark.parametrize("name", MADE)
def test_constructors(name: str):
    make, values, dtype = MADE[name]
    assert_close(make().detach().numpy(), np.array(values, dtype), 1e-6)


def test_kinds_of_tensors():
    assert isinstance(torch.ones(1), torch.FloatTensor)
    assert not isinstance(torch.ones(1), torch.LongTensor)
    assert torch.ones(1).type() == "torch.FloatTensor"
    assert torch.Tensor().shape == (0,)
    same = torch.ones(1)
    assert torch.Tensor(same) is same
    assert Variable(same, requires_grad=True).requires_grad
    with pytest.raises(torch.DTypeError, match="data must be a sequence"):
        torch.Tensor(1.5)
    with pytest.raises(torch.DTypeError, match="expected a tensor of dtype float32, got int64"):
        torch.Tensor(torch.arange(2))


def test_devices():
    cpu = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert cpu == torch.device("cpu") == x().device
    assert (str(cpu), repr(torch.device("cuda", 1))) == ("cpu", "device(type='cuda', index=1)")
    assert x().to(cpu).shape == x().cpu().shape
    assert not x().is_cuda
    assert not torch.backends.cudnn.is_available()
    kept = x()
    assert kept.to("cpu") is kept
    assert kept.to("cpu", copy=True) is not kept
    for use in (
        lambda: x().cuda(), lambda: x().to("cuda:0"), lambda: torch.zeros(2, device="cuda"),
        lambda: torch.randn(2, device="mps"),
    ):  # fmt: skip
        with pytest.raises(torch.DeviceError, match="staticgrad computes on the CPU"):
            use()
    with pytest.raises(torch.ArgumentError, match="device type at start of device string: gpu"):
        torch.device("gpu")


def test_seeds():
    torch.manual_seed(3)
    state = random.get_rng_state()
    first = torch.randn(4).tolist()
    random.set_rng_state(state)
    assert torch.randn(4).tolist() == first
    assert torch.initial_seed() == 3
    source = torch.Generator().manual_seed(3)
    assert torch.randn(4, generator=source).tolist() == first
    assert torch.randint(0, 5, (3,), generator=source).shape == (3,)
    assert torch.randint(5, (3,)).shape == (3,)


def test_draws_have_their_distributions():
    torch.manual_seed(0)
    n = 20_000
    for drawn, mean, deviation in (
        (torch.normal(2.0, 3.0, (n,)), 2, 3),
        (torch.bernoulli(torch.full((n,), 0.3)), 0.3, math.sqrt(0.21)),
        (torch.poisson(torch.full((n,), 4.0)), 4, 2),
        (torch.empty(n).exponential_(2.0), 0.5, 0.5),
        (torch.empty(n).geometric_(0.5), 2, math.sqrt(2)),
        (torch.empty(n).uniform_(-1, 1), 0, 1 / math.sqrt(3)),
        (torch.empty(n).log_normal_(0, 0.5), math.exp(0.125), math.sqrt((math.exp(0.25) - 1) * math.exp(0.25))),
        (torch.multinomial(torch.tensor([1.0, 0.0, 3.0]), n, replacement=True).float(), 1.5, math.sqrt(0.75)),
    ):
        values = drawn.numpy()
        assert abs(values.mean() - mean) < 5 * deviation / math.sqrt(n)
        assert abs(values.std() / deviation - 1) < 0.05
    assert sorted(torch.multinomial(torch.ones(4), 4).tolist()) == [0, 1, 2, 3]


# what names mean --------------------------------------------------------------------------------------------------------

MEANT: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], Any]]] = {
    "var": (lambda x: x.var(1), lambda a: a.var(1, ddof=1)),
    "std of all": (lambda x: torch.std(x), lambda a: a.std(ddof=1)),
    "unbiased=False": (lambda x: x.var(unbiased=False), lambda a: a.var()),
    "unbiased by position": (lambda x: x.var(0, False), lambda a: a.var(0)),
    "correction": (lambda x: x.std(dim=1, correction=2, keepdim=True), lambda a: a.std(1, ddof=2, keepdims=True)),
    "ddof": (lambda x: x.var(axis=1, ddof=0), lambda a: a.var(1)),
    "numpy.var": (lambda x: np.var(x), lambda a: a.var()),
    "numpy.max": (lambda x: np.max(x, axis=0), lambda a: a.max(0)),
    "max values": (lambda x: x.max(dim=1).values, lambda a: a.max(1)),
    "max indices": (lambda x: torch.max(x, 1, keepdim=True)[1], lambda a: a.argmax(1)[:, None]),
    "max of two": (lambda x: torch.max(x, x * 0 + 2), lambda a: np.maximum(a, 2)),
    "max by axis": (lambda x: x.max(axis=1)[0], lambda a: a.max(1)),
    "amax": (lambda x: x.amax((0, 1)), lambda a: a.max()),
    "median": (lambda x: x.median(), lambda a: np.sort(a.reshape(-1))[2]),
    "sort": (lambda x: x.sort(1, True).indices, lambda a: np.argsort(-a, 1)),
    "topk": (lambda x: x.topk(2).values, lambda a: -np.sort(-a, 1)[:, :2]),
    "split sizes": (lambda x: x.split([1, 2], 1)[1], lambda a: a[:, 1:]),
    "split size": (lambda x: torch.split(x, 2, dim=1)[1], lambda a: a[:, 2:]),
    "numpy.split": (lambda x: np.split(x, 3, axis=1)[1], lambda a: a[:, 1:2]),
    "norm": (lambda x: x.norm(1, dim=0), lambda a: np.abs(a).sum(0)),
    "norm inf": (lambda x: torch.norm(x, p=math.inf), lambda a: np.abs(a).max()),
    "sum dtype": (lambda x: x.sum(dim=0, keepdim=True, dtype=torch.double), lambda a: a.sum(0, np.float64, keepdims=True)),
    "alpha": (lambda x: torch.add(x, x, alpha=2) - x.sub(x, alpha=3), lambda a: 3 * a - (a - 3 * a)),
    "rounding_mode": (lambda x: torch.div(-x, 2, rounding_mode="trunc"), lambda a: np.trunc(-a / 2)),
    "take": (lambda x: x.take(torch.tensor([5, 0])), lambda a: a.take([5, 0])),
    "squeeze of another extent": (lambda x: x.squeeze(0), lambda a: a),
    "flip": (lambda x: x.flip(0, 1), lambda a: a[::-1, ::-1]),
    "flatten": (lambda x: x[None].flatten(0, 1), lambda a: a),
    "input and other": (lambda x: torch.mul(input=x, other=x), lambda a: a * a),
    "dims": (lambda x: torch.permute(input=x, dims=(1, 0)), lambda a: a.T),
    "dim0 and dim1": (lambda x: x.transpose(dim0=0, dim1=1), lambda a: a.T),
    "shape": (lambda x: torch.reshape(input=x, shape=(3, 2)) + x.reshape(shape=(3, 2)), lambda a: 2 * a.reshape(3, 2)),
    "size": (lambda x: x[0].expand(size=(2, -1)) + torch.broadcast_to(x[0], size=(2, 3)), lambda a: 2 * a[[0, 0]]),
    "dims of tile": (lambda x: torch.tile(input=x, dims=(2,)), lambda a: np.tile(a, 2)),
    "tensors": (lambda x: torch.stack(tensors=(x, x), dim=1) + torch.dstack(tensors=[x, x]).mT,
                lambda a: 2 * np.stack([a, a], 1)),
    "vec2 and tensor": (lambda x: torch.outer(x[0], vec2=x[1]) + torch.dot(input=x[0], tensor=x[1]),
                        lambda a: np.outer(a[0], a[1]) + a[0] @ a[1]),
    "matmul by name": (lambda x: torch.matmul(input=x, other=x.T), lambda a: a @ a.T),
    "pow by name": (lambda x: torch.pow(input=x, exponent=2) + torch.rsqrt(input=x + 1), lambda a: a**2 + 1 / np.sqrt(a + 1)),
    "remainder by name": (lambda x: torch.remainder(input=x, other=3), lambda a: a % 3),
    "sections": (lambda x: torch.hsplit(x, sections=3)[1], lambda a: a[:, 1:2]),
    "sizes": (lambda x: torch.split(x, split_size_or_sections=2, dim=1)[1], lambda a: a[:, 2:]),
    "A": (lambda x: linalg.det(input=x @ x.T) - linalg.det(A=x @ x.T), lambda a: 0),
    "src": (lambda x: torch.empty(2, 3).copy_(src=x, non_blocking=True).contiguous(memory_format=None), lambda a: a),
    "force": (lambda x: torch.from_numpy(x.clone().requires_grad_(requires_grad=True).numpy(force=True)), lambda a: a),
    "all of bytes": (lambda x: x.byte().all(1) + x.byte().any(1), lambda a: [2, 1]),
    "vander": (lambda x: torch.vander(x[0].to(torch.int8), N=9), lambda a: np.vander(a[0].astype(int), 9)),
    "index_put": (lambda x: x.index_put((x > 2,), torch.tensor(7.0)), lambda a: np.where(a > 2, 7, a)),
    "cond": (lambda x: torch.cond(x.sum() > 0, lambda y, z: y + z, lambda y, z: y, (x, x)), lambda a: 2 * a),
    "cat": (lambda x: torch.cat((x, x), dim=-1), lambda a: np.concatenate([a, a], -1)),
    "round": (lambda x: (x / 7).round(decimals=1), lambda a: np.round(a / 7, 1)),
    "chained": (lambda x: x.clamp_min(2).mm(x.t()).trace(), lambda a: np.trace(np.maximum(a, 2) @ a.T)),
    "bits": (lambda x: (x.long() & 3) | 4, lambda a: (a.astype(int) & 3) | 4),
    "linalg": (lambda x: linalg.vector_norm(x, 3, dim=1), lambda a: (np.abs(a) ** 3).sum(1) ** (1 / 3)),
    "special": (lambda x: special.expit(x), lambda a: 1 / (1 + np.exp(-a))),
    "in place": (
        lambda x: x.clone().addcmul_(x, x).index_fill_(1, torch.tensor([0]), -1),
        lambda a: np.concatenate([a[:, :1] * 0 - 1, (a + a * a)[:, 1:]], 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MEANT)
def test_names_mean_what_they_mean_in_pytorch(name: str):
    fn, reference = MEANT[name]
    assert_close(fn(x()).numpy(), np.asarray(reference(X)).astype(fn(x()).dtype), 1e-5)


@pytest.mark.parametrize("name", ["max", "min", "sort", "topk 2", "kthvalue 2", "median", "mode", "cummax", "cummin"])
def test_pairs_have_names_in_every_mode(name: str):
    name, *k = name.split()
    values = rng_of(name).standard_normal((3, 5))

    def program(x: Any) -> Any:
        pair = getattr(x, name)(*map(int, k), dim=1)
        return pair, (pair.values * 2).sum()

    expected, total = program(torch.tensor(values))
    assert (type(expected).__name__, expected._fields) == (name, ("values", "indices"))
    found, _ = torch.compile(program)(torch.tensor(values))
    with torch.Graph().as_default():
        fed = torch.placeholder(torch.float64, [3, 5])
        with torch.Session() as session:
            run = session.run(list(program(fed)[0]), {fed: values})
    for other in (found, run):
        for a, b in zip(other, expected, strict=True):
            assert_close(np.asarray(a), b.numpy())
    leaf = torch.tensor(values, requires_grad=True)
    program(leaf)[1].backward()
    assert leaf.grad.sum().item() == pytest.approx(2 * expected.values.numel())


# refusals ---------------------------------------------------------------------------------------------------------------

REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: x().fill_(1e50), torch.DTypeError, "fill_: value 1e+50 cannot be converted to float32 without overflow"),
    (lambda: x().transpose(dim0=1), torch.ArgumentError, "transpose: expected two axes, got (1,)"),
    (lambda: x().max((0, 1)), torch.ArgumentError, "max(): dim has to be an integer, got (0, 1)"),
    (lambda: x().split([1, 1], 1), torch.ArgumentError, "split_with_sizes expects split_sizes to sum exactly to 3"),
    (lambda: x().chalf(), torch.DTypeError, "chalf(): dtype complex32 is not supported"),
    (lambda: torch.add(torch.arange(2), 1, alpha=0.5), torch.DTypeError, "add: for integral input tensors"),
    (lambda: torch.var(x(), unbiased=True, correction=0), torch.ArgumentError, "var: give either `unbiased` or `correction`"),
    (lambda: linalg.inv(torch.zeros(2, 2)), torch.LinAlgError, "linalg_inv: Singular matrix"),
    (lambda: linalg.inv(torch.ones(2, 3)), torch.ShapeError, "linalg.inv: A must be batches of square matrices"),
]


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_refusals_say_why(row: int):
    call, error, text = REFUSED[row]
    with pytest.raises(error) as caught:
        call()
    assert caught.value.summary.startswith(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lstm", "; use nn.GRU, nn.LSTM or nn.RNN, which hold the weights"),
        ("get_file_path", "; PyTorch has it, this library does not yet"),
        ("logsumexpp", "; the nearest name is 'logsumexp'"),
        ("nothing_like_it", ""),
    ],
)
def test_missing_names(name: str, text: str):
    with pytest.raises(AttributeError) as caught:
        getattr(torch, name)
    start = f"module 'staticgrad' has no attribute {name!r}"
    assert str(caught.value).startswith(start + text)
    assert text or str(caught.value) == start


@pytest.mark.parametrize("name", ["float8_e5m2", "complex32"])
def test_dtypes_that_there_are_not_can_be_named(name: str):
    dtype = {"float32": torch.float32, name: getattr(torch, name)}[name]
    with pytest.raises(torch.DTypeError, match=f"dtype {dtype.name} is not supported"):
        torch.zeros(2).to(dtype)
    with pytest.raises(torch.DTypeError, match="use float16, float32 or float64"):
        torch.zeros(2, dtype=dtype)


@pytest.mark.parametrize(
    ("space", "name", "text"),
    [
        ("optim", "swap_in_optimizer_params_and_state", "; call opt.load_state_dict(state)"),
        ("optim", "AdaGrad", "; the nearest name is 'Adagrad'"),
        ("utils.data", "DFIterDataPipe", "; write a Dataset or IterableDataset, and a DataLoader"),
        ("func", "rearrange", "; use permute and reshape"),
        ("linalg", "sovle", "; the nearest name is 'solve'"),
        ("special", "erff", "; the nearest name is 'erf'"),
        ("fft", "fftshft", "; the nearest name is 'fftshift'"),
        ("distributions", "Norml", "; the nearest name is 'Normal'"),
        ("nn.init", "xavier_unifrm_", "; the nearest name is 'xavier_uniform_'"),
        ("nn.utils", "clip_grad_nrm_", "; the nearest name is 'clip_grad_norm_'"),
        ("optim.lr_scheduler", "StpLR", "; the nearest name is 'StepLR'"),
        ("autograd", "bakward", "; the nearest name is 'backward'"),
    ],
)
def test_missing_names_of_other_namespaces(space: str, name: str, text: str):
    module = importlib.import_module(f"staticgrad.{space}")
    with pytest.raises(AttributeError, match=re.escape(f"module 'staticgrad.{space}' has no attribute {name!r}{text}")):
        getattr(module, name)


ABSENT = [
    ("to_sparse_csr", "there is one sparse layout: use x.to_sparse()"),
    ("symeig", "PyTorch removed it: use sg.linalg.eigh(x)"),
    ("dequantize", "tensors are not quantized"),
]


@pytest.mark.parametrize("make", [lambda: torch.ones(2), lambda: torch.placeholder(torch.float32, (2,))])
def test_missing_attributes_of_tensors(make: Any):
    x = make()
    for name, text in ABSENT:
        with pytest.raises(AttributeError, match=re.escape(f"object has no attribute {name!r}; {text}")):
            getattr(x, name)
        assert not hasattr(x, name)
        assert name not in dir(x)


def test_python_compares_a_misspelt_attribute_with_all_names():
    assert len(dir(torch.ones(2))) < 740, "Python looks for the nearest of at most 750 names"


# texts ------------------------------------------------------------------------------------------------------------------

TEXTS = [
    (3.2e-6, "tensor(3.2000e-06)"),
    ([1.0, 2.5], "tensor([1.0000, 2.5000])"),
    ([0.5, math.nan, math.inf], "tensor([0.5000,    nan,    inf])"),
    ([True, False], "tensor([ True, False])"),
    ([[1], [-20]], "tensor([[  1],\n        [-20]])"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS)
def test_texts(value: Any, text: str):
    assert repr(torch.tensor(value)) == text


def test_notes_begin_a_line_where_pytorch_counts_one_as_full():
    x = torch.zeros(2, 0, 2, dtype=torch.float64, requires_grad=True)[..., None]
    assert repr(x) == "tensor([], size=(2, 0, 2, 1), dtype=torch.float64,\n       grad_fn=<UnsqueezeBackward0>)"


def test_numbers_are_formatted_as_numbers():
    assert f"{torch.tensor(3)} {torch.tensor(0.5, requires_grad=True)} {torch.tensor(2.0):.2f}" == "3 0.5 2.00"
    assert f"{torch.tensor([3])}" == "tensor([3])"


def test_print_options():
    try:
        torch.set_printoptions(precision=2, sci_mode=True)
        assert repr(torch.tensor([1.5])) == "tensor([1.50e+00])"
    finally:
        torch.set_printoptions(profile="default")
    assert repr(torch.tensor([1.5])) == "tensor([1.5000])"


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (0, 3), (2, 0), (4, 3, 2), (30,), (7, 50), (1200,), (50, 60)])
def test_texts_are_those_of_pytorch(shape: tuple[int, ...]):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pytest.importorskip("torch")
    rng = rng_of(str(shape))
    base = np.asarray(rng.standard_normal(shape))
    rows = [base * scale for scale in (1, 1e-5, 1e-3, 1e3, 1e6)]
    rows += [np.round(base * 100), np.where(base > 1, np.inf, np.where(base < -1, np.nan, base))]
    for row in rows:
        for dtype in ("float32", "float64", "int64", "bool"):
            if dtype[0] == "f" or np.isfinite(row).all():
                array = row.astype(dtype)
                assert repr(torch.tensor(array)) == repr(theirs.tensor(array))
