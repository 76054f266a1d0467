"""PyTorch as judge of modules: the same state dict, the same results, gradients and buffers. `pytest -m oracle`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn
from staticgrad.eager import Tensor
from tests.helpers import rng_of

pytestmark = pytest.mark.oracle


class Row(NamedTuple):
    """make(library's nn) -> module; shapes of the tensors that `call(module, *tensors)` gets. `extra`: arrays by name."""

    name: str
    make: Callable[[Any], Any]
    shapes: tuple[tuple[int, ...], ...]
    call: Callable[..., Any] = lambda module, *xs: module(*xs)
    train: bool = True


CAUSAL = np.triu(np.ones((5, 5), bool), 1)
SOME = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]], bool)
ADDED = np.where(CAUSAL, -np.inf, 0.25)


def lenet(n: Any) -> Any:
    return n.Sequential(
        n.Conv2d(1, 4, 3), n.BatchNorm2d(4), n.ReLU(), n.MaxPool2d(2), n.Conv2d(4, 6, 3, padding=1, groups=2), n.ReLU(),
        n.AdaptiveAvgPool2d(2), n.Flatten(), n.Linear(24, 3),
    )  # fmt: skip


def unrolled(module: Any, *xs: Any) -> Any:
    """Outputs and states of a recurrent layer, from a first state where one is given."""
    x, *hx = xs
    y, state = module(x, tuple(hx) if len(hx) > 1 else hx[0]) if hx else module(x)
    return [y, *(state if isinstance(state, tuple) else [state])]


def attend(**named: Any) -> Callable[..., Any]:
    """Masks become the tensors of the library that runs."""

    def call(module: Any, *xs: Any) -> Any:
        same = xs * 3 if len(xs) == 1 else xs
        found = module(*same, **{k: like(v, xs[0]) for k, v in named.items()})
        return [part for part in found if part is not None]

    return call


def encode(**named: Any) -> Callable[..., Any]:
    return lambda module, x: module(x, **{k: like(v, x) for k, v in named.items()})


def numbers(n: Any, values: list[float]) -> Any:
    """A tensor of the library whose `nn` it is."""
    if n is nn:
        return sg.tensor(values)
    import torch

    return torch.tensor(values)


def against(target: np.ndarray) -> Callable[..., Any]:
    """A loss of outputs and a target."""
    return lambda module, *xs: module(*xs, like(target, xs[0]))


