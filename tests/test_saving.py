"""Graphs as JSON and back."""

from __future__ import annotations

import json

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import GraphError, Where
from staticgrad.interpret import interpret
from staticgrad.ir import REGISTRY, Cell, Graph, Literal, literal
from staticgrad.ops.leaves import hyper
from staticgrad.types import TensorType, float32, type_of
from staticgrad.verify import verify


def constant(graph: Graph, array: np.ndarray):
    return graph.add(REGISTRY["constant"], (), literal(array), type_of(array))


def one_attribute(value) -> Graph:
    """A graph whose only node has the attribute `value`."""
    graph = Graph()
    graph.add(REGISTRY["neg"], (), {"value": value}, TensorType((), float32))
    return graph


def test_a_training_graph_comes_back():
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, (None, 4), name="x")
        w = sg.Variable(np.full((4, 2), 0.5, np.float32), name="w")
        y = sg.sum(sg.tanh(x @ w)[:, 1:] * sg.rand(1), axis=0)
        (g,) = sg.gradients(y, [w])
        with sg.control_dependencies([sg.assign(w, w - 0.1 * g)]):
            sg.identity(y, name="after")
    text = sg.to_json(graph)
    again = sg.from_json(text)
    assert sg.to_json(again) == text
    assert str(again) == str(graph)
    assert [node.where for node in again.nodes] == [node.where for node in graph.nodes]
    verify(again)
    assert again.by_name("w").attrs["cell"].trainable
    assert again.unique_name("w") == "w_1"


def test_names_of_unnamed_tensors_are_kept():
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, (), name="x")
        tensors = [x + 1.0, x + 2.0, (x + 3.0) * 4.0]
        names = [t.name for t in tensors]
        assert len(set(names)) == 3
        tensors.append(sg.identity(x, name="add"))  # takes a name of its own
        later = x + 5.0  # named by the loaded graph
    text = sg.to_json(graph)
    again = sg.from_json(text)
    assert sg.to_json(again) == text
    for g in (graph, again):
        with sg.Session(graph=g) as session:
            found = session.run([*names, tensors[3].name, later.name], {"x": 1.0})
            assert [float(v) for v in found] == [2, 3, 16, 1, 6]


def test_a_loaded_graph_runs():
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, (None,), name="x")
        w = sg.Variable(3.0, name="w")
        sg.identity(x * w, name="y")
    with sg.Session(graph=sg.from_json(sg.to_json(graph))) as session:
        session.run("w/init")
        assert session.run("y", {"x": [1.0, 2.0]}).tolist() == [3.0, 6.0]


def test_forward_and_backward_of_a_tape_come_back_with_their_results():
    w = sg.tensor([0.5, -1.0], requires_grad=True)
    w.name = "w"
    loss = sg.exp(w * 2).sum()
    graph = sg.from_json(sg.to_json(sg.graph_of(loss)))
    leaf = graph.by_name("w")
    values = interpret(graph, list(graph.outputs.values()), {leaf: w.detach().numpy()})
    loss.backward()
    assert values[graph.outputs["output"]] == loss.item()
    np.testing.assert_array_equal(values[graph.outputs["grad/w"]], w.grad.numpy())


@pytest.mark.parametrize("dtype", sg.types.DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (7, 11)], ids=str)
def test_constants_come_back_bit_for_bit(dtype, shape):
    bits = np.random.default_rng(0).integers(0, 2 if dtype.kind == "b" else 256, (*shape, dtype.itemsize), np.uint8)
    array = np.frombuffer(bits.tobytes(), dtype).reshape(shape)
    graph = Graph()
    constant(graph, array)
    back = sg.from_json(sg.to_json(graph)).nodes[0].attrs["value"].array
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_small_constants_are_readable_and_others_are_base64():
    graph = Graph()
    constant(graph, np.array([[1, 2]], np.int32))
    constant(graph, np.array(np.nan, np.float32))
    constant(graph, np.zeros(17, np.uint8))
    arrays = [node["attrs"]["value"]["array"] for node in json.loads(sg.to_json(graph))["nodes"]]
    assert arrays[0] == {"shape": [1, 2], "dtype": "int32", "values": [1, 2]}
    assert [sorted(entry) for entry in arrays[1:]] == [["base64", "dtype", "shape"]] * 2


ATTRIBUTES = [
    None, True, False, 0, -(2**70), 1.5, -0.0, float("inf"), float("-inf"), "text", "", (), (1, (None, "a"), 2.0),
    np.dtype(np.float32), TensorType((None, 2), float32), np.float32(0.1), np.int64(3), np.bool_(True),
    Literal(np.array([1.0, -0.0])),
]  # fmt: skip


@pytest.mark.parametrize("value", ATTRIBUTES, ids=repr)
def test_attributes_come_back(value):
    back = sg.from_json(sg.to_json(one_attribute(value))).nodes[0].attrs["value"]
    assert type(back) is type(value)
    assert back == value
    assert repr(back) == repr(value)


def test_nan_comes_back():
    back = sg.from_json(sg.to_json(one_attribute(float("nan")))).nodes[0].attrs["value"]
    assert isinstance(back, float)
    assert back != back


