"""Random numbers in the bodies of loops and branches: fresh in every iteration, and the same in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager import generator
from staticgrad.ir.text import verify
from staticgrad.ops.random import stream_seed
from tests.control.programs import Case, agree, both, compiled, derived, drawn, in_session, tensors
from tests.helpers import real

pytestmark = pytest.mark.usefixtures("few_kernels")

C, W, X = real(2, 3), real(3, 3, low=-0.7, high=0.7), real(4, 2, 3)


def cell(h: Any, v: Any, w: Any) -> tuple[Any, Any]:
    h = sg.dropout(sg.tanh(h @ w + v), 0.3)
    return h, h * sg.randn(2, 3, dtype=h.dtype)


def scanned(c: Any, w: Any, x: Any) -> Any:
    """With draws before the loop and behind it."""
    c = sg.dropout(c, 0.2)
    last, ys = sg.scan(lambda h, v: cell(h, v, w), c, x)
    return both(sg.dropout(last, 0.5), ys)


def backwards(c: Any, w: Any, x: Any) -> Any:
    return both(*sg.scan(lambda h, v: cell(h, v, w), c, x, reverse=True))


def checkpointed(c: Any, w: Any, x: Any) -> Any:
    return both(*sg.scan(lambda h, v: cell(h, v, w), c, x, reverse=True, checkpoint_every=3))


def nested(c: Any, w: Any, x: Any) -> Any:
    def body(h: Any, v: Any) -> Any:
        inner, _ = sg.scan(lambda a, _: (sg.dropout(sg.sin(a + v), 0.2), None), h, length=2)
        chosen = sg.cond((h * v).sum() > 0, lambda: sg.dropout(inner, 0.4), lambda: inner * 0.5)
        return sg.dropout(chosen, 0.1), sg.rand(2, 3, dtype=h.dtype) * inner

    return both(*sg.scan(body, c, x))


def one_side(c: Any, w: Any) -> Any:
    """What is drawn behind them does not depend on which side draws, or how often."""
    a = sg.cond(c.sum() < 1e9, lambda: sg.sin(c), lambda: sg.dropout(c, 0.5))
    b = sg.cond(c.sum() > 1e9, lambda: c, lambda: sg.dropout(sg.dropout(c @ w, 0.2), 0.5))
    return both(a * sg.rand(2, 3, dtype=c.dtype), b * sg.rand(2, 3, dtype=c.dtype))


def repeated(c: Any, w: Any) -> Any:
    """The condition draws too."""
    v, i = sg.while_loop(
        lambda v, i: sg.logical_and(i < 5, sg.rand(1).sum() < 0.9),
        lambda v, i: (sg.dropout(sg.tanh(v @ w), 0.2) + sg.rand(2, 3, dtype=v.dtype), i + 1),
        (c, np.int64(0)),
    )
    return both(v * sg.rand(2, 3, dtype=c.dtype), c * i.astype(c.dtype))


def never(c: Any) -> Any:
    v = sg.while_loop(lambda v: (v**2).sum() < -1.0, lambda v: sg.dropout(v, 0.5), c, max_steps=3)
    return both(v * sg.rand(2, 3, dtype=c.dtype), c)


def in_blocks(c: Any, w: Any) -> Any:
    v, i = sg.while_loop(
        lambda v, i: i < 5, lambda v, i: (sg.dropout(sg.tanh(v @ w), 0.2) + 0.5, i + 1), (c, np.int64(0)),
        checkpoint_every=2,
    )  # fmt: skip
    return both(v, c)


CASES = {
    "scan": Case(scanned, (C, W, X)),
    "scan, no iteration": Case(scanned, (C, W, real(0, 2, 3))),
    "scan backwards": Case(backwards, (C, W, X)),
    "scan with checkpoints": Case(checkpointed, (C, W, X)),
    "nested": Case(nested, (C, W, X)),
    "cond": Case(one_side, (C, W)),
    "while": Case(repeated, (C, W)),
    "while, no iteration": Case(never, (C,)),
    "while with checkpoints": Case(in_blocks, (C, W)),
}


def seeded(run: Any) -> tuple[Any, tuple[int, int]]:
    sg.manual_seed(5)
    return run(), generator.state


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_all_modes_draw_the_same_numbers(name: str, dtype: Any):
    """Values, gradients, second gradients, and where the generator is afterwards."""
    case = CASES[name]
    arrays = drawn(name, case, dtype)
    expected, state = seeded(lambda: derived(case, tensors(arrays)))
    step = compiled(case, arrays)[1]
    found, after = seeded(lambda: step(*tensors(arrays)))
    agree(found, expected, dtype, "compiled")
    assert after == state
    assert step.plan.host_calls == 0
    if name != "scan with checkpoints":  # needs its number of iterations
        found, after = seeded(lambda: in_session(case, arrays))
        agree(found, expected, dtype, "session")
        assert after == state


@pytest.mark.parametrize("name", ["scan with checkpoints", "while with checkpoints"])
def test_checkpoints_draw_the_same_numbers_again(name: str):
    case = CASES[name]
    plain = {"scan with checkpoints": backwards}.get(name)
    arrays = drawn(name, case, np.float64)
    if plain is None:  # eagerly there are no checkpoints
        expected, state = seeded(lambda: derived(case, tensors(arrays)))
    else:
        expected, state = seeded(lambda: derived(Case(plain, case.operands), tensors(arrays)))
    step = compiled(case, arrays)[1]
    found, after = seeded(lambda: step(*tensors(arrays)))
    agree(found, expected, np.float64, name)
    assert after == state


def test_iterations_and_runs_have_numbers_of_their_own():
    @sg.compile
    def numbers():
        return sg.scan(lambda c, _: (c, sg.rand(4, dtype=sg.float64)), None, length=50)[1], sg.rand(4, dtype=sg.float64)

    sg.manual_seed(1)
    inside, outside = zip(*(numbers() for _ in range(3)), strict=True)
    every = np.concatenate([x.numpy().reshape(-1) for x in (*inside, *outside)])
    assert len(set(every)) == every.size == 612
    assert abs(every.mean() - 0.5) < 0.05


def test_the_seed_of_a_stream_is_that_of_its_formula():
    """Kernel and NumPy, for seeds and draws of more than 32 bits."""
    for seed, draw in ((0, 0), (1, 2), (2**62 + 12345, 2**33 + 7)):
        sg.manual_seed(seed)
        generator.state = seed, draw
        inside = sg.compile(lambda: sg.scan(lambda c, _: (c, sg.rand(2, 3)), None, length=1)[1])().numpy()
        sg.manual_seed(stream_seed(seed, draw))
        np.testing.assert_array_equal(inside[0], sg.rand(2, 3).numpy())


def test_a_loop_that_draws_nothing_takes_no_draw():
    """A scan runs its body in every mode; of a branch or a while loop nobody knows eagerly what another run would draw."""
    sg.manual_seed(0)
    x = sg.tensor(np.ones((3, 2)))

    def scans() -> Any:
        return sg.scan(lambda c, v: (c + v, v), x[0], x)

    def branches() -> Any:
        return sg.cond(x.sum() > 0, lambda: x, lambda: -x)

    for fn, draws in ((scans, 0), (branches, 1)):
        for run in (fn, sg.compile(fn)):
            generator.state = 0, 0
            run()
            assert generator.state == (0, draws)


def test_a_loop_that_turns_out_to_be_of_a_graph_gives_its_draw_back():
    sg.manual_seed(0)
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float64, [2])

        def body(c: Any, _: Any) -> Any:
            noise = sg.tensor(np.zeros(2)) if len(calls) else sg.dropout(sg.tensor(np.ones(2)))
            calls.append(noise)
            return x * c, None

        calls: list[Any] = []
        sg.scan(body, np.ones(2), length=2)
    assert generator.state == (0, 0)


def test_a_checkpointed_condition_may_not_draw():
    with sg.Graph().as_default() as graph, pytest.raises(sg.GraphError) as caught:
        sg.while_loop(lambda v: sg.rand(1).sum() < 0.5, sg.sin, sg.placeholder(sg.float32, (1,)), checkpoint_every=2)
    assert caught.value.summary.startswith("while_loop: with checkpoint_every the condition can't draw random numbers")
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
    assert "random_uniform" not in [node.op.name for node in verify(graph).nodes]