def like(value: Any, x: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if type(x).__module__.startswith("torch"):
        import torch

        return torch.tensor(value, dtype=x.dtype if value.dtype.kind == "f" else None)
    return value


ROWS = [
    Row("conv1d", lambda n: n.Conv1d(4, 6, 3, 2, 1, 1, 2), ((2, 4, 9),)),
    Row("conv1d same", lambda n: n.Conv1d(2, 3, 5, padding="same", dilation=2), ((2, 2, 9),)),
    Row("conv2d", lambda n: n.Conv2d(3, 17, (3, 2), (2, 1), (1, 0), (1, 2)), ((2, 3, 8, 9),)),
    Row("conv2d depthwise", lambda n: n.Conv2d(4, 8, 3, padding=1, groups=4, bias=False), ((2, 4, 6, 5),)),
    Row("conv1d reflected", lambda n: n.Conv1d(2, 3, 5, 2, 3, padding_mode="reflect"), ((2, 2, 9),)),
    Row("conv2d replicated", lambda n: n.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="replicate"), ((2, 2, 5, 6),)),
    Row("conv2d circular", lambda n: n.Conv2d(2, 3, (2, 4), padding="same", padding_mode="circular"), ((2, 5, 6),)),
    Row("conv2d one image", lambda n: n.Conv2d(3, 4, 3), ((3, 6, 5),)),
    Row("conv transposed", lambda n: n.ConvTranspose2d(4, 6, 3, 2, 1, 1, 2), ((2, 4, 5, 4),)),
    Row("conv transposed dilated", lambda n: n.ConvTranspose2d(2, 3, (2, 3), 3, 0, 2, dilation=2), ((2, 2, 3, 4),)),
    Row("max pool", lambda n: n.MaxPool2d(3, 2, 1, 2), ((2, 3, 9, 8),)),
    Row("max pool, one more", lambda n: n.MaxPool2d(2, ceil_mode=True), ((2, 3, 9, 11),)),
    Row("max pool, one more, spread", lambda n: n.MaxPool2d(3, 3, 1, 2, ceil_mode=True), ((2, 3, 9, 8),)),
    Row("avg pool, one more", lambda n: n.AvgPool2d(3, 2, 1, True), ((2, 3, 8, 10),)),
    Row("avg pool 1d, one more", lambda n: n.AvgPool1d(2, 3, 1, True, False), ((2, 3, 9),)),
    Row("max pool 1d", lambda n: n.MaxPool1d(2), ((2, 3, 9),)),
    Row("avg pool", lambda n: n.AvgPool2d(3, 2, 1), ((2, 3, 9, 8),)),
    Row("avg pool without zeros", lambda n: n.AvgPool2d(3, 2, 1, count_include_pad=False), ((2, 3, 9, 8),)),
    Row("avg pool 1d", lambda n: n.AvgPool1d(3, 2, 1), ((2, 3, 9),)),
    Row("adaptive pool", lambda n: n.AdaptiveAvgPool2d((3, None)), ((2, 3, 7, 5),)),
    Row("batch norm", lambda n: n.BatchNorm2d(3), ((4, 3, 5, 2),)),
    Row("batch norm 1d", lambda n: n.BatchNorm1d(3, momentum=None), ((6, 3),)),
    Row("batch norm 1d of sequences", lambda n: n.BatchNorm1d(3, affine=False), ((2, 3, 4),)),
    Row("batch norm evaluated", lambda n: n.BatchNorm2d(3), ((4, 3, 5, 2),), train=False),
    Row("batch norm untracked", lambda n: n.BatchNorm2d(3, track_running_stats=False), ((4, 3, 5, 2),), train=False),
    Row("group norm", lambda n: n.GroupNorm(2, 6), ((3, 6, 4, 2),)),
    Row("group norm of vectors", lambda n: n.GroupNorm(3, 6, affine=False), ((3, 6),)),
    Row("rms norm", lambda n: n.RMSNorm((4, 3)), ((2, 4, 3),)),
    Row("rms norm eps", lambda n: n.RMSNorm(5, eps=0.1), ((2, 4, 5),)),
    Row("layer norm without bias", lambda n: n.LayerNorm(5, bias=False), ((2, 4, 5),)),
    Row("attention", lambda n: n.MultiheadAttention(6, 3), ((5, 2, 6),), attend()),
    Row("attention batch first", lambda n: n.MultiheadAttention(6, 2, batch_first=True), ((2, 5, 6),),
        attend(average_attn_weights=False)),
    Row("attention causal", lambda n: n.MultiheadAttention(6, 3, batch_first=True), ((2, 5, 6),),
        attend(attn_mask=CAUSAL, need_weights=False, is_causal=True)),
    Row("attention added", lambda n: n.MultiheadAttention(6, 3, bias=False), ((5, 2, 6),), attend(attn_mask=ADDED)),
    Row("attention padded", lambda n: n.MultiheadAttention(6, 3), ((5, 2, 6),),
        attend(key_padding_mask=SOME, attn_mask=CAUSAL)),
    Row("attention across", lambda n: n.MultiheadAttention(6, 3, kdim=4, vdim=5, batch_first=True),
        ((2, 3, 6), (2, 5, 4), (2, 5, 5)), attend()),
    Row("attention across same sizes", lambda n: n.MultiheadAttention(6, 3), ((3, 2, 6), (5, 2, 6), (5, 2, 6)), attend()),
    Row("attention unbatched", lambda n: n.MultiheadAttention(6, 3), ((5, 6),), attend()),
    Row("encoder", lambda n: n.TransformerEncoderLayer(6, 3, 8, 0.0), ((5, 2, 6),)),
    Row("encoder norm first", lambda n: n.TransformerEncoderLayer(6, 2, 8, 0.0, "gelu", 1e-3, True, True), ((2, 5, 6),),
        encode(src_mask=CAUSAL, is_causal=True)),
    Row("encoder padded", lambda n: n.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True, bias=False), ((2, 5, 6),),
        encode(src_key_padding_mask=SOME)),
    Row("encoder evaluated", lambda n: n.TransformerEncoderLayer(6, 2, 8, 0.5), ((5, 2, 6),), train=False),
    Row("rnn", lambda n: n.RNN(3, 4), ((5, 2, 3),), unrolled),
    Row("rnn relu", lambda n: n.RNN(3, 4, 2, "relu", bias=False), ((5, 2, 3), (2, 2, 4)), unrolled),
    Row("lstm", lambda n: n.LSTM(3, 4), ((5, 2, 3), (1, 2, 4), (1, 2, 4)), unrolled),
    Row("lstm both ways", lambda n: n.LSTM(3, 4, 2, batch_first=True, bidirectional=True), ((2, 5, 3),), unrolled),
    Row("lstm unbatched", lambda n: n.LSTM(3, 4), ((5, 3), (1, 4), (1, 4)), unrolled),
    Row("lstm projected", lambda n: n.LSTM(3, 5, 2, proj_size=2), ((5, 2, 3), (2, 2, 2), (2, 2, 5)), unrolled),
    Row("lstm projected both ways", lambda n: n.LSTM(3, 5, 2, True, True, 0.0, True, 4), ((2, 4, 3),), unrolled),
    Row("gru", lambda n: n.GRU(3, 4, 2), ((5, 2, 3), (2, 2, 4)), unrolled),
    Row("gru both ways", lambda n: n.GRU(3, 4, bidirectional=True, bias=False), ((5, 2, 3),), unrolled),
    Row("flatten", lambda n: n.Flatten(1, 2), ((2, 3, 4, 5),)),
    Row("conv3d", lambda n: n.Conv3d(2, 4, (2, 3, 2), 2, 1, 1, 2), ((2, 2, 4, 5, 4),)),
    Row("conv3d around", lambda n: n.Conv3d(2, 3, 3, padding=1, padding_mode="circular"), ((2, 3, 4, 3),)),
    Row("conv1d of one transposed", lambda n: n.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2), ((4, 5),)),
    Row("conv3d transposed", lambda n: n.ConvTranspose3d(2, 4, (2, 3, 2), 2, 1, (1, 0, 1), 2), ((2, 2, 3, 2, 3),)),
    Row("conv transposed to a size", lambda n: n.ConvTranspose2d(2, 3, 3, 2, 1), ((2, 2, 4, 5),), lambda m, x: m(x, (8, 9))),
    Row("unfold", lambda n: n.Unfold((2, 3), 1, 1, 2), ((2, 2, 5, 6),)),
    Row("fold", lambda n: n.Fold((4, 5), 2, padding=1), ((2, 8, 30),)),
    Row("max pool 3d", lambda n: n.MaxPool3d(2, 1, ceil_mode=True), ((2, 2, 3, 4, 3),)),
    Row("avg pool 3d", lambda n: n.AvgPool3d(2, 2, 1, True, False), ((2, 2, 3, 4, 3),)),
    Row("avg pool divided", lambda n: n.AvgPool2d(2, divisor_override=3), ((2, 2, 4, 5),)),
    Row("lp pool", lambda n: n.LPPool2d(2, (3, 2), 2), ((2, 2, 6, 5),)),
    Row("lp pool 1d", lambda n: n.LPPool1d(2, 3, ceil_mode=True), ((2, 2, 7),)),
    Row("adaptive pool 1d", lambda n: n.AdaptiveAvgPool1d(4), ((2, 3, 7),)),
    Row("adaptive pool 3d", lambda n: n.AdaptiveAvgPool3d((2, None, 3)), ((2, 2, 3, 2, 5),)),
    Row("adaptive max pool", lambda n: n.AdaptiveMaxPool2d((3, 2)), ((2, 2, 7, 5),)),
    Row("instance norm", lambda n: n.InstanceNorm2d(3, affine=True, track_running_stats=True), ((4, 3, 5, 2),)),
    Row("instance norm of one", lambda n: n.InstanceNorm1d(3), ((3, 5),)),
    Row("instance norm evaluated", lambda n: n.InstanceNorm1d(3, 1e-3, 0.2, True, True), ((2, 3, 5),), train=False),
    Row("batch norm 3d without bias", lambda n: n.BatchNorm3d(2, bias=False), ((2, 2, 2, 3, 2),)),
    Row("group norm without bias", lambda n: n.GroupNorm(2, 4, bias=False), ((2, 4, 3),)),
    Row("local response norm", lambda n: n.LocalResponseNorm(3, 0.1, k=2.0), ((2, 4, 3, 2),)),
    Row("cross map norm", lambda n: n.CrossMapLRN2d(4, 0.1, k=2.0), ((2, 2, 3, 2),)),
    Row("upsample", lambda n: n.Upsample((4, 7), mode="bicubic"), ((2, 2, 3, 5),)),
    Row("upsample by", lambda n: n.Upsample(scale_factor=2, mode="trilinear"), ((1, 2, 2, 3, 2),)),
    Row("pixel shuffle", lambda n: n.PixelShuffle(2), ((2, 4, 3, 2),)),
    Row("distance", lambda n: n.PairwiseDistance(1.5, keepdim=True), ((3, 4), (3, 4))),
    Row("cosine similarity", lambda n: n.CosineSimilarity(0), ((3, 4), (3, 4))),
    Row("bilinear", lambda n: n.Bilinear(2, 3, 4), ((5, 2), (5, 3))),
    Row("dropouts evaluated", lambda n: n.Sequential(n.AlphaDropout(0.3), n.Dropout3d(0.2), n.FeatureAlphaDropout()),
        ((2, 3, 2, 2, 2),), train=False),
    Row("activations in place", lambda n: n.Sequential(n.Linear(4, 5), n.ELU(0.5, True), n.Linear(5, 3), n.SiLU(True),
        n.Linear(3, 3), n.ReLU6(True), n.Hardtanh(-0.5, 0.5, True)), ((3, 4),)),
    Row("attention with keys", lambda n: n.MultiheadAttention(6, 3, add_bias_kv=True, add_zero_attn=True), ((5, 2, 6),),
        attend(key_padding_mask=SOME, attn_mask=CAUSAL)),
    Row("cross entropy", lambda n: n.CrossEntropyLoss(numbers(n, [0.5, 2, 1, 1]), ignore_index=1, label_smoothing=0.1),
        ((5, 4),), against(np.array([0, 1, 3, 2, 2]))),
    Row("nll", lambda n: n.NLLLoss(numbers(n, [0.5, 2, 1, 1]), reduction="sum"), ((5, 4),), against(np.array([0, 1, 3, 2, 2]))),
    Row("bce with logits", lambda n: n.BCEWithLogitsLoss(pos_weight=numbers(n, [0.5, 2])), ((2, 2), (2, 2))),
    Row("huber", lambda n: n.HuberLoss("sum", 0.5), ((3, 4), (3, 4))),
    Row("smooth l1", lambda n: n.SmoothL1Loss(reduction="none", beta=0.5), ((3, 4), (3, 4))),
    Row("kl", lambda n: n.KLDivLoss(reduction="batchmean", log_target=True), ((3, 4), (3, 4))),
    Row("gaussian", lambda n: n.GaussianNLLLoss(full=True, eps=0.5), ((3, 4), (3, 4), (3, 4)),
        lambda m, x, t, v: m(x, t, v * v)),
    Row("poisson", lambda n: n.PoissonNLLLoss(reduction="sum"), ((3, 4), (3, 4))),
    Row("triplet", lambda n: n.TripletMarginLoss(0.7, swap=True), ((3, 4), (3, 4), (3, 4))),
    Row("multi margin", lambda n: n.MultiMarginLoss(2, 0.8), ((5, 4),), against(np.array([0, 1, 3, 2, 2]))),
    Row("margin ranking", lambda n: n.MarginRankingLoss(0.2), ((3,), (3,)), against(np.array([1, -1, 1]))),
    Row("cosine embedding", lambda n: n.CosineEmbeddingLoss(0.2), ((3, 4), (3, 4)), against(np.array([1, -1, 1]))),
    Row("linear cross entropy", lambda n: n.LinearCrossEntropyLoss(3, 4, bias=True), ((5, 3),),
        against(np.array([0, 1, 3, 2, 2]))),
    Row("softmax of clusters", lambda n: n.AdaptiveLogSoftmaxWithLoss(8, 9, [2, 5], 2.0), ((5, 8),),
        lambda m, x: list(m(x, like(np.array([0, 8, 2, 4, 5]), x)))),
    Row("lenet", lenet, ((3, 1, 10, 9),)),
]  # fmt: skip


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def arrays(values: Any) -> list[np.ndarray]:
    return [np.asarray(v.detach().numpy()) for v in values]


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN:UserWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_modules(torch, row: Row, dtype: str):
    """Weights of PyTorch's module, results, buffers, gradients of parameters and inputs; eager and compiled."""
    rng = rng_of(row.name)
    xs = [rng.normal(size=shape).astype(dtype) for shape in row.shapes]
    theirs = row.make(torch.nn).to(getattr(torch, dtype)).train(row.train)
    with torch.no_grad():
        for p in theirs.parameters():
            p += torch.tensor(rng.normal(size=p.shape, scale=0.1).astype(dtype))
    state = {name: value.numpy().copy() for name, value in theirs.state_dict().items()}
    given = [torch.tensor(x, requires_grad=True) for x in xs]
    results = listed(row.call(theirs, *given))
    seeds = [rng.normal(size=tuple(r.shape)).astype(dtype) for r in results]
    total = sum((r * torch.tensor(s)).sum() for r, s in zip(results, seeds, strict=True))
    wanted = [*given, *theirs.parameters()]
    gradients = torch.autograd.grad(total, wanted)
    names = [name for name, _ in theirs.named_parameters()]
    rtol = 2e-4 if dtype == "float32" else 1e-10

    for compiled in (False, True):
        ours = row.make(nn).to(dtype).train(row.train)
        ours.load_state_dict(state)
        assert [name for name, _ in ours.named_parameters()] == names

        def run(*tensors, ours=ours):
            found = listed(row.call(ours, *tensors))
            loss = sum((r * s).sum() for r, s in zip(found, seeds, strict=True))
            return *found, *sg.grad(loss, [*tensors, *ours.parameters()])

        function = sg.compile(run) if compiled else run
        found = arrays(function(*(Tensor(x.copy(), requires_grad=True) for x in xs)))
        labels = [f"result {i}" for i in range(len(results))] + [f"input {i}" for i in range(len(xs))] + names
        for label, mine, other in zip(labels, found, arrays([*results, *gradients]), strict=True):
            scale = max(float(np.abs(other).max(initial=0)), 1.0)
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, rtol=rtol, atol=rtol * scale, err_msg=f"{label}, {compiled=}")
        after = {name: value.numpy() for name, value in theirs.state_dict().items()}
        for name, value in ours.state_dict().items():
            np.testing.assert_allclose(value.numpy(), after[name], rtol=rtol, atol=rtol, err_msg=name)
            assert value.dtype == after[name].dtype
        if compiled:
            assert function.plan.host_calls == 0, function.explain()


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_texts(torch, row: Row):
    """`repr` is PyTorch's, and so are the names and shapes of parameters and buffers."""
    ours, theirs = row.make(nn), row.make(torch.nn)
    assert repr(ours) == repr(theirs)
    assert [(k, tuple(v.shape)) for k, v in ours.state_dict().items()] == [
        (k, tuple(v.shape)) for k, v in theirs.state_dict().items()
    ]


