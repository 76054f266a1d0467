"""Plans in the kernel cache: what is read is what the compiler makes, and anything that differs is compiled."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.base.types import TensorType
from staticgrad.compat.tf1.slopes import softsign as tf1_softsign
from staticgrad.compiler import pipeline, plan_store
from staticgrad.compiler.backend import disk_cache, kernel_cache
from staticgrad.compiler.execute.stored_plan import StoredPlan
from staticgrad.compiler.runtime import loader
from staticgrad.eager.calls import kernels
from staticgrad.eager.grad_mode import modes
from staticgrad.ir import REGISTRY
from staticgrad.operators import apply
from staticgrad.ops.rules import elementwise_op
from tests.helpers import taken


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """The kernel cache, in which plans of this test alone are kept; those of eager operations are not."""
    monkeypatch.setenv("STATICGRAD_PLANS", "1")
    monkeypatch.setattr(plan_store, "_code", lambda: str(tmp_path))
    written, keep = [], disk_cache.keep
    monkeypatch.setattr(disk_cache, "keep", lambda name, *rest: written.append(name) or keep(name, *rest))
    with sg.eager_kernels(False):
        yield lambda: sorted({Path(disk_cache.folder()) / name for name in written if name.startswith("p")})


@pytest.fixture
def passes(monkeypatch):
    """Counts the plans that are compiled."""
    made = []
    compiled = pipeline.specialized_plan
    monkeypatch.setattr(pipeline, "specialized_plan", lambda *given: made.append(1) or compiled(*given))
    return made


DATA = np.random.default_rng(0).normal(size=(8, 6)).astype("float32")
LABELS = np.arange(8) % 3


def training(rate=0.05, dropout=0.0, width=5, dtype="float32", optimizer=optim.Adam, **options):
    """A compiled step, made anew as in another process."""
    sg.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, width), nn.LayerNorm(width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, 3))
    model.to(dtype)
    opt = optimizer(model.parameters(), lr=rate)

    @sg.compile(**options)
    def step(x, y):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss

    return step, model, opt


def losses(step, n=5, x=DATA, y=LABELS):
    return [np.asarray(step(x, y).detach()).tobytes() for _ in range(n)]


def bits(model):
    return [p.detach().numpy().tobytes() for p in model.parameters()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_plan_that_is_read_computes_the_same_bits(passes, dtype, dropout):
    x = DATA.astype(dtype)
    first, model, _ = training(dropout=dropout, dtype=dtype)
    wanted, weights = losses(first, x=x), bits(model)
    assert not isinstance(first.plan, StoredPlan)
    assert len(passes) == 1
    again, model, _ = training(dropout=dropout, dtype=dtype)
    assert losses(again, x=x) == wanted
    assert bits(model) == weights
    assert isinstance(again.plan, StoredPlan)
    assert len(passes) == 1


KINDS = ["float16", "bfloat16", "complex64"]


def of_kind(dtype):
    """Losses of a compiled step, of a Session, and of eager training, in numbers of a kind."""
    x = sg.tensor(DATA, dtype=dtype) * (1 + 2j if dtype.startswith("complex") else 1)
    found = []

    def loss_of(w, x):
        y = sg.fft.fft(x @ w, dim=0) if x.is_complex() else (x @ w).softmax(1)
        return (y * y.conj()).real.mean() if x.is_complex() else (y * y).mean()

    def trained(w, opt):
        opt.zero_grad()
        loss = loss_of(w, x)
        loss.backward()
        opt.step()
        return loss.detach()

    for compiled in (True, False):
        for table in (kernels.shared, kernels.by_numpy, modes.now.calls):
            table.clear()
        w = nn.Parameter(sg.ones(6, 3, dtype=dtype) * 0.5)
        opt = optim.SGD([w], lr=0.1)
        step = sg.compile(lambda w=w, opt=opt: trained(w, opt)) if compiled else lambda w=w, opt=opt: trained(w, opt)
        found += [step().item() for _ in range(5)]
    with sg.Graph().as_default() as graph:
        place, w = sg.placeholder(dtype, (None, 6)), sg.Variable(np.ones((6, 3), x.dtype.numpy))
        loss = loss_of(w.value(), place)
        (g,) = sg.gradients(loss, [w])
        (second,) = sg.gradients((g * g.conj()).real.sum() if x.is_complex() else g.sum(), [w])
        with sg.Session(graph) as session:
            session.run(sg.global_variables_initializer())
            found += [value.astype("complex128").sum().item() for value in session.run([loss, g, second], {place: x.numpy()})]
    return found


def test_dtypes_of_16_bits_have_plans_of_their_own(passes):
    """bfloat16 is a dtype without a letter of its own in NumPy."""
    bits = np.arange(16000, 16024, dtype=np.uint16).reshape(4, 6)
    kinds = [np.dtype(sg.dtype(kind)) for kind in ("float16", "bfloat16", "uint16", "int16")]
    for _ in range(2):
        for kind in kinds:
            x = sg.tensor(bits.view(kind))
            found = sg.compile(lambda x: x @ x.T)(x)
            np.testing.assert_array_equal(found.numpy(), (x @ x.T).numpy())
            assert found.dtype == kind
    assert len(passes) == len(kinds)
    step = sg.compile(lambda x: x @ x.T)
    assert [step(sg.tensor(bits.view(kind))).dtype for kind in kinds] == kinds
    description = plan_store.Description()
    assert len({description.text(value) for kind in kinds for value in (kind, TensorType((2,), kind))}) == 2 * len(kinds)


def test_a_session_reads_its_plans(passes):
    def run():
        graph = sg.Graph()
        with graph.as_default():
            x = sg.placeholder("float32", (None, 6))
            w = sg.Variable(np.ones((6, 3), "float32"))
            loss = sg.square(x @ w - 1.0).mean()
            (g,) = sg.gradients(loss, [w])
            (second,) = sg.gradients(sg.square(g).sum(), [w])
            update = w.assign(w - 0.1 * g - 0.01 * second)
            with sg.Session(graph) as session:
                session.run(sg.global_variables_initializer())
                return [session.run([loss, update], {x: DATA})[0].tobytes() for _ in range(4)] + [session.run(w).tobytes()]

    wanted, made = run(), len(passes)
    assert made
    assert run() == wanted
    assert len(passes) == made


def test_hyperparameters_are_read_at_each_run(passes):
    losses(training(rate=0.05)[0])
    step, _, opt = training(rate=0.2)
    found = losses(step, 2)
    opt.param_groups[0]["lr"] = 0.0
    found += losses(step, 2)
    assert isinstance(step.plan, StoredPlan)
    os.environ["STATICGRAD_PLANS"] = "0"
    step, _, opt = training(rate=0.2)
    wanted = losses(step, 2)
    opt.param_groups[0]["lr"] = 0.0
    assert found == wanted + losses(step, 2)


def test_a_shape_that_takes_a_template_does_not_read_a_plan_that_was_made_without(passes, monkeypatch):
    """One seed gives one result, whichever shapes earlier processes met first."""

    def run(*rows):
        step = scaled(axis=1)
        return [(step(DATA[:n]).numpy().tobytes(), isinstance(step.plan, StoredPlan)) for n in rows]

    run(8, 5)
    bits, read = zip(*run(5, 8), strict=True)
    assert read == (False, False)
    again, read = zip(*run(5, 8), strict=True)
    assert read == (True, False)
    monkeypatch.setenv("STATICGRAD_PLANS", "0")
    assert [found for found, _ in run(5, 8)] == [*bits] == [*again]


UNCHANGED = sg.graph_pass("simplify")(lambda graph: graph)


def test_a_decision_that_misses_compiles_nothing(passes):
    def stepped():
        @sg.compile(wait=True)
        def step(x):
            y = x * 2
            return y.sum() if y.sum() > 0 else y.prod()

        return [step(x * DATA[:, 0]).item() for x in (1, -1, 1)]

    expected, made = stepped(), len(passes)
    assert made == 2
    assert stepped() == expected
    assert len(passes) == made


def scaled(by=2.0, axis=0, extra=None, **options):
    table = np.arange(6, dtype="float32") if extra is None else extra
    return sg.compile(lambda x: sg.exp(x * by + sg.tensor(table)).sum(axis), **options)


@pytest.mark.parametrize(
    ("change", "made"),
    [
        ({"by": 3.0}, 2),
        ({"by": -0.0}, 2),
        ({"axis": 1}, 2),
        ({"extra": np.full(6, 2, "float32")}, 1),  # an array is an input
        ({"extra": np.arange(600, 606, dtype="float64")}, 2),
    ],
)
def test_another_attribute_or_constant_is_another_plan(passes, change, made):
    scaled()(DATA)
    scaled()(DATA)
    assert len(passes) == 1
    step = scaled(**change)
    found = np.asarray(step(DATA))
    assert len(passes) == made
    os.environ["STATICGRAD_PLANS"] = "0"
    np.testing.assert_array_equal(found, np.asarray(scaled(**change)(DATA)))


def test_other_shapes_dtypes_and_threads_are_other_plans(passes):
    scaled()(DATA)
    scaled()(DATA[:4])
    scaled()(DATA.astype("float64"))
    threads = sg.get_num_threads()
    try:
        sg.set_num_threads(threads + 1)
        scaled()(DATA)
    finally:
        sg.set_num_threads(threads)
    assert len(passes) == 4
    scaled()(DATA)
    scaled()(DATA[:4])
    assert len(passes) == 4


DAMAGE = {
    "half": lambda whole: whole[: len(whole) // 2],
    "nothing": lambda whole: b"",
    "other end": lambda whole: whole[:-3] + b"abc",
    "a byte": lambda whole: whole[:50] + bytes([whole[50] ^ 255]) + whole[51:],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_made_again(passes, cache, damage):
    wanted = losses(training()[0])
    (file,) = cache()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    step = training()[0]
    assert losses(step) == wanted
    assert len(passes) == 2
    assert file.read_bytes() == whole
    assert losses(training()[0]) == wanted
    assert len(passes) == 2


def test_a_plan_whose_kernels_are_gone_is_compiled(passes, monkeypatch):
    wanted = losses(training()[0])
    monkeypatch.setattr(kernel_cache, "stored", lambda file, name: 0)
    assert losses(training()[0]) == wanted
    assert len(passes) == 2


def test_a_cache_that_cannot_be_used_compiles(passes, monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(folder))
    with pytest.warns(RuntimeWarning, match="is not used"):
        scaled()(DATA)
    scaled()(DATA)
    assert len(passes) == 2


def test_explanations_and_sources_are_those_of_the_compiled_plan(passes):
    def text(plan):
        graph = plan.graph
        return (
            str(plan), str(plan.explain()), str(plan.explain(detail=True)), plan.source(),
            [graph.nodes[n]["name"] for n in graph], [str(n) for n in plan.stages.graph("simplify").nodes], repr(plan),
        )  # fmt: skip

    first, again = training()[0], training()[0]
    first(DATA, LABELS)
    again(DATA, LABELS)
    assert isinstance(again.plan, StoredPlan)
    assert text(again.plan) == text(first.plan)
    assert len(passes) == 2
    losses(again)
    assert again.plan.profile(repeats=2).total > 0
    assert "the plans are the same" in str(again.plan.diff(first.plan))


def test_a_plan_that_was_read_can_be_exported(tmp_path):
    scaled()(DATA)
    step = scaled()
    wanted = np.asarray(step(DATA))
    step.plan.export(tmp_path / "step")
    sys.path.insert(0, str(tmp_path))
    try:
        import step as exported

        np.testing.assert_array_equal(np.asarray(exported.load()(DATA)), wanted)
    finally:
        sys.path.remove(str(tmp_path))


def test_errors_name_the_line_of_this_program(passes):
    def make():
        return sg.compile(lambda x, at: sg.exp(x)[at].sum())

    make()(DATA, np.array([1, 2]))
    step = make()
    step(DATA, np.array([1, 2]))
    assert isinstance(step.plan, StoredPlan)
    with pytest.raises(sg.IndexRangeError, match=r"test_plan_store\.py") as error:
        step(DATA, np.array([1, 99]))
    assert "sg.exp(x)[at]" in str(error.value) or "test_plan_store.py" in str(error.value)


def test_another_shape_rebinds_the_plan_that_was_read(passes):
    def lines(step):
        return [np.asarray(step(x)).tobytes() for x in (DATA, DATA[:5], DATA[:3])], [str(line) for line in step.recompiles]

    os.environ["STATICGRAD_PLANS"] = "0"
    values, wanted = lines(scaled(axis=1))
    os.environ["STATICGRAD_PLANS"] = "1"
    scaled(axis=1)(DATA)
    found, told = lines(scaled(axis=1))
    assert found == values
    assert told == wanted


@pytest.mark.parametrize("options", [{"numerics": "strict"}, {"memory_budget": 1.0}, {"passes": [UNCHANGED]}])
def test_plans_with_settings_of_their_own_are_not_kept(cache, options):
    scaled(**options)(DATA)
    assert not cache()


def doubled(factor):
    """A step whose backward pass is the user's rule."""

    class Twice(sg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * factor

    @sg.compile
    def step(x):
        x = x.detach().requires_grad_()
        (g,) = sg.autograd.grad(Twice.apply(x).sum(), [x])
        return g

    return step


def test_another_rule_of_the_user_is_another_plan(passes):
    for factor in (3, 5, 3):
        np.testing.assert_array_equal(np.asarray(doubled(factor)(sg.tensor(DATA))), np.full_like(DATA, factor))
    assert len(passes) == 2


def gaussian(k):
    """A step with an op of the user's, of the kind that docs/extending.md describes."""
    op = elementwise_op(
        "gaussian",
        lambda x: np.exp(-k * x * x),
        lambda g, node, out, x: -2 * k * g * x * out,
        scalar=lambda op, x: op.exp(-k * x * x),
        cost=20,
        doc="exp(-k x^2), elementwise.",
        names=(),
    )
    return sg.compile(lambda x: apply(op, x) * 2)


def test_an_op_of_the_user_is_not_kept(cache):
    for k in (1.0, 2.0):
        np.testing.assert_allclose(np.asarray(gaussian(k)(DATA)), np.exp(-k * DATA * DATA) * 2, rtol=1e-6)
        del REGISTRY["gaussian"]  # as in another process
    assert not cache()


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: nn.functional.binary_cross_entropy(x.sigmoid(), x.sigmoid()),
        lambda x: tf1_softsign(x).sum(),
    ],
    ids=["functional", "tf1"],
)
def test_ops_of_modules_that_are_imported_late_are_kept(passes, loss):
    found = [np.asarray(sg.compile(loss)(sg.tensor(DATA))).tobytes() for _ in range(2)]
    assert found[0] == found[1]
    assert len(passes) == 1


