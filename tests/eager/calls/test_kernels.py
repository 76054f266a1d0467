"""Which of NumPy and kernels computes an eager operation, and who waits."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.execute import fastcall
from staticgrad.eager.backward_plans import Forms
from staticgrad.eager.calls.kernels import LEAST, NEAR, STEPS, USES, WORK, PlannedCall, Requests, Waiting, row_major, uses_of
from staticgrad.eager.grad_mode import modes
from staticgrad.errors import ArgumentError
from tests.helpers import known, taken


def random(*shape: int) -> sg.Tensor:
    return sg.tensor(np.random.default_rng(1).standard_normal(shape).astype(np.float32))


def normed(x: sg.Tensor) -> sg.Tensor:
    return sg.functional.layer_norm(x, x.shape[1:])


def test_numpy_answers_up_to_a_call_that_follows_from_the_sizes():
    x = random(33, 57)
    with sg.eager_kernels(False):
        numpy = normed(x).numpy()
    before = {*taken()}
    with sg.eager_kernels(True):
        for _ in range(USES - 1):
            assert (normed(x).numpy() == numpy).all()
        assert {*taken()} == before
        assert np.allclose(normed(x).numpy(), numpy, rtol=1e-5, atol=1e-6)
    (key,) = {*taken()} - before
    assert taken()[key].plan is not None


@pytest.mark.parametrize(("elements", "uses"), [(1, USES), (WORK // USES, USES), (WORK // 8, 8), (1 << 30, LEAST)])
def test_large_arrays_wait_for_fewer_calls(elements: int, uses: int):
    assert uses_of(elements) == uses
    mine, when, key = Requests(), [], ("test", elements)
    with sg.eager_kernels(True):
        call = mine.begin(key, uses)
        for i in range(1, uses + 1):
            assert call.waits
            call = mine.call(key, call, lambda i: when.append(i) or (None, "no kernels"), i)
    assert when == [uses // 2]
    assert call.use == "no kernels"


def test_what_waits_for_a_plan_asks_for_no_plans_of_its_parts():
    """A step of training asks for those that it will run, and NumPy computes it meanwhile."""
    model = sg.nn.Sequential(sg.nn.Linear(12, 37), sg.nn.Linear(37, 5))
    optimizer = sg.optim.Adam(model.parameters())
    x, y = random(9, 12), sg.tensor([1, 0, 2, 4, 1, 1, 0, 3, 2])

    def steps(count: int) -> list[Any]:
        """The first parts of the keys that were met."""
        for _ in range(count):
            optimizer.zero_grad()
            sg.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        keys = known(PlannedCall)
        return sorted({getattr(key[0], "name", key[0]) for key in keys if key.__class__ is tuple})

    with sg.eager_kernels(False):
        steps(1)  # it makes the optimizer's slots
    modes.now.calls.clear()
    with sg.eager_kernels(True):
        assert steps(STEPS - 1) == ["cross_entropy", "linear"]
        assert not taken()
        assert steps(STEPS) == ["backward of a tape", "cross_entropy", "linear"]
    assert len(taken()) == 4
    assert sum(len(group.plans) for group in known(Forms).values()) == 1


def images() -> tuple[sg.nn.Module, sg.Tensor]:
    layers = sg.nn.Conv2d(1, 3, 3), sg.nn.BatchNorm2d(3), sg.nn.ReLU(), sg.nn.MaxPool2d(2), sg.nn.Flatten(), sg.nn.Linear(27, 5)
    return sg.nn.Sequential(*layers), random(9, 1, 8, 8)


def rows() -> tuple[sg.nn.Module, sg.Tensor]:
    layers = sg.nn.Linear(12, 41), sg.nn.GELU(), sg.nn.LayerNorm(41), sg.nn.Dropout(0.25), sg.nn.Linear(41, 5)
    return sg.nn.Sequential(*layers), random(9, 12)


def calls_in(function: Callable[[], Any]) -> int:
    """The number of calls of Python and C functions, which follows from the program alone."""
    events: list[str] = []
    sys.setprofile(lambda frame, event, argument: events.append(event))
    try:
        function()
    finally:
        sys.setprofile(None)
    return sum(event in ("call", "c_call") for event in events)


@pytest.mark.parametrize("program", [rows, images])
def test_a_step_before_its_plans_costs_what_numpy_costs(program: Any):
    """Few cost more: those that make plans, all among the first five."""
    model, x = program()
    optimizer = sg.optim.Adam(model.parameters())
    y = sg.tensor([1, 0, 2, 4, 1, 1, 0, 3, 2])

    def step() -> None:
        optimizer.zero_grad()
        sg.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    modes.now.calls.clear()
    with sg.eager_kernels(False):
        *_, numpy = [calls_in(step) for _ in range(8)]
    with sg.eager_kernels(True):
        counts = [calls_in(step) for _ in range(30)]
    dear = [i for i, count in enumerate(counts, 1) if count > 1.1 * numpy]
    assert max(dear) < 2 * STEPS
    assert max(counts[2 * STEPS :]) < 0.4 * numpy


def asked_and_taken_over(rows: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Of steps of training on so many rows: in which ones the plans for the numbers of rows were asked for and took over."""
    w = random(5, 7).requires_grad_()
    asked: dict[int, int] = {}
    took: dict[int, int] = {}
    modes.now.calls.clear()
    with sg.eager_kernels(True):
        for step, n in enumerate(rows, 1):
            sg.functional.linear(random(n, 7), w).sum().backward()
            for key, call in known(PlannedCall).items():
                if key.__class__ is tuple and (n, 7) in key:
                    if not call.waits:
                        took.setdefault(n, step)
                    elif call.asked:
                        asked.setdefault(n, step)
    return {n: (asked[n], took[n]) for n in took}