SDPA: list[tuple[str, tuple[tuple[int, ...], ...], dict[str, Any]]] = [
    ("plain", ((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7)), {}),
    ("causal", ((2, 4, 5), (2, 4, 5), (2, 4, 5)), {"is_causal": True}),
    ("causal of unequal lengths", ((2, 3, 5), (2, 6, 5), (2, 6, 5)), {"is_causal": True, "scale": 0.3}),
    ("no axes but two", ((4, 5), (4, 5), (4, 5)), {}),
    ("masked", ((2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 4)), {"attn_mask": ~CAUSAL}),
    ("masked entirely", ((2, 5, 4), (2, 5, 4), (2, 5, 4)), {"attn_mask": ~CAUSAL & (np.arange(5) > 1)}),
    ("added", ((2, 5, 4), (2, 5, 4), (2, 5, 4)), {"attn_mask": ADDED}),
    ("no features", ((2, 3, 0), (2, 4, 0), (2, 4, 5)), {"is_causal": True}),
    ("grouped heads", ((2, 6, 5, 4), (2, 2, 5, 4), (2, 2, 5, 3)), {"enable_gqa": True}),
]


@pytest.mark.parametrize(("shapes", "options"), [row[1:] for row in SDPA], ids=[row[0] for row in SDPA])
def test_scaled_dot_product_attention(torch, shapes, options):
    rng = rng_of(str(options))
    xs = [rng.normal(size=shape) for shape in shapes]
    given = [torch.tensor(x, requires_grad=True) for x in xs]
    attend = torch.nn.functional.scaled_dot_product_attention
    result = attend(*given, **{k: like(v, given[0]) for k, v in options.items()})
    seed = rng.normal(size=tuple(result.shape))
    expected = [result, *torch.autograd.grad((result * torch.tensor(seed)).sum(), given)]

    def run(*tensors):
        out = F.scaled_dot_product_attention(*tensors, **options)
        return out, *sg.grad((out * seed).sum(), list(tensors))

    for function in (run, sg.compile(run)):
        found = function(*(Tensor(x, requires_grad=True) for x in xs))
        for mine, other in zip(arrays(found), arrays(expected), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-10)
