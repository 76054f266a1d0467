"""Numbers that a step keeps beside those of its tensors, containers that it refills, and numbers given by name: one trace."""

from __future__ import annotations

import functools
import heapq

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.tracing.step_loop import FALLBACK


class Meter:
    """The running average of published training loops."""

    def __init__(self):
        self.val = self.sum = self.avg = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.val = value
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count


class Adversary:
    """The fast gradient method on weights, with a backup that is refilled and replaced in each step."""

    def __init__(self, model):
        self.model, self.backup = model, {}

    def attack(self):
        for name, p in self.model.named_parameters():
            if p.ndim == 2:
                self.backup[name] = p.data.clone()
                p.data.add_(p.grad * 0.1)

    def restore(self):
        for name, p in self.model.named_parameters():
            if name in self.backup:
                p.data = self.backup[name]
        self.backup = {}


def network(dtype):
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(dtype)
    with sg.no_grad():
        for p in model.parameters():
            p.copy_(sg.tensor(rng.normal(0, 0.5, p.shape), dtype=dtype))
    return model, optim.SGD(model.parameters(), lr=0.1)


def averages(dtype):
    (model, optimizer), meter, right = network(dtype), Meter(), Meter()

    def step(x):
        optimizer.zero_grad()
        y = model(x)
        loss = (y**2).mean()
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), x.shape[0])
        right.update((y[:, 0] > y[:, 1]).sum().item())
        return loss

    return step, lambda: [*vars(meter).values(), *vars(right).values()]


def adversarial(dtype):
    model, optimizer = network(dtype)
    adversary = Adversary(model)

    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        adversary.attack()
        (model(x) ** 2).mean().backward()
        adversary.restore()
        optimizer.step()
        return loss

    return step, lambda: [len(adversary.backup), *np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])]


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
@pytest.mark.parametrize("program", [averages, adversarial])
def test_steps_that_count_and_refill_are_traced_once(program, dtype):
    found = []
    for wrap in (sg.compile, lambda fn: fn):
        step, state = program(dtype)
        fn, rng = wrap(step), np.random.default_rng(2)
        losses = [float(fn(sg.tensor(rng.normal(size=(5, 3)), dtype=dtype))) for _ in range(20)]
        found.append([*losses, *state()])
        if wrap is sg.compile:
            assert len(fn.recompiles) == 1
            assert fn.segmented is None
    np.testing.assert_allclose(*found, rtol=2e-5 if dtype is sg.float32 else 1e-10)


def test_the_container_that_is_changed_is_the_one_that_a_call_finds():
    class Holder:
        pass

    holder, kept = Holder(), []
    holder.items = {}

    @sg.compile
    def step(x):
        former = holder.items
        former["a"] = x * 2
        holder.items = {"b": x}
        former["c"] = x + 1
        return x.sum()

    for k in range(5):
        kept.append(holder.items)
        step(sg.ones(2) * k)
    assert [sorted(d) for d in kept] == [["a", "c"], *[["a", "b", "c"]] * 4]
    assert [d["a"].tolist() for d in kept] == [[2.0 * k] * 2 for k in range(5)]
    assert len(step.recompiles) <= 3


def test_a_container_that_is_also_reached_in_another_way_is_not_stale():
    class Holder:
        pass

    holder = Holder()
    holder.items = holder.same = {}

    @sg.compile
    def step(x):
        holder.items["a"] = x * 2
        y = holder.same["a"] + 1
        holder.items = holder.same = {}
        return y

    assert [step(sg.ones(2) * k).tolist() for k in range(5)] == [[2.0 * k + 1] * 2 for k in range(5)]


def test_divisions_by_numbers_that_are_zero_raise():
    state = {"count": 0.0}

    @sg.compile
    def ratio(x, y):
        state["count"] += 1
        return x.item() / y.item(), x.item() / (state["count"] - 3)

    assert ratio(sg.tensor(3.0), sg.tensor(2.0)) == (1.5, -1.5)
    with pytest.raises(ZeroDivisionError):
        ratio(sg.tensor(3.0), sg.tensor(0.0))
    with pytest.raises(ZeroDivisionError):
        ratio(sg.tensor(3.0), sg.tensor(2.0))
    assert ratio(sg.tensor(3.0), sg.tensor(4.0)) == (0.75, 3.0)
    assert state["count"] == 4


def test_state_that_a_step_replaces_takes_the_fast_path():
    class Holder:
        pass

    holder = Holder()
    holder.h = sg.zeros(3)

    @sg.compile(wait=True)
    def step(x):
        holder.h = sg.tanh(holder.h + x)
        return holder.h.sum()

    x = sg.ones(3)
    step(x), step(x)
    calls = []
    step._call = lambda call: calls.append(call)
    step(x)
    assert not calls


def test_numbers_given_by_name_take_the_fast_path():
    @sg.compile(wait=True)
    def scaled(x, *, rate, shift=0.0):
        return x * rate + shift

    x = sg.ones(2)
    for k in range(5):
        assert scaled(x, rate=0.5 * k).tolist() == [0.5 * k] * 2
        assert scaled(x, shift=1.0, rate=0.5 * k).tolist() == [0.5 * k + 1] * 2
        assert scaled(x, rate=0.5 * k, shift=1.0).tolist() == [0.5 * k + 1] * 2
    assert all(found.fast_call is not FALLBACK for found in scaled.recent)
    calls = []
    scaled._call = lambda call: calls.append(call)
    assert scaled(x, rate=0.75).tolist() == [0.75] * 2
    assert not calls
    with pytest.raises(TypeError, match="positional"):
        sg.compile(scaled.fn)(x, 0.5)
    with pytest.raises(TypeError, match="unexpected keyword"):
        sg.compile(scaled.fn)(x, rate=1.0, other=2.0)


