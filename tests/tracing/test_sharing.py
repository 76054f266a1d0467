"""Arguments that share memory with one another, or with what the function reaches: compiled calls do what eager ones do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.tracing.helpers import Program, agree

pytestmark = pytest.mark.usefixtures("refusing")

MODES = {"fast": sg.compile, "strict": lambda step: sg.compile(step, numerics="strict")}
modes = pytest.mark.parametrize("mode", MODES)


def tensor(*shape: int) -> Any:
    return sg.tensor(np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape))


# two arguments ----------------------------------------------------------------------------------------------------------


def same() -> Any:
    a = tensor(3)
    return a, a


def detached() -> Any:
    a = tensor(3)
    return a, a.detach()


def through_numpy() -> Any:
    a = tensor(3)
    return a, sg.from_numpy(a.numpy())


def arrays() -> Any:
    a = np.arange(3.0)
    return a, a


def part_of_second() -> Any:
    a = tensor(3)
    return a[1:], a


def part_of_first() -> Any:
    a = tensor(3)
    return a, a[1:]


def transposed() -> Any:
    a = tensor(2, 3)
    return a, a.T


def every_other() -> Any:
    a = tensor(6)
    return a[::2], a[3:]


def side_by_side() -> Any:
    """The bytes of one lie between those of the other."""
    a = tensor(3, 4)
    return a[:, :2], a[:, 2:]


def read_only_view() -> Any:
    a = tensor(3)
    return a, sg.broadcast_to(a, (2, 3))


PAIRS = [
    same, detached, through_numpy, arrays, part_of_second, part_of_first, transposed, every_other, side_by_side,
    read_only_view,
]  # fmt: skip


def change_first(x: Any, y: Any) -> Any:
    x += 1
    return y * 2


def change_second_in_between(x: Any, y: Any) -> Any:
    before = x * 1
    y *= 2
    return before, x + 0, y


def change_both(x: Any, y: Any) -> Any:
    x += 1
    y *= 3
    x -= 2
    return x * 1, y * 1


def change_after_a_view(x: Any, y: Any) -> Any:
    first = y[:1]
    x += 1
    return first * 1, y * 1


def change_nothing(x: Any, y: Any) -> Any:
    return x.sum() + y.sum()


@modes
@pytest.mark.parametrize("step", [change_first, change_second_in_between, change_both, change_after_a_view, change_nothing])
@pytest.mark.parametrize("pair", PAIRS)
def test_two_arguments(pair: Callable[[], Any], step: Callable[..., Any], mode: str):
    x, y = pair()
    if step is not change_first and step is not change_nothing and not np.asarray(y).flags.writeable:
        pytest.skip("not writeable")
    if step is change_both and pair is every_other:
        pytest.skip("a part is refused, see below")

    run = MODES[mode](step)
    for _ in range(2):
        expected, found = ([*called(f, arguments), *arguments] for f, arguments in ((step, pair()), (run, pair())))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def called(step: Callable[..., Any], arguments: Any) -> tuple[Any, ...]:
    result = step(*arguments)
    return result if isinstance(result, tuple) else (result,)


@modes
def test_calls_that_share_and_calls_that_do_not(mode: str):
    step = MODES[mode](change_first)
    for shared in (False, True, False, True):
        x = tensor(2)
        y = x if shared else tensor(2)
        assert step(x, y).tolist() == ([4, 6] if shared else [2, 4])
        assert x.tolist() == [2, 3]
    assert len(step.recompiles) == 2


def test_calls_that_write_nothing_have_one_trace():
    step = sg.compile(change_nothing)
    x = tensor(3)
    for pair in ((x, x), (x, tensor(3)), (x, x.detach())):
        assert step(*pair).item() == 12
    assert step.recompiles == ["first call"]
    assert step.latest.specs is not None, "the fast call takes them"


# what is reached ----------------------------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[Any], Any]] = {
    "same": lambda w: w,
    "detached": lambda w: w.detach(),
    "array": lambda w: sg.from_numpy(w.detach().numpy()),
    "rows": lambda w: w.detach()[1:],
    "column": lambda w: w.detach()[:, 1],
    "transposed": lambda w: w.detach().T,
    "through a buffer": lambda w: sg.from_numpy(np.frombuffer(memoryview(w.detach().numpy()).cast("B"), np.float32)),
}


def change_reached(w: Any, x: Any) -> Any:
    with sg.no_grad():
        w.mul_(2)
    return x * 1


def change_argument(w: Any, x: Any) -> Any:
    with sg.no_grad():
        x.add_(1)
    return w * 1


def train(w: Any, x: Any) -> Any:
    before = x * 1
    w.grad = None
    (w * w).sum().backward()
    with sg.no_grad():
        w.sub_(0.25 * w.grad)
    return before, x * 2


@modes
@pytest.mark.parametrize("step", [change_reached, change_argument, train])
@pytest.mark.parametrize("kind", KINDS)
def test_arguments_and_what_is_reached(kind: str, step: Callable[..., Any], mode: str):
    def make() -> Program:
        w = sg.tensor(tensor(4, 3), requires_grad=True)
        return Program(lambda x: step(w, x), {"w": w})

    calls = [lambda program: (KINDS[kind](program.tensors["w"]),)] * 2
    agree(make, [*calls, lambda program: (KINDS[kind](tensor(4, 3)),), *calls], compiled=MODES[mode])


@modes
@pytest.mark.parametrize("part", [lambda g: g, lambda g: g[1:]])
def test_gradients_as_arguments(part: Callable[[Any], Any], mode: str):
    """An accumulated gradient is changed in place."""

    def make() -> Program:
        w = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        w.grad = sg.ones(3)

        def step(g: Any) -> Any:
            before = g * 1
            (w * w).sum().backward()
            return before, g * 1

        return Program(step, {"w": w})

    agree(make, [lambda program: (part(program.tensors["w"].grad),)] * 3, compiled=MODES[mode])


@modes
def test_gradients_of_arguments(mode: str):
    def leaf() -> Any:
        x = sg.tensor([1.0, 2.0], requires_grad=True)
        x.grad = sg.ones(2)
        return x

    def step(x: Any, g: Any) -> Any:
        (x * x).sum().backward()
        return g * 1, x.grad * 1

    def call(program: Program) -> Any:
        x = leaf()
        return x, x.grad

    agree(lambda: Program(step), [call, call], compiled=MODES[mode])


@modes
@pytest.mark.parametrize("view", [lambda a: a, lambda a: a[1:], lambda a: a.detach(), lambda a: a[1:].detach()])
def test_gradients_through_recorded_changes(view: Callable[[Any], Any], mode: str):
    """A recorded change of a tensor is one of its views, and none of its detached aliases."""

    def make() -> Program:
        w = sg.tensor(3.0, requires_grad=True)

        def step(x: Any, y: Any) -> Any:
            w.grad = None
            x.mul_(w)
            (y.sum() + w).backward()
            return y.detach() * 1, w.grad * 1

        return Program(step, {"w": w})

    def call(program: Program) -> Any:
        a = tensor(3)
        return a, view(a)

    agree(make, [call, call], compiled=MODES[mode])


def test_detached_aliases_have_tapes_of_their_own():
    def make() -> Program:
        w = sg.tensor(3.0, requires_grad=True)

        def step(x: Any) -> Any:
            w.grad = None
            alias = x.detach()
            alias.mul_(w)
            (alias.sum() + w).backward()
            return x * 1, w.grad * 1

        return Program(step, {"w": w})

    agree(make, [lambda program: (tensor(3),)] * 2)


def test_stacked_steps():
    """The steps of a loop see what those before them did."""

    def make() -> Program:
        memory = tensor(5, 3)
        row = sg.from_numpy(memory.numpy()[2])

        def step(x: Any) -> Any:
            row.add_(x)
            return x * 1

        return Program(step, {"memory": memory})

    found = []
    for compiled in (False, True):
        program = make()
        memory = program.tensors["memory"]
        if compiled:
            results = sg.compile(program.step).loop(memory).numpy()
        else:
            results = np.stack([program.step(memory[i]).numpy() for i in range(5)])
        found.append((results.tolist(), memory.tolist()))
    assert found[0] == found[1]


# refusals -------------------------------------------------------------------------------------------------------------------


def parts() -> Any:
    a = tensor(3)
    return a[1:], a[:2]


def change_part(x: Any, y: Any) -> Any:
    x.add_(1)  # the line
    y.add_(1)
    return x * 1


def give_data(x: Any, y: Any) -> Any:
    x.data = y * 2  # the line
    return y * 1


def changes_bits(x: Any, y: Any) -> Any:
    x.add_(1)  # the line
    return y * 1


def bits() -> Any:
    a = tensor(3)
    return a, sg.from_numpy(a.numpy().view(np.int32))


def two_leaves() -> Any:
    a = sg.tensor([1.0], requires_grad=True)
    return a, a.detach().requires_grad_()


def unrecorded(x: Any, y: Any) -> Any:
    with sg.no_grad():
        x.add_(1)  # the line
    return y * 1


SHARES = r"^the compiled function changes {} of shape \({}\) in place, which shares memory with {} of shape \({}\)"


@pytest.mark.parametrize(
    ("step", "pair", "text"),
    [
        (give_data, same, "shares memory with another argument of the compiled function: it can't be given other data inside"),
        (changes_bits, bits, SHARES.format("x", "3,", "y", "3,")),
        (unrecorded, two_leaves, SHARES.format("x", "1,", "y", "1,")),
        (change_part, parts, "changes y in place, which shares a part of its memory with x"),
    ],
)
def test_refusals(step: Callable[..., Any], pair: Callable[[], Any], text: str):
    arguments = pair()
    before = [x.detach().numpy().copy() for x in arguments]
    with pytest.raises(sg.TraceError, match=text) as caught:
        sg.compile(step)(*arguments)
    assert "test_sharing.py" in str(caught.value)
    assert "the line" in str(caught.value) or step is change_part
    for x, old in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(x.detach().numpy(), old)


def test_a_refusal_of_a_call_whose_numbers_vary():
    """The trace in which one argument is a view of the other is refused as any other: the function runs in segments."""
    step = sg.compile(lambda x, y, n: (setattr(x, "data", y * n), y * 1)[1], on_break="split")
    for n in range(1, 8):
        x = tensor(3)
        y = x if n > 4 else tensor(3)
        expected = y.numpy() * (n if n > 4 else 1)
        np.testing.assert_array_equal(step(x, y, n * 0.5 * 2).numpy(), expected)


# found by random programs ---------------------------------------------------------------------------------------------------


def read_before_and_after(x: Any) -> Any:
    before = x * 3
    with sg.no_grad():
        x.mul_(2)
    return before + x * x


def changed_by_its_alias(x: Any) -> Any:
    before = -x
    x.detach().mul_(before)
    return before * 3 + sg.sin(x)


def taped_alias(x: Any) -> Any:
    alias = x.detach()
    alias.add_(x)
    return sg.sin(alias)


@modes
@pytest.mark.parametrize("how", ["grad", "twice", "backward", "inputs"])
@pytest.mark.parametrize("function", [read_before_and_after, changed_by_its_alias, taped_alias])
def test_gradients_of_a_leaf_that_was_changed(function: Callable[[Any], Any], how: str, mode: str):
    """What read it before the change counts as well as what reads it afterwards."""

    def step(x: Any) -> Any:
        loss = function(x).sum()
        if how in ("grad", "twice"):
            (g, again) = sg.grad(loss, [x, x], create_graph=how == "twice")
            return (g, again) if how == "grad" else sg.grad((g * g).sum(), [x])
        loss.backward(inputs=[x, x]) if how == "inputs" else loss.backward()
        return x.grad

    x = np.array([0.5, -1.0, 2.0])
    if function is changed_by_its_alias and how == "twice":
        pytest.skip("the first gradient reads a value that is gone")
    agree(lambda: Program(step), [lambda program: (sg.tensor(x.copy(), requires_grad=True),)] * 2, compiled=MODES[mode])


@modes
def test_an_alias_is_looked_at_in_a_branch_first(mode: str):
    def step(x: Any, y: Any) -> Any:
        x.add_(1)
        alias = x.detach()
        chosen = sg.cond(x.sum() > 0, lambda: y.sum() * alias, lambda: alias - y.sum())
        return chosen, y * 1, alias * 2

    def call(program: Program) -> Any:
        x = tensor(3)
        return x, x[1:]

    agree(lambda: Program(step), [call, call], compiled=MODES[mode])


def test_a_stopped_value_shares_memory():
    def step(x: Any) -> Any:
        sg.stop_gradient(x).add_(1)
        return x * 1

    x = tensor(3)
    assert step(x).tolist() == [2, 3, 4]
    with pytest.raises(sg.TraceError, match="which shares memory with another tensor, can't be traced"):
        sg.compile(step)(x)
    assert x.tolist() == [2, 3, 4]


@modes
def test_an_overwritten_result_stays_on_the_tape(mode: str):
    """Eagerly it requires grad still, and its gradient is 0."""

    def step(x: Any) -> Any:
        y = x * 2
        y.zero_()
        assert y.requires_grad
        (sg.sin(y).sum() + (x * x).sum()).backward(retain_graph=True)
        y.sum().backward()
        return x.grad

    agree(lambda: Program(step), [lambda program: (sg.tensor(np.ones(3), requires_grad=True),)] * 2, compiled=MODES[mode])