def test_the_calls_of_a_step_of_training_become_plans_in_the_third_step():
    assert asked_and_taken_over([9] * 6) == {9: (2, STEPS)}


def test_calls_of_steps_with_other_shapes_wait_longer():
    """Their steps are far apart: only the numbers of calls count."""
    others = range(30, 31 + NEAR)
    assert asked_and_taken_over([19, *others, 19, *others, 19, 19, 19, 19]) == {19: (2 * NEAR + 6, 2 * NEAR + 7)}
    period = 2 + NEAR
    asked, took = USES // 2 - 1, USES - 1
    assert asked_and_taken_over([18, *others] * USES)[18] == (asked * period + 1, took * period + 1)


def test_calls_between_two_backward_passes_count_as_one_step():
    """A forward pass through a hundred equal layers makes no plan sooner than one through one layer."""
    w = random(7, 7).requires_grad_()
    x = random(9, 7)
    modes.now.calls.clear()
    with sg.eager_kernels(True):
        for _ in range(USES // 2 - 1):
            x = sg.functional.linear(x, w)
    assert not [call for call in known(Waiting).values() if call.asked]


def test_derivatives_of_functions_that_are_plans_become_plans_soon():
    """A step with second derivatives is plans as soon as one with first derivatives."""
    w = random(6, 6).requires_grad_()
    x = random(5, 6).requires_grad_()
    modes.now.calls.clear()

    def step() -> None:
        y = sg.functional.silu(sg.functional.linear(x, w))
        (g,) = sg.grad(y.sum(), [x], create_graph=True)
        sg.grad(g.square().sum(), [w])

    with sg.eager_kernels(True):
        for _ in range(USES + 2 * STEPS):
            step()
        before = len(taken())
        for _ in range(2 * USES):
            step()
    assert before == len(taken()) > 4


def test_passes_that_never_recur_take_kernels_of_single_operations():
    """No plan of a whole pass is coming."""
    modes.now.calls.clear()
    with sg.eager_kernels(True):
        for i in range(3):
            x = sg.rand(50, 60, requires_grad=True)
            (x.square().sum(0) * (i + 2.5) ** (1 / (i + 1))).reshape(i + 1, -1 if i < 2 else 20).sum().backward()
    keys = known(PlannedCall)
    assert any(key[1:2] == ((0,),) for key in keys)  # the cotangent of operand 0


def test_each_thread_counts_by_itself():
    """Which results are a kernel's does not depend on what other threads do."""
    x = random(35, 61)
    with sg.eager_kernels(False):
        numpy = normed(x).numpy()
    with sg.eager_kernels(wait=True):
        normed(x)
    found = []

    def work() -> None:
        with sg.eager_kernels(True):
            found.extend([normed(x).numpy() for _ in range(USES - 1)])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert all((value == numpy).all() for value in found)
    assert len(found) == USES - 1


def test_waiting_for_kernels_changes_no_result():
    x = random(34, 59)
    with sg.eager_kernels(False):
        numpy = normed(x).numpy()
    with sg.eager_kernels(True):
        for _ in range(USES // 2):
            normed(x)
        sg.wait_for_kernels()
        assert (normed(x).numpy() == numpy).all()


def test_the_setting_is_a_statement_a_context_and_a_decorator():
    before = modes.now.kernels
    try:
        sg.eager_kernels(False)
        off = modes.now.kernels
        with sg.eager_kernels(wait=True, least=10_000):
            assert modes.now.kernels == (True, 10_000, 10_000, 10_000, False)
        assert modes.now.kernels == off

        @sg.eager_kernels(True)
        def inside() -> Any:
            return modes.now.kernels

        assert modes.now.kernels == off
        assert inside() != off
        assert modes.now.kernels == off
    finally:
        modes.now.kernels = before


@pytest.mark.parametrize(("text", "shown"), [("numpy", "off"), ("wait:7", "7"), ("slow", "ArgumentError")])
def test_the_environment_gives_the_first_setting(text: str, shown: str):
    program = (
        "import sys\ntry:\n import staticgrad\n from staticgrad.eager.grad_mode import modes\n"
        " print('off' if modes.now.heavy == sys.maxsize else modes.now.heavy)\n"
        "except Exception as error:\n print(type(error).__name__)"
    )
    environment = {**os.environ, "STATICGRAD_EAGER": text}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == shown


def test_strict_numerics_have_the_bits_of_numpy():
    x = random(64, 64)
    function = lambda x: (x.softmax(-1).exp() @ x).sum(1)  # noqa: E731
    with sg.eager_kernels(False):
        eager = function(x).numpy()
    with sg.eager_kernels(wait=True):
        strict = sg.compile(function, numerics="strict")(x).numpy()
    assert (strict == eager).all()


def _child(queue: Any) -> None:
    with sg.eager_kernels(wait=True):
        queue.put((random(40, 40).softmax(-1).numpy(), random(41, 43).log_softmax(-1).numpy()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_fork_uses_and_makes_kernels():
    with sg.eager_kernels(wait=True):
        mine = random(40, 40).softmax(-1).numpy()
    context = get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    first, second = queue.get(timeout=60)
    child.join(60)
    assert (first == mine).all()
    assert np.allclose(second, random(41, 43).log_softmax(-1).numpy(), rtol=1e-5)


class Labelled(np.ndarray):
    """A subclass of NumPy's array."""


@pytest.mark.parametrize("value", [np.float32(0.5), np.ones((2, 3), np.float32).view(Labelled), np.ones((3, 2), np.float32).T])
def test_native_code_gets_plain_arrays(value):
    plain = row_major(value)
    assert type(plain) is np.ndarray
    assert plain.flags.c_contiguous
    assert plain.shape == value.shape
    assert (plain == value).all()
    found = sg.compile(lambda x: x * 2, wait=True)(value)
    assert (np.asarray(found) == value * 2).all()


def test_a_setting_that_is_no_number():
    with pytest.raises((TypeError, ValueError, ArgumentError)):
        sg.eager_kernels(least="many")


@pytest.mark.parametrize(
    "moved",
    [
        lambda x: x.T.contiguous(), lambda x: x.T.clone(memory_format=sg.contiguous_format), lambda x: x.T.reshape(-1),
        lambda x: x.T.reshape((100, -1)), lambda x: x + x.T, lambda x: sg.compile(lambda y: y.exp())(x.T).log(),
    ],
)  # fmt: skip
def test_large_transposed_tensors_are_copied_by_a_kernel(moved: Any, monkeypatch: pytest.MonkeyPatch):
    taken = []
    copied = fastcall.copied
    monkeypatch.setattr(fastcall, "copied", lambda array: (taken.append(array), copied(array))[1])
    x = random(300, 300)
    with sg.eager_kernels(wait=True):
        found = moved(x)
        assert taken
        taken.clear()
        assert found.is_contiguous()
    with sg.eager_kernels(False):
        assert np.allclose(found, moved(x), rtol=1e-5)


def test_a_reshape_of_a_large_view_is_a_view_where_it_can_be():
    x = sg.zeros(300, 400)
    x[:, :200].reshape(300, 10, 20)[0, 0] = 1.0
    assert x.sum() == 20