def test_the_text_is_strict_json():
    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(sg.to_json(one_attribute((float("nan"), float("inf")))), parse_constant=refuse)


@pytest.mark.parametrize("value", [abs, slice(1, 2), frozenset({1}), object()], ids=lambda v: type(v).__name__)
def test_attributes_that_text_can_not_hold(value):
    with pytest.raises(GraphError) as caught:
        sg.to_json(one_attribute(value))
    assert caught.value.summary == (
        f"to_json: can't hold the attribute value={value!r} of %0 neg: it is a {type(value).__name__}, "
        "not a number, text, tuple, dtype, type, array or variable"
    )


def test_a_hyper_parameter_stays_with_its_program():
    graph = sg.Graph()
    hyper({"lr": 0.1}, "lr", graph)
    with pytest.raises(GraphError, match="can't hold the attribute source=lr of %0 argument") as caught:
        sg.to_json(graph)
    assert caught.value.where == graph.nodes[0].where


# variables ----------------------------------------------------------------------------------------------------------


def variables(*names: str) -> Graph:
    graph, type_ = Graph(), TensorType((2,), float32)
    for name in names:
        graph.add(REGISTRY["variable"], (), {"cell": Cell(name, type_)}, type_, name)
    return graph


def test_variables_get_new_storage_or_that_of_the_caller():
    text = sg.to_json(variables("a", "b"))
    mine = Cell("b", TensorType((2,), float32))
    a, b = sg.from_json(text, cells={"b": mine, "c": mine}).nodes
    assert b.attrs["cell"] is mine
    assert (a.attrs["cell"].name, a.attrs["cell"].type) == ("a", TensorType((2,), float32))


def test_two_reads_of_a_variable_share_its_storage():
    graph = variables("a")
    graph.add(REGISTRY["variable"], (), dict(graph.nodes[0].attrs), graph.nodes[0].type)
    first, second = sg.from_json(sg.to_json(graph)).nodes
    assert first.attrs["cell"] is second.attrs["cell"]


def test_variables_of_one_name():
    with pytest.raises(GraphError, match="two variables are named 'a'"):
        sg.to_json(variables("a", "a"))


def test_the_initial_value_goes_along():
    with sg.Graph().as_default() as graph:
        sg.Variable([1.0, 2.0], name="w")
    again = sg.from_json(sg.to_json(graph))
    assert again.by_name("w").attrs["cell"].initial.attrs["value"].array.tolist() == [1.0, 2.0]


# bad text -----------------------------------------------------------------------------------------------------------


def edited(change) -> str:
    graph = Graph()
    x = constant(graph, np.zeros(2, np.float32))
    graph.add(REGISTRY["neg"], (x,), {}, x.type, "y", Where("a.py", 1))
    document = json.loads(sg.to_json(graph))
    change(document)
    return json.dumps(document)


BAD = {
    "not JSON": ("{", "from_json: not JSON"),
    "another document": ("[1]", 'from_json: not a graph: the text has no "format": "staticgrad graph"'),
    "another version": (edited(lambda d: d.update(version=2)), "from_json: version 2 of the format is unknown"),
    "unknown op": (edited(lambda d: d["nodes"][1].update(op="frob")), "from_json: %1 is of an unknown op, 'frob'"),
    "forward reference": (edited(lambda d: d["nodes"][1].update(inputs=[1])), "from_json: %1 refers to %1, which does"),
    "negative reference": (edited(lambda d: d["nodes"][1].update(inputs=[-1])), "from_json: %1 refers to %-1, which"),
    "unknown result": (edited(lambda d: d.update(outputs={"y": 7})), "from_json: %2 refers to %7"),
    "unknown tag": (edited(lambda d: d["nodes"][1].update(attrs={"a": {"code": "x"}})), "of an unknown kind, 'code'"),
    "unknown cell": (edited(lambda d: d["nodes"][1].update(attrs={"a": {"cell": "w"}})), "malformed graph: KeyError"),
    "no type": (edited(lambda d: d["nodes"][1].pop("type")), "malformed graph: KeyError: 'type'"),
    "no nodes": (edited(lambda d: d.pop("nodes")), "malformed graph: KeyError: 'nodes'"),
    "bad dtype": (edited(lambda d: d["nodes"][1]["type"].update(dtype="f16x")), "malformed graph: DTypeError"),
    "bad extent": (edited(lambda d: d["nodes"][1]["type"].update(shape=[-1])), "malformed graph: ArgumentError"),
    "values of another number": (
        edited(lambda d: d["nodes"][0]["attrs"]["value"]["array"].update(shape=[3])), "malformed graph: ValueError",
    ),
    "bad base64": (
        edited(lambda d: d["nodes"][0]["attrs"].update(v={"array": {"shape": [1], "dtype": "int8", "base64": "!"}})),
        "malformed graph: Error: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_text(case):
    text, message = BAD[case]
    with pytest.raises(GraphError) as caught:
        sg.from_json(text)
    assert message in caught.value.summary
