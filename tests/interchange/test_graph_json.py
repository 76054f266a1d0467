"""Graphs as JSON and back."""

from __future__ import annotations

import json

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.dtypes import DTYPES
from staticgrad.base.types import TensorType, float32, type_of
from staticgrad.compiler.program import Program
from staticgrad.errors import ArgumentError, GraphError, IndexRangeError, VerifyError, Where
from staticgrad.ir import REGISTRY, Attribute, Cell, Graph, Literal, OpDef, literal
from staticgrad.ir.graph import interpret
from staticgrad.ir.text import verify
from staticgrad.ops.leaves import hyper
from tests.fuzz_saving import fuzz


def constant(graph: Graph, array: np.ndarray):
    return graph.add(REGISTRY["constant"], (), literal(array), type_of(array))


HOLDER = OpDef(
    "holder", infer=lambda value: TensorType((), float32), eval=lambda value: np.float32(0),
    attrs={"value": Attribute("anything", lambda value, types: True)},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _an_op_that_takes_any_attribute(monkeypatch):
    monkeypatch.setitem(REGISTRY, "holder", HOLDER)


def one_attribute(value) -> Graph:
    """A graph whose only node has the attribute `value`."""
    graph = Graph()
    graph.add(HOLDER, (), {"value": value}, TensorType((), float32))
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


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
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
    None, True, False, 0, -(2**63), 2**63 - 1, 1.5, -0.0, float("inf"), float("-inf"), "text", "", (), (1, (None, "a"), 2.0),
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


@pytest.mark.parametrize("value", [abs, slice(1, 2), frozenset({1}), object(), 2**63], ids=lambda v: type(v).__name__)
def test_attributes_that_text_can_not_hold(value):
    with pytest.raises(GraphError) as caught:
        sg.to_json(one_attribute(value))
    assert caught.value.summary == (
        f"to_json: can't hold the attribute value={value!r} of %0 holder: it is a {type(value).__name__}, "
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


def first(**fields):
    """A change of the first node, a constant."""
    return edited(lambda d: d["nodes"][0].update(fields))


def second(**fields):
    """A change of the second node, `neg` of the first."""
    return edited(lambda d: d["nodes"][1].update(fields))


def array(**fields):
    """A change of the constant's array, [0, 0] in float32."""
    return edited(lambda d: d["nodes"][0]["attrs"]["value"]["array"].update(fields))


def without(*path):
    def change(document):
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    return edited(change)


def nested(levels: int) -> str:
    value: object = {"shape": [], "dtype": "float32"}
    for _ in range(levels):
        value = {"parts": [value]}
    return second(type=value)


BAD = {
    "not JSON": ("{", "from_json: not JSON"),
    "a long integer": ("[" + "9" * 5000 + "]", "from_json: not JSON: Exceeds the limit"),
    "deep nesting": ("[" * 100_000, "from_json: the text is nested too deeply"),
    "a type in types": (nested(200), "from_json: %1 neg type: expected a type, got {'parts': ["),
    "NaN": ('{"format": NaN}', "from_json: not JSON: NaN is not a JSON number"),
    "a key twice": ('{"format": 1, "format": 2}', "from_json: the key 'format' occurs twice"),
    "another document": ("[1]", 'from_json: not a graph: the text has no "format": "staticgrad graph"'),
    "another version": (edited(lambda d: d.update(version=2)), "from_json: version 2 of the format is unknown"),
    "a true version": (edited(lambda d: d.update(version=True)), "from_json: version True of the format is unknown"),
    "unknown op": (second(op="frob"), "from_json: %1 is of an unknown op, 'frob'"),
    "no op": (second(op=None), "from_json: %1 op: expected a text, got None"),
    "no node": (edited(lambda d: d["nodes"].append(None)), "from_json: %2 is no object, but None"),
    "forward reference": (second(inputs=[1]), "from_json: %1 neg inputs: refers to %1, which does not come before it"),
    "negative reference": (second(inputs=[-1]), "from_json: %1 neg inputs: refers to %-1, which"),
    "true reference": (second(inputs=[True]), "from_json: %1 neg inputs: refers to %True, which"),
    "inputs None": (second(inputs=None), "from_json: %1 neg inputs: expected a list, got None"),
    "unknown result": (edited(lambda d: d.update(outputs={"y": 7})), "from_json: outputs: refers to %7"),
    "unknown field": (second(code="x"), "from_json: %1 neg has an unknown field, 'code'"),
    "unknown tag": (second(attrs={"a": {"code": "x"}}), "from_json: %1 neg attrs.a: is of an unknown kind, 'code'"),
    "unknown cell": (second(attrs={"a": {"cell": "w"}}), "from_json: %1 neg attrs.a: there is no variable 'w'"),
    "unknown attribute": (second(attrs={"a": 1}), "from_json: %1 neg is not valid: neg has no attribute 'a'"),
    "no attribute": (first(attrs={}), "from_json: %0 constant is not valid: constant: the attribute value is missing"),
    "a wide integer": (second(attrs={"a": 2**63}), "from_json: %1 neg attrs.a: an integer is beyond 64 bits"),
    "a large float": (second(attrs={"a": 1}).replace('"a": 1', '"a": 1e999'), "attrs.a: a number is too large"),
    "operands missing": (second(inputs=[]), "from_json: %1 neg is not valid: neg takes 1 operand, got 0"),
    "no type": (without("nodes", 1, "type"), "from_json: %1 neg has no field 'type'"),
    "no nodes": (without("nodes"), "from_json: the graph has no field 'nodes'"),
    "another type": (
        second(type={"shape": [3], "dtype": "float32"}),
        "from_json: %1 neg type: the file says f32[3], its operands and attributes give f32[2]",
    ),
    "bad dtype": (second(type={"shape": [2], "dtype": "f16x"}), "from_json: %1 neg type: expected one of bool, uint8"),
    "bad extent": (second(type={"shape": [-1], "dtype": "int8"}), "from_json: %1 neg type: -1 can't be an extent"),
    "a huge type": (
        second(type={"shape": [10**9, 10**9], "dtype": "int8"}), "from_json: %1 neg type: Storage size calculation overflowed",
    ),
    "many axes": (second(type={"shape": [1] * 65, "dtype": "int8"}), "type: a shape is a list of at most 64 extents"),
    "values of another number": (array(shape=[3]), "from_json: %0 constant attrs.value: 2 elements don't fill shape (3,)"),
    "None among the values": (array(values=[None, 0]), "attrs.value: expected a list of a number each, got [None, 0]"),
    "values of another dtype": (array(dtype="int8", values=[300, 0]), "attrs.value: a number is too large for int8"),
    "values that overflow": (array(values=[1e300, 0]), "attrs.value: a number is too large for float32"),
    "bad base64": (
        first(attrs={"value": {"array": {"shape": [1], "dtype": "int8", "base64": "!"}}}),
        "from_json: %0 constant attrs.value: not base64: '!'",
    ),
    "half an element": (
        first(attrs={"value": {"array": {"shape": [1], "dtype": "int16", "base64": "AA=="}}}),
        "from_json: %0 constant attrs.value: 1 bytes are no whole number of int16 elements",
    ),
    "a boolean of 7": (
        first(attrs={"value": {"array": {"shape": [1], "dtype": "bool", "base64": "Bw=="}}}),
        "from_json: %0 constant attrs.value: a boolean is neither 0 nor 1",
    ),
    "a name of 4": (second(name=4), "from_json: %1 neg name is a text of at most 10000 characters, got 4"),
    "a long name": (second(name="x" * 10_001), "from_json: %1 neg name is a text of at most 10000 characters"),
    "a line of text": (second(where=["a.py", "1"]), "from_json: %1 neg where: expected a file and a line"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_text(case):
    text, message = BAD[case]
    with pytest.raises(GraphError) as caught:
        sg.from_json(text)
    assert message in caught.value.summary


# what attributes are trusted with --------------------------------------------------------------------------------------


def one_op(op: str, *kinds: TensorType, **attrs) -> Graph:
    """A graph of one op on placeholders of these types, with a type that is taken as it is."""
    graph = Graph()
    inputs = tuple(graph.add(REGISTRY["placeholder"], (), {"type": kind}, kind) for kind in kinds)
    graph.outputs = {"y": graph.add(REGISTRY[op], inputs, attrs, attrs.pop("gives"))}
    return graph


F3, F34, I2 = TensorType((3,), float32), TensorType((3, 4), float32), TensorType((2,), np.dtype(np.int64))
HUGE = 10**12
TRUSTED = {
    "permute": (one_op("permute", F34, axes=(0, 0), gives=TensorType((3, 3), float32)), "axes has to be an order of the axes"),
    "sum": (one_op("sum", F34, axis=(7,), keepdims=False, gives=F34), "axis has to be axes of operand 0"),
    "slice": (one_op("slice", F34, slices=((0, 2, 0),), gives=F34), "slices has to be at most one integer or (start, stop"),
    "concatenate": (one_op("concatenate", F3, axis=-1, gives=F3), "axis has to be an axis of operand 0"),
    "cast": (one_op("cast", F3, dtype=np.dtype(np.clongdouble), gives=F3), "dtype has to be a dtype"),
    "reshape": (one_op("reshape", F3, shape=(3, True), gives=F3), "shape has to be a tuple of extents"),
    "max_pool2d": (
        one_op("max_pool2d", TensorType((1, 1, 4, 4), float32), kernel=(2, 2), stride=(0, 1), padding=(0, 0),
               dilation=(1, 1), ceil=False, gives=F3), "stride has to be two integers in [1, 2**31)",
    ),
    "conv2d": (
        one_op("conv2d", *[TensorType((1, 1, 4, 4), float32)] * 2, stride=(1, 1), padding=((-1, 0), (0, 0)),
               dilation=(1, 1), groups=1, gives=F3), "padding has to be (before, after) for each of two axes",
    ),
    "unslice": (one_op("unslice", F34, F3, slices=((0, 2, 1),), gives=F3), "the part has shape (2,), got (3, 4)"),
    "pick": (one_op("pick", F34, F3, axis=0, gives=F34), "indices must be integers, got float32"),
    "narrow": (one_op("pick", F34, TensorType((2,), np.dtype(np.int8)), axis=0, gives=F34), "indices have to be int64 here"),
    "add": (one_op("add", F3, I2, gives=F3), "operand 1 has to be float32 here, got int64"),
    "part": (one_op("part", F3, F3, axis=0, index=4, gives=F3), "there is no part 4 of 1"),
    "random": (one_op("random_uniform", F3, shape=(2,), dtype=float32, index=0, gives=I2), "a generator's state is i64[2]"),
    "result": (one_op("result", F3, index=0, gives=F3), "index has to be the number of a result of operand 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", TRUSTED)
def test_attributes_are_what_the_record_says_in_files_in_graphs_and_in_sessions(case):
    graph, message = TRUSTED[case]
    if case != "cast":  # the file itself has no such dtype
        with pytest.raises(GraphError, match=r"from_json: %\d \w+ is not valid") as caught:
            sg.from_json(sg.to_json(graph))
        assert message in caught.value.summary
    with pytest.raises(VerifyError) as caught:
        verify(graph)
    assert message in caught.value.summary
    feeds = {node: np.zeros(node.shape, node.dtype) for node in graph.nodes if node.op.leaf}
    with pytest.raises(sg.errors.StaticgradError) as caught:
        Program(graph, [graph.outputs["y"]], list(feeds)).run(list(feeds.values()), {})
    assert message in caught.value.summary


def with_index(op: str, values: list[int]) -> tuple[Graph, list[np.ndarray]]:
    """An op that takes rows of a table by numbers that nothing checks."""
    table, index = np.arange(12, dtype=np.float32).reshape(3, 4), np.array(values)
    kinds = {
        "pick": [table, index], "gather": [table, index], "gather_sum": [table, index],
        "put_add": [np.ones((len(values), 4), np.float32), table, index],
        "scatter_add": [np.ones((len(values), 4), np.float32), table, index],
        "index_add": [table, np.ones((len(values), 4), np.float32), index],
        "take_along_axis": [table, np.tile(index[:, None], (1, 4))],
        "first_of": [index, table],
    }[op]  # fmt: skip
    attrs = {"axis": 0} if op in ("pick", "gather", "put_add", "scatter_add", "take_along_axis") else {}
    graph = Graph()
    inputs = tuple(graph.add(REGISTRY["placeholder"], (), {"type": type_of(a)}, type_of(a)) for a in kinds)
    gives = REGISTRY[op].infer(*(node.type for node in inputs), **attrs)
    graph.outputs = {"y": graph.add(REGISTRY[op], inputs, attrs, gives)}
    return graph, kinds


INDEXING = ["pick", "gather", "gather_sum", "put_add", "scatter_add", "index_add", "take_along_axis", "first_of"]


@pytest.mark.parametrize("op", INDEXING)
@pytest.mark.parametrize("bad", [-4, 3, 10**9, HUGE, -(2**63)])
def test_an_index_that_nothing_checks_is_checked_when_the_graph_runs(op, bad):
    graph, arrays = with_index(op, [0, bad, 1])
    again = sg.from_json(sg.to_json(graph))
    for given in (graph, again):
        feeds = [node for node in given.nodes if node.op.leaf]
        with pytest.raises(IndexRangeError, match=f"index {bad} is out of range for axis 0 with extent 3"):
            Program(given, [given.outputs["y"]], feeds).run(arrays, {})


@pytest.mark.parametrize("op", INDEXING)
def test_an_index_in_range_gives_what_the_interpreter_gives(op):
    graph, arrays = with_index(op, [2, 0, 2])
    feeds = dict(zip([node for node in graph.nodes if node.op.leaf], arrays, strict=True))
    (found,) = Program(graph, [graph.outputs["y"]], list(feeds)).run(arrays, {})
    np.testing.assert_array_equal(found, interpret(graph, [graph.outputs["y"]], feeds)[graph.outputs["y"]])


def test_a_checked_index_is_not_checked_again():
    def steps(x, i):
        return sg.scan(lambda c, row: (c + x[row].sum(), x[row]), sg.sum(sg.take(x, i[0], 0)), i)

    plan = sg.compile(steps)
    plan(sg.ones(5, 3), sg.zeros(4, 2, dtype=sg.int64))
    assert sum("bounded" in row.name for row in plan.plan.instructions) == 2


@pytest.mark.parametrize("count", [4, -1, HUGE])
def test_a_counted_loop_does_not_read_beyond_its_stacks(count):
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float64, (), name="x")
        y = sg.while_loop(lambda c: c < 100, lambda c: c * c + 1, [x])[0]
        sg.identity(sg.gradients(y, [x])[0], name="g")
    document = json.loads(sg.to_json(graph))
    loop = next(node for node in document["nodes"] if node["op"] == "loop" and node["attrs"]["count"])
    at = loop["inputs"][0]
    document["nodes"][at] = {
        "op": "constant", "type": {"shape": [], "dtype": "int64"},
        "attrs": {"value": {"array": {"shape": [], "dtype": "int64", "values": [count]}}},
    }  # fmt: skip
    session = sg.Session(graph=sg.from_json(json.dumps(document)))
    with session, pytest.raises(ArgumentError, match=f"{count} iterations, and a stack of 3 places"):
        session.run("g", {"x": 2.0})


def test_the_line_of_a_node_is_read_from_source_files_only():
    assert Where("/dev/zero", 1).text == ""
    assert Where("../../../../../../../dev/zero", 1).text == ""
    assert Where(__file__, 1).text == '"""Graphs as JSON and back."""'


# mutated files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["json", "safetensors"])
def test_mutated_files_are_refused_or_run(kind):
    """`python -m tests.fuzz_saving --count 10000` tries more of them."""
    outcomes, bad = fuzz(kind, 150, seed=0)
    assert bad == []
    assert outcomes["refused"] > 100
    assert sum(n for outcome, n in outcomes.items() if outcome.startswith("accepted")) > 3