def summed(state, x):
    state["n"] = state["n"] + x.item()


def hashed(state, x):
    state["n"] = state["n"] * 31 + x.item()


def counted(state, x):
    state["n"] -= (x > 1).sum().item() * 3


def sum_of_several(state, x):
    state["n"] = x.item() + (x * 3).item() - -x.item() + x.int().item() * 5


def compared(state, x):
    state["n"] = state["n"] + 1 if x.item() < state["n"] else x.item() + x.item() + 0.5


def operand(state, x):
    state["n"] = state["n"] + (x * state["n"]).item() % 7


@pytest.mark.parametrize("start", [7, 2**53 + 1, 2**62 + 1, -(2**63), 2**65, -(2**53) - 1])
@pytest.mark.parametrize("program", [summed, hashed, counted, sum_of_several, compared, operand])
def test_integers_are_pythons(program, start):
    """Of any size, in every bit."""
    found = []
    for compiles in (sg.compile, lambda fn: fn):
        state = {"n": start}
        step, values = compiles(lambda x, state=state: program(state, x)), []
        for k in (1, 2, 2**53 + 1, 2**62 + 3, 5, -(2**63), 2**63 - 1):
            try:
                step(sg.tensor(k))
            except (OverflowError, sg.DTypeError):
                values.append("refused")
            values.append(state["n"])
        found.append(values)
    assert found[0] == found[1]


SCALARS = {
    "product": lambda v, n: v * np.float32(3),
    "swapped product": lambda v, n: np.float32(3) * v,
    "half": lambda v, n: v + np.float16(0.5),
    "integers": lambda v, n: np.int64(3) - n,
    "array": lambda v, n: (np.arange(3.0) * v).tolist(),
    "less": lambda v, n: v < np.float32(0.3),
    "greater": lambda v, n: np.float64(0.3) > v,
    "unequal": lambda v, n: np.int64(3) != n,
    "branch": lambda v, n: "low" if v < np.float64(0.3) else "high",
    "largest": lambda v, n: max(v, np.float32(0.3)),
}


@pytest.mark.parametrize("program", SCALARS.values(), ids=SCALARS)
def test_scalars_of_numpy_decide_the_class_of_a_result(program):
    step = sg.compile(lambda x, y: program(x.item(), y.item()))
    for a, b in ((0.1, 3), (0.7, 5), (-1.25, 0)):
        found, expected = step(sg.tensor(a, dtype=sg.float64), sg.tensor(b)), program(a, b)
        assert type(found) is type(expected)
        assert found == expected


class Owner:
    """An object of the user's."""


def kept_elsewhere(owner, x):
    former = owner.items
    former.append(x * 1)
    owner.items = []
    owner.others.append(former)


def kept_twice(owner, x):
    owner.others = [owner.items, (owner.items, x * 1)]
    owner.items = [*owner.items[-1:], x * 2]


def part_kept(owner, x):
    if not owner.items:
        owner.items = [[x]]
    owner.others.append(owner.items[0])
    owner.items = [[x * 3]]


def changed_by_c_code(owner, x):
    heapq.heappush(owner.items, float(len(owner.items)))
    owner.items = [sum(owner.items)]


def changed_through_a_tuple(owner, x):
    owner.pair[0].append(x)
    owner.others.append(owner.items[-1] if owner.items else None)
    owner.items = [x * 2]


def changed_by_a_partial(owner, x):
    owner.put(x + 1)
    owner.others.append(owner.items[0] if owner.items else None)
    owner.items = []


@pytest.mark.parametrize(
    "program",
    [kept_elsewhere, kept_twice, part_kept, changed_by_c_code, changed_through_a_tuple, changed_by_a_partial],
)
def test_containers_that_a_step_replaces_are_objects(program):
    """Whoever else has one sees its changes."""

    def plain(value):
        return [plain(v) for v in value] if isinstance(value, (list, tuple)) else str(value)

    def identities(owner):
        flat = [x for part in owner.others for x in (part if isinstance(part, tuple) else [part]) if isinstance(x, list)]
        return [[a is b for b in (*flat, owner.items)] for a in flat]

    found = []
    for compiles in (sg.compile, lambda fn: fn):
        owner, rows = Owner(), []
        owner.items, owner.others, kept = [], [], []
        owner.pair, owner.put = (owner.items, 1), functools.partial(owner.items.append)
        step = compiles(lambda x, owner=owner: program(owner, x))
        for k in range(5):
            kept.append(owner.items)
            step(sg.ones(2) * k)
            rows.append((plain(owner.items), plain(owner.others), plain(kept), identities(owner)))
        found.append(rows)
    assert found[0] == found[1]


def test_a_container_that_is_returned_is_the_one_that_a_call_finds():
    owner = Owner()
    owner.items = {}

    @sg.compile
    def step(x):
        former = owner.items
        former["x"] = x
        owner.items = {"y": x + 1}
        return former

    for k in range(4):
        before = owner.items
        assert step(sg.ones(2) * k) is before
        assert sorted(before) == (["x", "y"] if k else ["x"])
