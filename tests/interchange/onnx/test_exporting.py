"""`sg.onnx.export`: against ONNX's reference evaluator and onnxruntime, and back by `sg.onnx.load`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import staticgrad as sg
from staticgrad import nn
from staticgrad.operators import Symbol
from tests.helpers import assert_close, raised
from tests.ops.cases import CASES
from tests.ops.test_cases import as_list, draw

ROWS = (
    "expm1", "log1p", "remainder", "clip", "sum", "softmax", "argmax", "cumprod", "conv2d", "max_pool2d", "avg_pool2d",
    "x[mask]", "take_along_axis", "scatter_add at two axes",
    "x[1:3, ::2]", "attention_softmax", "einsum", "scan", "while_loop", "cond",
)  # fmt: skip
"""Rows of the op table that the default suite writes; all of them are compared under `-m oracle`."""
REFERENCE_FAILS = ("conv_transpose2d", "conv_transpose2d, more at the end than a stride")
"""Where the reference evaluator raises for output_padding; onnxruntime agrees."""


def evaluated(model: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    return ReferenceEvaluator(model).run(None, {i.name: a for i, a in zip(model.graph.input, arrays, strict=True)})


def by_runtime(model: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: a for i, a in zip(model.graph.input, arrays, strict=True)})


def drawn(case: Any) -> list[np.ndarray]:
    return draw(case, case.samples[0], case.dtypes[0])


def test_rows_of_the_op_table_agree_with_the_reference_evaluator():
    cases = [case for case in CASES if case.name in ROWS]
    assert len(cases) >= 15
    for case in cases:
        arrays = drawn(case)
        expected = as_list(case.fn(*map(sg.as_tensor, arrays)))
        for have, want in zip(evaluated(sg.onnx.export(case.fn, args=tuple(arrays)), arrays), expected, strict=True):
            assert_close(have, want.detach().numpy(), 1e-5, what=case.name)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")  # NumPy's, of empty operands in the reference evaluator
def test_all_rows_of_the_op_table():
    written, unwritten = 0, []
    for case in CASES:
        arrays = drawn(case)
        try:
            model = sg.onnx.export(case.fn, args=tuple(arrays))
        except sg.onnx.UnwrittenError:
            unwritten.append(case.name)
            continue
        expected = as_list(case.fn(*map(sg.as_tensor, arrays)))
        runs = [by_runtime] if case.name in REFERENCE_FAILS else [evaluated, by_runtime]
        for run in runs:
            for have, want in zip(run(model, arrays), expected, strict=True):
                assert_close(np.asarray(have), want.detach().numpy(), 1e-5, what=case.name)
        written += 1
    assert written >= 295
    assert len(unwritten) <= 90


def test_the_first_elements_and_products_of_rows():
    x = np.random.default_rng(0).normal(size=(3, 7))

    def fn(x: Any) -> Any:
        return *x.topk(3), *x.topk(2, 0, largest=False), x.prod(1, keepdim=True)

    for have, want in zip(evaluated(sg.onnx.export(fn, args=(x,)), [x]), fn(sg.tensor(x)), strict=True):
        assert_close(have, want.numpy(), 1e-12)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.lstm = nn.LSTM(4, 3, bidirectional=True)

    def forward(self, index: Any) -> Any:
        return self.lstm(self.embedding(index))[0]


MODULES = {
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        lambda: sg.randn(2, 2, 6, 6),
    ),
    "recurrent": (Recurrent, lambda: sg.randint(0, 7, (5, 2))),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), lambda: sg.randn(2, 3, 4)),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_go_out_and_come_back(name: str, tmp_path):
    sg.manual_seed(0)
    make, operand = MODULES[name]
    module, x = make(), operand()
    model = sg.onnx.export(module, (x,), tmp_path / "model.onnx")
    assert module.training
    kept = {key for key in module.state_dict() if not key.endswith("batches_tracked")}
    assert {i.name for i in model.graph.initializer} == kept
    expected = module.eval()(x)
    (have,) = evaluated(model, [x.numpy()])
    assert_close(have, expected, 1e-5)
    back = sg.onnx.load(tmp_path / "model.onnx")
    assert_close(back(x), expected, 1e-5)
    back(x).sum().backward()
    module(x).sum().backward()
    mine, theirs = dict(module.named_parameters()), dict(back.named_parameters())
    assert set(theirs) == set(mine)
    for key, parameter in mine.items():
        assert_close(theirs[key].grad, parameter.grad, 1e-4, what=key)


def test_a_graph_is_written_with_the_values_of_its_session():
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, (2, 3), name="x")
        w = sg.Variable(np.ones((3, 1), "float32"), name="w")
        graph.outputs = {"y": (x @ w).node}
        with raised(sg.GraphError, "onnx.export: the variable 'w' has no value outside of a session"):
            sg.onnx.export(graph)
        with sg.Session(graph=graph) as session:
            session.run(sg.global_variables_initializer())
            session.run(sg.assign(w, np.full((3, 1), 2, "float32")))
            model = sg.onnx.export(graph, session=session)
    assert [i.name for i in model.graph.initializer] == ["w"]
    assert_close(evaluated(model, [np.ones((2, 3), "float32")])[0], np.full((2, 1), 6, "float32"))
    assert isinstance(x, Symbol)


def test_an_operation_without_a_counterpart_names_its_line():
    with raised(sg.onnx.UnwrittenError, "onnx.export: airy_ai has no ONNX counterpart") as caught:
        sg.onnx.export(lambda x: sg.special.airy_ai(x), args=(sg.ones(2),))
    assert "test_exporting.py" in str(caught.value)


class Small(nn.Module):
    """A convolution, a normalization, an embedding and a recurrent step."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 3, 3, padding=1), nn.LayerNorm(4)
        self.table, self.head = nn.Embedding(5, 4), nn.Linear(4, 3)

    def forward(self, x: Any, index: Any) -> Any:
        seen = sg.nn.functional.gelu(self.conv(x)).mean((2, 3))
        return sg.softmax(self.head(self.norm(self.table(index))) + seen, -1), (x * 0.5).sum(), seen.max(1).values


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_of_16_bits_are_written_and_read(dtype: str):
    """Computed in float32 between casts, as here; inputs, parameters and results have the dtype."""
    sg.manual_seed(0)
    module = Small().to(getattr(sg, dtype))
    x, index = sg.randn(3, 2, 4, 4).to(getattr(sg, dtype)), sg.tensor([1, 4, 0])
    model = sg.onnx.export(module, args=(x, index))
    kinds = [v.type.tensor_type.elem_type for v in model.graph.output]
    assert kinds == [{"float16": 10, "bfloat16": 16}[dtype]] * 3
    assert {i.data_type for i in model.graph.initializer if len(i.dims) > 1} <= {*kinds, 7}
    wanted = [v.detach().numpy() for v in module(x, index)]
    close = {"rtol": 3e-3, "atol": 1e-3} if dtype == "float16" else {"rtol": 2e-2, "atol": 1e-2}
    again = sg.onnx.load(model)
    found = evaluated(model, [x.numpy(), index.numpy()]), [v.detach().numpy() for v in again(x, index)]
    for results in found:
        for have, want in zip(results, wanted, strict=True):
            assert np.asarray(have).dtype == want.dtype
            np.testing.assert_allclose(np.asarray(have, np.float32), want.astype(np.float32), **close)