def test_every_op_of_the_package_is_its_own():
    """Those of modules that no table of names leads to are, too, and whoever imports them first."""
    program = """
import importlib
import staticgrad
for name in ("ops.communication", "functional.classification", "distributions.utils", "compat.tf1.slopes"):
    importlib.import_module(f"staticgrad.{name}")
from staticgrad.ir import REGISTRY, built_in
from staticgrad.ops.rules import elementwise_op
own = [name for name in REGISTRY]
user = elementwise_op("users", abs, abs, scalar=lambda op, x: x, cost=1, doc="An op.", names=())
print([name for name in own if not built_in(REGISTRY[name])], built_in(user), "all_reduce" in own)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[] False True\n"


@pytest.mark.parametrize("change", ["set_num_threads", "affinity"])
def test_what_a_plan_says_does_not_depend_on_the_number_of_threads_by_then(passes, monkeypatch, change):
    def make():
        return sg.compile(lambda x, at: (sg.exp(x) @ sg.sin(x).T)[at].sum())

    monkeypatch.setattr(loader, "_count", None)
    x = np.ones((300, 200), "float32")
    make()(x, np.array([1, 2]))
    step = make()
    step(x, np.array([1, 2]))
    assert isinstance(step.plan, StoredPlan)
    if change == "affinity":
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(7)))
    else:
        monkeypatch.setattr(loader, "_count", sg.get_num_threads() + 1)
    with pytest.raises(sg.IndexRangeError, match=r"test_plan_store\.py"):
        step(x, np.array([1, 999]))
    assert "generated kernels" in str(step.plan.explain())


def test_programs_that_python_takes_part_in_are_not_kept(cache):
    sg.compile(lambda x: sg.linalg.svdvals(x[:6, :6]))(DATA)
    assert not cache()


def test_segments_read_their_plans(passes):
    def make():
        @sg.compile
        def step(x):
            y = sg.exp(x).sum()
            return y * 2 if float(y) > 0 else y - 1

        return step

    wanted, made = np.asarray(make()(DATA)), len(passes)
    np.testing.assert_array_equal(np.asarray(make()(DATA)), wanted)
    assert len(passes) == made


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eager_operations_backward_passes_and_steps_of_optimizers_read_their_plans(passes, dtype):
    def run():
        for table in (kernels.shared, kernels.by_numpy, modes.now.calls):
            table.clear()
        w = nn.Parameter(np.ones((311, 311), dtype))
        opt = optim.Adam([w], lr=0.01)
        found = []
        for _ in range(4):
            opt.zero_grad()
            loss = nn.functional.gelu(sg.exp(-w) * w.T).sum()
            loss.backward()
            opt.step()
            found.append(loss.detach().numpy().tobytes())
        return found, w.detach().numpy().tobytes()

    with sg.eager_kernels(wait=True):
        wanted, made = run(), len(passes)
        assert made
        assert run() == wanted
        calls = [call for key, call in taken().items() if key[0] == "backward of a tape"]
    assert [call.plan.__class__ for call in calls] == [StoredPlan]
    assert len(passes) == made


OF_KIND = """
import sys, staticgrad as sg
from staticgrad.compiler import pipeline, plan_store
plan_store._code = lambda: sys.argv[1]
made, compiled = [], pipeline.specialized_plan
pipeline.specialized_plan = lambda *given: made.append(1) or compiled(*given)
from tests.compiler.test_plan_store import KINDS, of_kind
with sg.eager_kernels(wait=True):
    found = [of_kind(dtype) for dtype in KINDS]
