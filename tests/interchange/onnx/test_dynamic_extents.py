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
    ({"args": "model.onnx"}, ArgumentError, "the second argument is the model's arguments"),
    ({"export_params": False}, ArgumentError, "parameters are initializers"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case[2])
def test_mistakes(case: tuple[dict[str, Any], type[Exception], str]):
    options, kind, text = case
    with pytest.raises(kind, match=text):
        sg.onnx.export(lambda x: x * 2, **{"args": X, **options})


def test_extents_that_have_to_be_numbers():
    with pytest.raises(sg.onnx.UnwrittenError, match="is no product and sum of them"):
        sg.onnx.export(lambda x: x[: x.shape[0] // 2], args=X, dynamic_shapes=({0: "n"},))
    with pytest.raises(sg.onnx.UnwrittenError, match="depends on a symbolic extent"):
        sg.onnx.export(
            lambda x: x + sg.arange(x.shape[0]).reshape(-1, 1) ** 2 @ sg.ones(1, 8), args=X, dynamic_shapes=({0: "n"},)
        )
    with pytest.raises(sg.onnx.UnwrittenError, match="BitwiseAnd needs op set 18"):
        sg.onnx.export(lambda x: x & 3, args=(np.ones(3, np.int64),), opset_version=17)


def graph_of_a_step() -> tuple[sg.Graph, tuple[Any, ...], list[Any], Any]:
    """A graph with open extents, whose loss needs two of them to be equal."""
    graph = sg.Graph()
    with graph.as_default():
        x, y = sg.placeholder(sg.float32, [None, 3], name="x"), sg.placeholder(sg.int64, [None], name="y")
        free = sg.placeholder(sg.float32, [None], name="free")
        w = sg.Variable(np.arange(12, dtype="float32").reshape(3, 4) / 10, name="w")
        loss = nn.functional.cross_entropy(x @ w, y)
        steps = sg.while_loop(lambda i: i.sum() < 40, lambda i: i * 2, [sg.abs(x).sum(1) + 1])[0]
        results = [loss, sg.gradients(loss, x)[0], sg.reshape(x, [-1]), sg.ones_like(x).sum(0), steps, free.sum()]
        initializer = sg.global_variables_initializer()
    graph.outputs = {f"output_{i}": result.node for i, result in enumerate(results)}
    return graph, (x, y, free), results, initializer


@pytest.mark.parametrize("axes", [None, {"x": {0: "batch"}, "y": {0: "batch"}}])
def test_open_extents_of_a_graph(axes: Any):
    graph, inputs, results, initializer = graph_of_a_step()
    with sg.Session(graph) as session:
        session.run(initializer)
        made = sg.onnx.export(graph, dynamic_axes=axes)
        from onnx.reference import ReferenceEvaluator

        run, loaded = ReferenceEvaluator(made).run, sg.onnx.load(made).requires_grad_(False)
        for n in (1, 6):
            given = normal(n, 3), np.arange(n) % 4, normal(n if axes is None else n + 2)
            wanted = session.run(results, dict(zip(inputs, given, strict=True)))
            for found in (run(None, dict(zip(("x", "y", "free"), given, strict=True))), loaded(*given)):
                for result, expected in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4, atol=1e-5)
    symbols = [[d.dim_param for d in value.type.tensor_type.shape.dim] for value in made.graph.input]
    shared = "dynamic_axes_0" if axes is None else "batch"
    assert symbols == [[shared, ""], [shared], [shared if axes is None else "free_dynamic_axes_1"]]


def test_known_extents_of_a_graph_stay():
    graph, *_ = graph_of_a_step()
    with pytest.raises(ArgumentError, match="axis 1 of x is 3 in the graph, so it can't be symbolic"):
        sg.onnx.export(graph, dynamic_axes={"x": {1: "width"}})


def test_equal_extents_of_a_model_that_takes_no_more():
    positions = nn.Embedding(8, 5)

    def embedded(x: Any) -> Any:
        return x + positions(sg.arange(x.shape[1]))

    made = sg.onnx.export(embedded, args=(normal(8, 8, 5),), dynamic_shapes=({0: "batch", 1: "time"},))
    loaded = sg.onnx.load(made)
    for shape in ((3, 7, 5), (9, 2, 5)):
        x = normal(*shape)
        np.testing.assert_array_equal(loaded(x).detach().numpy(), embedded(x).detach().numpy())
