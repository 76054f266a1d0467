"""sg.compare: a function in every mode, with its differences, times and what could not be run."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.eager import generator
from staticgrad.tracing import settings
from staticgrad.viz.comparison import Comparison, Difference, Mode, differences

pytestmark = pytest.mark.usefixtures("refusing")

rng = np.random.default_rng(0)
X, W = rng.normal(size=(6, 4)).astype(np.float32), rng.normal(size=(4, 3)).astype(np.float32)
Y = np.array([0, 2, 1, 1, 0, 2])


def difference(mode, what):
    return next(d for d in mode.differences if d.what == what)


def test_values_and_gradients_of_all_modes():
    result = sg.compare(lambda x, w: sg.tanh(x @ w).sum(axis=1), X, W, repeats=2)
    assert [m.name for m in result.modes] == ["eager", "session", "compiled"]
    assert result.ok
    assert result.agree(rtol=1e-5)
    for mode in result.modes:
        np.testing.assert_allclose(mode.values["result"], np.tanh(X @ W).sum(1), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(mode.gradients["x"], (1 - np.tanh(X @ W) ** 2) @ W.T, rtol=1e-4, atol=1e-5)
        assert mode.call_us > 0
        assert mode.first_ms > 0
        assert not mode.error
    for mode in result.modes[1:]:
        assert [d.what for d in mode.differences if d.kind != "second gradient"] == ["result", "gradient of x", "gradient of w"]
        assert max(d.absolute for d in mode.differences) < 1e-5
        assert mode.host_calls == 0
        assert mode.kernels > 0
        assert mode.arena_bytes > 0
    assert result["eager"].kernels is None


def test_a_step_that_calls_grad():
    """It frees its tape: values and changes are compared."""
    w = sg.tensor(np.full((4, 3), 0.5, "float32"), requires_grad=True)

    def step(x):
        loss = sg.tanh(x @ w).sum()
        (g,) = sg.grad(loss, w)
        with sg.no_grad():
            w.sub_(0.1 * g)
        return loss

    result = sg.compare(step, X, repeats=2)
    assert result.ok
    assert result.agree(rtol=1e-5)
    for mode in result.modes:
        assert set(mode.values) == {"result", "w after"}
        assert mode.gradients == {}
        assert mode.cuts in (None, 0)
    assert [d.what for d in result["session"].differences] == ["result", "w after"]
    assert w.tolist() == np.full((4, 3), 0.5).tolist()


def test_gradients_of_what_the_function_reaches():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    scale, unused = sg.tensor(2.0, requires_grad=True), sg.tensor(1.0, requires_grad=True)
    result = sg.compare(lambda x: net(x) * scale + 0 * len([unused]), X, repeats=1, order=1)
    names = ["x", "scale", "unused", "0.weight", "0.bias", "2.weight", "2.bias"]
    for mode in result.modes:
        assert sorted(mode.gradients) == sorted(names)
        assert mode.gradients["unused"] is None
        assert mode.gradients["2.weight"].shape == (3, 8)
    assert result.agree(rtol=1e-4)
    assert net[0].weight.grad is None


def test_without_gradients():
    result = sg.compare(lambda x: x * 2, X, order=0, repeats=1)
    assert [mode.gradients for mode in result.modes] == [{}, {}, {}]
    assert [d.what for d in result["compiled"].differences] == ["result"]


def test_table_and_data():
    result = sg.compare(lambda x: {"a": x * 2, "b": (x.sum(), 3)}, X, repeats=1, order=1)
    text = str(result)
    assert re.search(r"^mode +step \(median\) +5% to 95% +first step +kernels +host +cuts +traces +memory +off by$", text, re.M)
    assert re.search(
        r"^eager +[\d.]+ [um]s +[\d.]+ [um]s to [\d.]+ [um]s +[\d.]+ [um]?s +- +- +- +- +[\d.]+ k?B +-$", text, re.M
    )
    assert re.search(r"^compiled .* +\d+ +0 +0 +1 +[\d.]+ k?B +(equal|[\de.-]+)$", text, re.M)
    assert re.search(r"^largest difference from eager +session +compiled$", text, re.M)
    assert re.search(r"^result\['b'\]\[0\] +[\d.e+-]+ \([\d.]+ ULP\) +[\d.e+-]+ \([\d.]+ ULP\)$", text, re.M)
    assert text.endswith(result.verdict)
    data = result.as_dict()
    assert [m["name"] for m in data["modes"]] == ["eager", "session", "compiled"]
    assert data["modes"][1]["differences"][0]["what"] == "result['a']"
    assert "values" not in data["modes"][0]
    assert list(result["eager"].values) == ["result['a']", "result['b'][0]", "result['b'][1]"]


def test_nested_arguments():
    result = sg.compare(lambda batch, options: batch["x"] * batch["parts"][0] * options[0], {"x": X, "parts": [X]}, (2, "a"))
    assert result.agree()
    assert list(result["session"].gradients) == ["batch['x']", "batch['parts'][0]"]


def test_random_functions_draw_the_same_numbers_and_leave_the_generator():
    sg.manual_seed(3)
    before = generator.state
    result = sg.compare(lambda x: F.dropout(x, 0.5) + sg.rand(6, 4), X, repeats=2, order=1)
    assert result.agree(rtol=1e-6)
    assert generator.state == before
    first, second = (sg.compare(lambda x: x + sg.rand(6, 4), X, seed=s, repeats=1, order=0) for s in (5, 5))
    np.testing.assert_array_equal(first["eager"].values["result"], second["compiled"].values["result"])
    assert generator.state == before


# training steps ---------------------------------------------------------------------------------------------------------


class Training:
    def __init__(self, optimizer=lambda p: optim.Adam(p, lr=0.1)):
        sg.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.2))
        self.model.register_buffer("count", sg.tensor(0))
        self.opt = optimizer(self.model.parameters())

    def state(self):
        tensors = [*self.model.parameters(), *self.model.buffers()]
        slots = [s.numpy() for own in self.opt.state_dict()["state"].values() for s in own.values()]
        return [t.detach().numpy().copy() for t in tensors], [id(t.grad) for t in tensors], slots

    def gradients(self):
        return [p.grad.numpy().copy() for p in self.model.parameters()]


def test_a_training_step_leaves_everything_as_it_was():
    training = Training()
    model, opt = training.model, training.opt

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with sg.no_grad():
            model.count.add_(1)
        return loss

    before = training.state()
    result = sg.compare(step, X, Y, repeats=2)
    np.testing.assert_equal(training.state(), before)
    assert result.ok, result
    assert result.agree(rtol=1e-4)
    for mode in result.modes:
        assert list(mode.values) == ["result", "0.weight after", "0.bias after", "count after"]
        assert mode.values["count after"] == 1
        assert mode.gradients["0.weight"].any()
    step(X, Y)
    before, gradients = training.state(), training.gradients()
    result = sg.compare(step, X, Y, repeats=2)
    np.testing.assert_equal(training.state(), before)
    np.testing.assert_equal(training.gradients(), gradients)
    assert result.agree(rtol=1e-4)


def test_gradients_that_are_left_in_grad():
    w = sg.tensor(W, requires_grad=True)

    def accumulate(x):
        loss = (x @ w).sum()
        loss.backward()
        return loss

    for start in (None, sg.tensor(np.ones_like(W))):
        w.grad = start
        result = sg.compare(accumulate, sg.tensor(X, requires_grad=True), repeats=3)
        expected = X.T @ np.ones((6, 3), np.float32) + (0 if start is None else 1)
        assert result.ok, result
        for mode in result.modes:
            np.testing.assert_allclose(mode.gradients["w"], expected, rtol=1e-5)
            np.testing.assert_allclose(mode.gradients["x"], np.ones((6, 3), np.float32) @ W.T, rtol=1e-4, atol=1e-6)
        assert w.grad is start
        if start is not None:
            np.testing.assert_array_equal(start, np.ones_like(W))


def test_an_update_that_is_an_operation_runs_in_a_session():
    training = Training(lambda p: optim.SGD(p, lr=0.1))
    training.model.eval()
    result = sg.compare(lambda x, y: training.opt.minimize(F.cross_entropy(training.model(x), y)), X, Y, repeats=1)
    assert result.ok, result
    assert result.agree(rtol=1e-4)
    assert difference(result["session"], "0.weight after").absolute < 1e-5


def test_changes_that_a_graph_does_not_run():
    count = sg.tensor([0.0, 0.0])

    def step(x):
        count.add_(1)
        return x * count[0]

    result = sg.compare(step, X, repeats=2)
    assert result["session"].error == "GradientError: it changes count in place, which a graph can't do"
    assert result.agree()
    assert count.tolist() == [0.0, 0.0]


def test_modules_and_optimizers_as_arguments():
    training = Training()
    before = training.state()

    def step(model, opt, x, y):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    result = sg.compare(step, training.model, training.opt, X, Y, repeats=1)
    assert result.agree(rtol=1e-4)
    np.testing.assert_equal(training.state(), before)


def test_compiled_functions():
    assert sg.compare(sg.compile(lambda x: x * 2), X, repeats=1, order=1).agree()


def test_the_step_that_is_timed_is_the_one_that_was_written():
    """Arguments are leaves in further calls alone, and never those of a step that differentiates by itself."""
    net = nn.Linear(4, 3)
    opt = optim.SGD(net.parameters(), lr=0.1)
    seen = []

    def forward(x):
        seen.append(x.requires_grad)
        return net(x).square().sum()

    def train(x):
        opt.zero_grad()
        loss = forward(x)
        loss.backward()
        opt.step()
        return loss

    for given, expected in ((X, False), (sg.tensor(X), False), (sg.tensor(X, requires_grad=True), True)):
        result = sg.compare(train, given, repeats=3, modes=[])
        assert set(result["eager"].gradients) == {"weight", "bias", *(["x"] if expected else [])}
        assert set(seen) == {expected}
        seen.clear()
    result = sg.compare(forward, X, repeats=3, order=1, modes=[])
    assert seen == [False] * 6 + [True] * 3  # the tape, a first call, those that are timed, memory; gradients by x
    assert set(result["eager"].gradients) == {"x", "weight", "bias"}


def test_one_rule_says_whether_modes_agree():
    """A gradient that cancels is rounding of larger terms; an optimizer that divides by its size makes steps of that."""
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))
    opt = optim.Adam(net.parameters())

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        return loss

    result = sg.compare(step, X, Y, repeats=2)
    assert np.abs(result["eager"].gradients["0.bias"]).max() < 1e-6  # batch normalization takes it away
    assert result.agree()
    assert " agree in values, updates and gradients" in result.verdict
    for units in re.findall(r"\(([\d.e+]+) ULP", str(result)):
        assert float(units) <= 1e4
    wrong = result["compiled"]
    for name, what in (("values", "result"), ("values", "3.weight after"), ("gradients", "3.weight")):
        kept = getattr(wrong, name)[what]
        getattr(wrong, name)[what] = kept * 1.001
        wrong.differences = [*differences(wrong, result["eager"])]
        assert not result.agree()
        assert result.verdict.startswith(f"The modes DISAGREE: {'gradient of ' * (name == 'gradients')}{what} in compiled")
        assert result.agree(rtol=0.01)
        getattr(wrong, name)[what] = kept


@pytest.mark.parametrize(("size", "agrees"), [(1e-8, True), (1e-5, False)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_differences_of_a_value_near_zero(size, agrees, dtype):
    eager = Mode("eager", values={"loss": np.ones((), dtype)}, gradients={"w": np.zeros(3, dtype)})
    other = Mode("compiled", values={"loss": np.ones((), dtype)}, gradients={"w": np.full(3, size, dtype)})
    other.differences = [*differences(other, eager)]
    result = Comparison("step", [eager, other])
    assert result.agree() == ("DISAGREE" not in result.verdict) == (agrees and dtype == "float32")
    assert "ULP" not in str(result).split("gradient of w")[1].splitlines()[0]


# what can't be run, and what differs ------------------------------------------------------------------------------------


def python_if(x):
    return x * 2 if x.sum() > 0 else x


def python_number(x):
    return x * 2 if float(x.sum()) > 0 else x


def python_only(x):
    return sg.tensor(np.sort(x.detach().numpy(), axis=0))


@pytest.mark.parametrize(
    ("fn", "session", "compiled"),
    [
        (python_if, "TraceError: ", "TraceError: "),
        (python_only, "", "TraceError: "),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_modes_that_can_not_run_a_function(fn, session, compiled):
    result = sg.compare(fn, X, repeats=1)
    assert result["session"].error.startswith(session)
    assert result["session"].error
    assert result["compiled"].error.startswith(compiled)
    assert not result.agree()
    assert "could not be run: " in str(result)
    assert result["eager"].values


def test_what_the_function_raises_eagerly_is_raised():
    with pytest.raises(sg.ShapeError, match="matmul: inner sizes differ"):
        sg.compare(lambda x: x @ x, X)


def test_integers_have_no_gradients_and_wrong_results_are_seen():
    result = sg.compare(lambda i, x: x[i], Y, X, repeats=1, order=1)
    assert result.agree()
    assert list(result["eager"].gradients) == ["x"]
    result["compiled"].values["result"] = result["compiled"].values["result"] + 1
    result["compiled"].differences = [*differences(result["compiled"], result["eager"])]
    assert not result.agree()
    assert "DISAGREE" in result.verdict


def test_differences_are_measured():
    calls = []

    def changes(x):
        calls.append(1)
        return x * (2.0 if len(calls) <= 4 else 2.5)

    result = sg.compare(changes, np.ones(3, np.float32), repeats=1, order=0, modes=["compiled"])
    found = difference(result["compiled"], "result")
    assert found.absolute == 0.5
    assert found.ulps == 0.5 / np.spacing(np.float32(2))
    assert not result.agree()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values_are_equal_to_themselves(value):
    result = sg.compare(lambda x: x * 1, np.array([value, 0.0, -0.0], np.float32), repeats=1, order=1)
    assert result.agree()
    assert all(d.absolute == 0 for mode in result.modes[1:] for d in mode.differences)


def test_no_elements():
    assert sg.compare(lambda x: x * 2, X[:0], repeats=1, order=1).agree()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"modes": ["fast"]}, "unknown mode 'fast'"),
        ({"order": 3}, "order must be 0, 1 or 2, got 3"),
        ({"order": True}, "order must be 0, 1 or 2, got True"),
        ({"peers": {"session": np.exp}}, "'session' is a mode, and can't be the name of a peer"),
        ({"repeats": 0}, "repeats must be at least 1, got 0"),
        ({"repeats": True}, "repeats must be at least 1, got True"),
    ],
)
def test_errors(options, text):
    with pytest.raises(sg.ArgumentError, match=text):
        sg.compare(sg.exp, X, **options)
    with pytest.raises(sg.ArgumentError, match="there is no mode 'slow'"):
        sg.compare(sg.exp, X, repeats=1, order=0, modes=[])["slow"]
    assert [mode.name for mode in sg.compare(sg.exp, X, repeats=1, order=0, modes=["session"]).modes] == ["eager", "session"]


# second gradients, times, peers, texts ----------------------------------------------------------------------------------


def test_second_gradients_are_hessian_times_gradient():
    x = np.array([1.0, 2.0, 3.0])
    result = sg.compare(lambda x: x**3, x, repeats=1)
    for mode in result.modes:
        np.testing.assert_allclose(mode.gradients["x"], 3 * x**2)
        np.testing.assert_allclose(mode.seconds["x"], 6 * x * 3 * x**2)
    assert [d.kind for d in result["compiled"].differences] == ["value", "gradient", "second gradient"]
    assert "values, gradients and second gradients" in result.verdict
    linear = sg.compare(lambda x: x * 2, x, repeats=1, modes=["session"])
    assert [mode.seconds for mode in linear.modes] == [{"x": None}, {"x": None}]
    assert linear.agree()


def test_a_step_that_minimizes_runs_in_all_modes_with_its_losses_and_graphs():
    training = Training(lambda p: optim.SGD(p, lr=0.1))
    training.model.eval()

    def step(x, y):
        loss = F.cross_entropy(training.model(x), y)
        return loss, training.opt.minimize(loss)

    result = sg.compare(step, X, Y, repeats=5)
    assert result.ok, result
    assert all(len(mode.losses) == 6 and mode.losses[5] < mode.losses[0] for mode in result.modes)
    np.testing.assert_allclose([mode.losses for mode in result.modes], [result.modes[0].losses] * 3, rtol=1e-5)
    eager, session, compiled = result.modes
    assert any(name.startswith("grad/") for name in eager.graph.outputs)
    assert any(node.op.name == "assign" for node in session.graph.nodes)
    assert compiled.plan.kernels == compiled.kernels
    assert (compiled.cuts, len(compiled.recompiles)) == (0, 1)
    assert all(len(mode.times_us) == 5 and mode.quantiles_us == sorted(mode.quantiles_us) for mode in result.modes)


def test_a_peer_of_numpy_has_values_alone():
    result = sg.compare(
        lambda x: sg.tanh(x).sum(), X, repeats=2, order=1, modes=[], peers={"numpy": lambda x: np.tanh(x).sum()}
    )
    assert result["numpy"].values_only
    assert result["numpy"].gradients == {}
    assert result.agree()
    assert "numpy (values only)" in str(result)
    assert "fastest" not in result.verdict  # there is nothing to compare its time with
    failing = sg.compare(sg.exp, X, repeats=1, order=0, modes=[], peers={"mine": lambda x: x.no_such})
    assert failing["mine"].error.startswith("AttributeError: ")
    assert failing.verdict == "No other mode could be run. Could not be run: mine."


def test_cuts_are_counted(monkeypatch):
    monkeypatch.setattr(settings, "default_break", "split")
    result = sg.compare(python_number, np.abs(X), repeats=1, order=0, modes=["compiled"])
    assert result["compiled"].cuts == 1
    assert result.agree()


def comparison(*modes):
    """Modes whose figures are known."""
    made = [Mode(name, times_us=[us] * 4, first_ms=first, peak_bytes=1500) for name, us, first in modes]
    made[1].differences = [Difference("gradient of <w>", 1e-7, 1.0, 2e-7, "gradient", 1e-5)]
    return Comparison("step[0]", made)


def test_verdicts():
    result = comparison(("eager", 1000.0, 2.0), ("compiled", 20.0, 100.0))
    assert result.verdict == (
        "eager and compiled agree in gradients: they differ by at most 2e-07 of the largest element "
        "(gradient of <w>, compiled). compiled is fastest with 20 us a step, which is 50x eager's speed. Building it "
        "costs 98 ms once, which pays after 100 steps."
    )
    result["compiled"].differences[0].relative = 1e-3
    assert result.verdict.startswith("The modes DISAGREE: gradient of <w> in compiled is off by 1.0e-07, 1e-03 of its largest")
    close = comparison(("eager", 25.0, 2.0), ("compiled", 20.0, 1.0))
    assert close.verdict.endswith("which is 1.2x eager's speed (under 1.3x is a tie: eager).")


def test_json_html_and_terminal(monkeypatch, tmp_path):
    result = comparison(("eager", 1000.0, 2.0), ("compiled", 20.0, 100.0))
    result["compiled"].differences[0].ulps = np.inf
    text = result.to_json(tmp_path / "result.json")
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(text)
    found = json.loads(text)
    assert found["verdict"] == result.verdict
    assert found["modes"][1]["differences"][0]["ulps"] is None
    assert found["modes"][0]["quantiles_us"] == [1000.0] * 5
    assert "<td>gradient of &lt;w&gt;</td>" in result._repr_html_()
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    shown = str(result)
    assert "verdict" in shown
    assert "\x1b[" in shown
    assert "step[0]" in shown


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_twins_in_pytorch_and_jax(dtype):
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    twins = {"torch": lambda x, w, i: torch.tanh(x @ w)[i], "jax": lambda x, w, i: jnp.tanh(x @ w)[i]}
    result = sg.compare(lambda x, w, i: sg.tanh(x @ w)[i], X.astype(dtype), W.astype(dtype), Y, repeats=2, peers=twins)
    assert result.ok, result
    assert result.agree(rtol=1e-4, atol=1e-5), result
    for name in twins:
        assert list(result[name].seconds) == ["x", "w"]
        assert result[name].values["result"].dtype == dtype
