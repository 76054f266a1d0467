"""`sg.onnx.load`: ONNX's own node cases, models that train in every mode, and refusals."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import staticgrad as sg
from staticgrad.operators import Symbol
from tests.helpers import assert_close, raised
from tools import onnx_cases

MODULES = {
    "adagrad": "Adagrad", "batch_normalization": "BatchNormalization", "conv": "Conv", "convtranspose": "ConvTranspose",
    "gathernd": "GatherND", "gemm": "Gemm", "gru": "GRU", "if_": "If", "layernormalization": "LayerNormalization",
    "loop": "Loop", "lstm": "LSTM", "maxpool": "MaxPool", "qlinearmatmul": "QLinearMatMul",
    "reduce_log_sum_exp": "ReduceLogSumExp", "reshape": "Reshape", "resize": "Resize", "scan": "Scan", "scatternd": "ScatterND",
    "sequence_map": "SequenceMap", "slice": "Slice", "softmax_cross_entropy_loss": "SoftmaxCrossEntropyLoss", "topk": "TopK",
}  # fmt: skip
"""ONNX's modules of cases, and the ops of which the default suite runs them: collecting all of them takes seconds."""
REFUSED = {
    "test_adagrad": "ONNX op ai.onnx.preview.training.Adagrad of opset 1 is not supported",
    "test_adagrad_multiple": "ONNX op ai.onnx.preview.training.Adagrad of opset 1 is not supported",
}


def node_cases() -> list[Any]:
    """The cases of `MODULES` that use our dtypes."""
    from onnx.backend.test.case import node

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in MODULES:
            importlib.import_module(f"onnx.backend.test.case.node.{module}")
    wanted = set(MODULES.values())
    found = [case for case in node._NodeTestCases if case.model is not None and not unsupported(case)]
    return [case for case in found if wanted.intersection(n.op_type for n in case.model.graph.node)]


def unsupported(case: Any) -> bool:
    """Whether a dtype of the case is none of ours."""
    from staticgrad.interchange.onnx.records import DTYPES

    kinds = {i.type.tensor_type.elem_type for i in (*case.model.graph.input, *case.model.graph.output)}
    return not kinds - {0} <= set(DTYPES)


def test_node_cases():
    cases = node_cases()
    assert len(cases) > 150
    found = {case.name: onnx_cases.outcome(case).reason for case in cases}
    assert {name: reason for name, reason in found.items() if reason} == {
        name: f"refused: {reason}" for name, reason in REFUSED.items()
    }


@pytest.mark.oracle
def test_all_node_cases_and_the_page():
    outcomes = onnx_cases.run("eager")
    assert sum(not outcome.reason for outcome in outcomes) >= 1500
    assert onnx_cases.PAGE.read_text(encoding="utf-8") == onnx_cases.page(outcomes)


def dense() -> Any:
    """relu(x @ layer.weight + layer.bias), reshaped by the extents of x."""
    rng = np.random.default_rng(0)
    weight = numpy_helper.from_array(rng.standard_normal((3, 4)).astype("float32"), "layer.weight")
    bias = numpy_helper.from_array(rng.standard_normal(4).astype("float32"), "layer.bias")
    rest = numpy_helper.from_array(np.array([-1]), "rest")
    nodes = [
        helper.make_node("Gemm", ["x", "layer.weight", "layer.bias"], ["product"]),
        helper.make_node("Relu", ["product"], ["positive"]),
        helper.make_node("Shape", ["x"], ["extents"]),
        helper.make_node("Slice", ["extents", "zero", "one"], ["rows"]),
        helper.make_node("Concat", ["rows", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["positive", "target"], ["y"]),
    ]
    zero, one = numpy_helper.from_array(np.array([0]), "zero"), numpy_helper.from_array(np.array([1]), "one")
    graph = helper.make_graph(
        nodes, "dense", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])], [weight, bias, rest, zero, one],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def test_initializers_are_parameters_and_every_mode_agrees(tmp_path):
    path = tmp_path / "dense.onnx"
    path.write_bytes(dense().SerializeToString())
    model = sg.onnx.load(path)
    assert [name for name, _ in model.named_parameters()] == ["layer.weight", "layer.bias"]
    x = np.random.default_rng(1).standard_normal((5, 3)).astype("float32")
    expected = np.maximum(x @ model.layer.weight.detach().numpy() + model.layer.bias.detach().numpy(), 0)
    y = model(sg.tensor(x))
    assert_close(y, expected, 1e-6)
    assert_close(model(x=x), expected, 1e-6)
    compiled = sg.compile(model)
    assert_close(compiled(sg.tensor(x)), y, None)
    graph = model.graph()
    with graph.as_default(), sg.Session(graph=graph) as session:
        session.run(sg.global_variables_initializer())
        fed = {Symbol(graph, graph.by_name("x")): x}
        assert_close(session.run(Symbol(graph, graph.outputs["y"]), fed), expected, 1e-6)
        loss = sg.sum(Symbol(graph, graph.outputs["y"]) ** 2)
        (slope,) = sg.gradients([loss], [sg.trainable_variables()[0]])
        found = session.run(slope, fed)
    (y**2).sum().backward()
    assert_close(found, model.layer.weight.grad, 1e-5)


def test_a_compiled_step_trains_the_model():
    model = sg.onnx.load(dense())
    optimizer = sg.optim.SGD(model.parameters(), lr=0.05)

    @sg.compile
    def step(x):
        loss = (model(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    x = sg.ones(4, 3)
    losses = [step(x).item() for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]


def test_what_is_no_model_or_lacks_an_input_is_refused(tmp_path):
    path = tmp_path / "noise.onnx"
    path.write_bytes(b"\xff" * 20)
    with raised(sg.GraphError, f"onnx.load: {path} is no ONNX model"):
        sg.onnx.load(path)
    model = sg.onnx.load(dense(), trainable=False)
    assert not any(p.requires_grad for p in model.parameters())
    with raised(sg.ArgumentError, "the input 'x' is missing"):
        model()
    with raised(sg.ArgumentError, "the model has no input 'z'"):
        model(z=1)
    graph = helper.make_graph([helper.make_node("Odd", ["x"], ["y"], domain="mine")], "odd", [], [])
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]))
    graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1]))
    with raised(sg.GraphError, "ONNX op mine.Odd of opset 1 is not supported"):
        sg.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("mine", 1)]))(sg.ones(1))
