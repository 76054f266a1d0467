"""How many kernels a step has, and how many are compiled: structure counts, extents and numbers don't."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.compiler.backend import kernel_cache
from staticgrad.compiler.backend.kernel_cache import Counters
from staticgrad.compiler.lower import instruction_builder
from staticgrad.errors import IndexRangeError
from staticgrad.ir.text import verify

rng = np.random.default_rng(0)
X = rng.standard_normal((64, 64)).astype(np.float32)
Y = rng.integers(0, 10, 64)


def made():
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    opt = optim.Adam(model.parameters(), lr=1e-3)

    @sg.compile
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return model, opt, step


def test_kernels_of_the_digits_step():
    _, _, step = made()
    step(X, Y)
    kinds = [row.kind for row in step.plan.instructions]
    assert step.plan.kernels == 6  # bias+relu; count of targets; loss and dlogits; relu backward; scalars of Adam; Adam
    assert step.plan.host_calls == 0
    products = ", ".join(row.name for row in step.plan.instructions if row.kind == "gemm")
    assert products == "64x64x128, 64x128x10, 64x10x128, 10x64x128, 128x64x64"
    assert kinds.count("kernel") == 9  # Adam's runs once per parameter
    assert kinds.count("copy") == 0


@pytest.mark.parametrize("size", [1, 0, 7, 63])
def test_a_new_batch_size_compiles_nothing(size):
    _, _, step = made()
    step(X, Y)
    before = Counters.compiled + Counters.from_disk
    loss = step(X[:size], Y[:size])
    assert Counters.compiled + Counters.from_disk == before
    assert np.isnan(loss.item()) if size == 0 else loss.item() > 0


@pytest.mark.parametrize("size", [1, 0, 7])
def test_a_new_batch_size_compiles_nothing_in_a_session(size):
    with sg.Graph().as_default():
        x, y = sg.placeholder(sg.float32, [None, 64]), sg.placeholder(sg.int64, [None])
        w, b = sg.Variable(np.zeros((64, 10), np.float32)), sg.Variable(np.zeros(10, np.float32))
        loss = F.cross_entropy(x @ w + b, y)
        train = optim.SGD(lr=0.1).minimize(loss)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run([loss, train], {x: X, y: Y})
            before = Counters.compiled + Counters.from_disk
            sess.run([loss, train], {x: X[:size], y: Y[:size]})
            assert Counters.compiled + Counters.from_disk == before


def test_a_learning_rate_schedule_compiles_and_traces_nothing():
    _, opt, step = made()
    step(X, Y)
    before, traces = Counters.compiled + Counters.from_disk, len(step.recompiles)
    for lr in (1e-2, 1e-4, 3e-5):
        opt.lr = lr
        step(X, Y)
    assert Counters.compiled + Counters.from_disk == before
    assert len(step.recompiles) == traces


def test_equal_layers_share_kernels():
    model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(16, 16), nn.Tanh())])
    forward = sg.compile(lambda x: model(x))
    forward(rng.standard_normal((8, 16)).astype(np.float32))
    assert forward.plan.kernels == 1
    assert sum(row.kind == "kernel" for row in forward.plan.instructions) == 6


def test_a_bad_label_changes_nothing():
    model, opt, step = made()
    step(X, Y)
    before = [p.detach().numpy().copy() for p in model.parameters()]
    slots = [s.numpy().copy() for state in opt.state.values() for s in state.values()]
    with pytest.raises(IndexRangeError, match=r"Target 10 is out of bounds\."):
        step(X, np.full(64, 10))
    assert all((p.detach().numpy() == b).all() for p, b in zip(model.parameters(), before, strict=True))
    after = [s.numpy() for state in opt.state.values() for s in state.values()]
    assert all((a == b).all() for a, b in zip(after, slots, strict=True))
    assert np.isfinite(step(X, Y).item())


def test_threads_give_the_values_of_one_thread(monkeypatch):
    _, _, serial = made()
    expected = [serial(X, Y).item() for _ in range(5)]
    monkeypatch.setattr(instruction_builder, "PARALLEL_WORK", 0)
    monkeypatch.setattr(instruction_builder, "get_num_threads", lambda: 2)
    _, _, parallel = made()
    found = [parallel(X, Y).item() for _ in range(5)]
    assert any(row.chunks == 2 for row in parallel.plan.instructions)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    again = made()[2]
    assert [again(X, Y).item() for _ in range(5)] == found  # deterministic for a number of threads


def test_two_threads_run_one_step():
    model, _, step = made()
    step(X, Y)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(100):
                step(X, Y)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors
    assert all(np.isfinite(p.detach().numpy()).all() for p in model.parameters())


PROGRAM = """
import os, sys
import numpy as np
import staticgrad as sg
from staticgrad import functional as F, nn, optim
from staticgrad.compiler.backend.kernel_cache import Counters
sg.manual_seed(0)
model = nn.Linear(4, 3)
opt = optim.SGD(model.parameters(), lr=0.1)
@sg.compile
def step(x, y):
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    return loss
x, y = np.ones((5, 4), np.float32), np.zeros(5, np.int64)
first = step(x, y).item()
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        os._exit(0 if step(x, y).item() < first else 1)
    assert os.waitpid(child, 0)[1] == 0