print(len(made), found)
"""


def test_a_second_process_compiles_no_plan_of_any_kind_of_number(tmp_path):
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", OF_KIND, str(tmp_path)]
    first, second = (
        subprocess.run(command, env=env, cwd=root, capture_output=True, text=True, check=True).stdout.partition(" ")
        for _ in range(2)
    )
    assert int(first[0]) > 2 * len(KINDS)
    assert second == ("0", " ", first[2])


PROGRAM = """
import sys, numpy as np, staticgrad as sg
from staticgrad.compiler import plan_store
plan_store._code = lambda: sys.argv[1]
from tests.compiler.test_plan_store import training, losses
step, model, opt = training()
found = losses(step, 3)
sg.wait_for_kernels()
found += losses(step, 3)
print(type(step.plan).__name__, b"".join(found).hex())
"""


@pytest.mark.parametrize("tiers", ["0", "1"])
def test_two_processes_at_once(tiers, tmp_path):
    root = Path(__file__).parents[2]
    env = {**os.environ, "STATICGRAD_TIERS": tiers, "PYTHONPATH": str(root)}

    def both():
        command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        run = [subprocess.Popen(command, env=env, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        return [process.communicate(timeout=300)[0].split() for process in run]

    cold, warm = both(), both()
    assert [kind for kind, _ in warm] == ["StoredPlan"] * 2
    (_, a), (_, b) = warm
    assert a == b
    if tiers == "0":
        assert {values for _, values in cold} == {a}
