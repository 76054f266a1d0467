"""Models with symbolic extents: one file for any batch, computed as here; clear errors where an extent has to be a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.errors import ArgumentError

onnx = pytest.importorskip("onnx")
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def masked(x: Any) -> Any:
    """Positions, a mask and zeros that are made from extents."""
    time = x.shape[1]
    scores = sg.where(sg.tril(sg.ones(time, time)) > 0, x @ x.transpose(1, 2), -1e9)
    return sg.softmax(scores, -1) @ x + sg.arange(time).reshape(-1, 1) + sg.zeros(x.shape[0], 1, 1)


def several(x: Any, w: Any) -> Any:
    return ((x @ w) ** 2).mean(), x.reshape(-1), sg.cat([x, x]), x[:-1].sum(0), x.var(0)


sg.manual_seed(0)
MLP = nn.Sequential(nn.Linear(8, 6), nn.LayerNorm(6), nn.GELU(), nn.Flatten())
ATTENTION = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
MASK = nn.Transformer.generate_square_subsequent_mask
BATCH_AND_TIME = {0: "batch", 1: "time"}
# function, arguments at an extent, symbolic extents, dims of the first output
CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "mlp": (MLP, lambda n: (normal(n, 8),), ({0: "batch"},), ["batch", 6]),
    "convolution": (nn.Conv2d(1, 2, 3), lambda n: (normal(n, 1, 6, 6),), ({0: "n"},), ["n", 2, 4, 4]),
    "attention": (
        lambda x: ATTENTION(x, src_mask=MASK(x.shape[1])), lambda n: (normal(n, n + 2, 8),), (BATCH_AND_TIME,),
        ["batch", "time", 8],
    ),
    "positions": (masked, lambda n: (normal(n, 2 * n, 4),), (BATCH_AND_TIME,), ["batch", "time", 4]),
    "several": (several, lambda n: (normal(n, 3), normal(3, 2)), ({0: "batch"}, None), []),
    "flat": (lambda x: x.reshape(-1), lambda n: (normal(n, 3),), {"input_0": ["batch", None]}, ["3*batch"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_file_for_any_extent(name: str):
    fn, args, dynamic, dims = CASES[name]
    made = sg.onnx.export(fn, args=args(4), dynamic_shapes=dynamic)
    found = made.graph.output[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in found] == dims
    from onnx.reference import ReferenceEvaluator

    runners = [ReferenceEvaluator(made).run]
    try:
        import onnxruntime

        runners.append(onnxruntime.InferenceSession(made.SerializeToString()).run)
    except ImportError:
        pass
    for n in (2, 7):
        given = args(n)
        expected = fn(*map(sg.tensor, given))
        expected = expected if isinstance(expected, tuple) else (expected,)
        for run in runners:
            results = run(None, {f"input_{i}": x for i, x in enumerate(given)})
            for result, wanted in zip(results, expected, strict=True):
                np.testing.assert_allclose(result, wanted.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_torchs_dynamic_axes():
    axes = {"x": {0: "batch"}, "y": {0: "batch"}}
    made = sg.onnx.export(MLP, args=(normal(4, 8),), input_names=["x"], output_names=["y"], dynamic_axes=axes)
    assert [d.dim_param for d in made.graph.input[0].type.tensor_type.shape.dim] == ["batch", ""]
    made = sg.onnx.export(MLP, args=(normal(4, 8),), dynamic_axes={"input_0": [0]})
    assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "input_0_dynamic_axes_1"
    assert sg.onnx.load(made)(sg.ones(3, 8)).shape == (3, 6)


@pytest.mark.parametrize("version", [17, 18, 19, 20, 21])
def test_op_sets(version: int):
    made = sg.onnx.export(several, args=(normal(4, 3), normal(3, 2)), dynamic_shapes=({0: "n"}, None), opset_version=version)
    assert made.opset_import[0].version == version
    given = normal(5, 3), normal(3, 2)
    for result, wanted in zip(sg.onnx.load(made)(*given), several(*map(sg.tensor, given)), strict=True):
        np.testing.assert_allclose(result.detach().numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


X = (np.ones((4, 8), np.float32),)
# arguments of export, the error, its text
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"opset_version": 16}, ArgumentError, "opset_version has to be 17 to"),
    ({"dynamic_shapes": ({0: "n"},), "dynamic_axes": {}}, ArgumentError, "not both"),
    ({"dynamic_shapes": {"x": {0: "n"}}}, ArgumentError, "there is no input 'x'"),
    ({"dynamic_shapes": ({2: "n"},)}, ArgumentError, "axis 2 is none of them"),
    ({"dynamic_axes": ({0: "n"},)}, ArgumentError, "dynamic_axes is a dict by the names of inputs"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case[2])
def test_mistakes(case: tuple[dict[str, Any], type[Exception], str]):
    options, kind, text = case
    with pytest.raises(kind, match=text):
        sg.onnx.export(lambda x: x * 2, args=X, **options)


def test_extents_that_have_to_be_numbers():
    with pytest.raises(sg.onnx.UnwrittenError, match="is no product and sum of them"):
        sg.onnx.export(lambda x: x[: x.shape[0] // 2], args=X, dynamic_shapes=({0: "n"},))
    with pytest.raises(sg.onnx.UnwrittenError, match="depends on a symbolic extent"):
        sg.onnx.export(
            lambda x: x + sg.arange(x.shape[0]).reshape(-1, 1) ** 2 @ sg.ones(1, 8), args=X, dynamic_shapes=({0: "n"},)
        )
    with pytest.raises(sg.onnx.UnwrittenError, match="BitwiseAnd needs op set 18"):
        sg.onnx.export(lambda x: x & 3, args=(np.ones(3, np.int64),), opset_version=17)