print(Counters.compiled, Counters.from_disk)
"""


def run(tmp_path, *args: str) -> str:
    env = {**os.environ, "STATICGRAD_CACHE_DIR": str(tmp_path / "kernels")}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, *args], capture_output=True, text=True, env=env, timeout=120, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_a_second_process_compiles_nothing(tmp_path):
    compiled, from_disk = map(int, run(tmp_path).split())
    assert compiled > 0
    assert from_disk == 0
    assert run(tmp_path) == f"0 {compiled}"
    folder = tmp_path / "kernels"
    assert folder.stat().st_mode & 0o077 == 0
    for file in folder.glob("k*.o"):  # something that is no machine code
        file.write_bytes(b"damaged")
        break
    assert run(tmp_path) == f"1 {compiled - 1}"


BEGUN = """
from staticgrad.compiler.backend.compile_pool import pool
before = pool().given
from staticgrad.compiler import pipeline
print(before, pool().given)
"""


@pytest.mark.parametrize("tiers", ["0", "1"])
def test_a_worker_begins_with_the_runtime_where_workers_compile(tiers: str, tmp_path):
    env = {**os.environ, "STATICGRAD_CACHE_DIR": str(tmp_path / "kernels"), "STATICGRAD_TIERS": tiers}
    found = subprocess.run([sys.executable, "-c", BEGUN], capture_output=True, text=True, env=env, timeout=120, check=False)
    assert (found.stdout, found.stderr) == (f"0 {tiers}\n", "")


def test_a_forked_child_works(tmp_path):
    assert run(tmp_path, "fork")


def test_comments_are_not_part_of_a_kernel():
    assert kernel_cache.without_comments("a = b  # %3 add  x.py:1\nc = a\n") == "a = b\nc = a\n"


def test_every_stage_is_well_formed_and_means_the_same():
    from staticgrad.base.types import TensorType
    from staticgrad.compiler.passes.specialize import functionalize
    from staticgrad.compiler.pipeline import compile_plan
    from staticgrad.ir.graph import interpret

    with sg.Graph().as_default() as graph:
        x, y = sg.placeholder(sg.float32, [None, 64]), sg.placeholder(sg.int64, [None])
        w = sg.placeholder(sg.float32, [64, 10])
        loss = F.cross_entropy(sg.tanh(x) @ w, y)
        (dw,) = sg.gradients(loss, [w])
    ready = functionalize(graph, [loss.node, dw.node], [x.node, y.node, w.node])
    arrays = [X, Y, rng.standard_normal((64, 10)).astype(np.float32)]
    known = {n: TensorType(a.shape, n.type.dtype) for n, a in zip(ready.feeds, arrays, strict=True)}
    stages = []

    def inspect(stage, graph, results):
        verify(graph, static=True)
        feeds = sorted((n for n in graph.nodes if n.op.leaf == "placeholder"), key=lambda n: arrays_of[n.type])
        values = interpret(graph, results, {n: arrays[arrays_of[n.type]] for n in feeds})
        stages.append((stage, [values[r] for r in results]))

    arrays_of = {t: i for i, t in enumerate(known.values())}
    compile_plan(ready, known, inspect)
    assert [stage for stage, _ in stages] == ["specialize", "check", "stabilize", "expand", "simplify"]
    for _, values in stages[1:]:
        for value, expected in zip(values, stages[0][1], strict=True):
            np.testing.assert_allclose(value, expected, rtol=2e-5, atol=1e-6)
