"""State that a step reads and replaces: one trace serves all calls, without a cut, and the state is that of eager mode."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn

pytestmark = pytest.mark.usefixtures("interpreted")


class Holder:
    """An object of the user's."""


def attribute(c):
    m = Holder()
    m.h = sg.zeros(2, 3)

    def f(x):
        m.h = 0.5 * m.h + x
        return m.h.sum()

    return c(f), lambda: m.h


def at_first_nothing(c):
    m = Holder()
    m.h = None

    def f(x):
        m.h = x * 1 if m.h is None else 0.5 * m.h + x
        return m.h.sum()

    return c(f), lambda: m.h


class Running(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", sg.zeros(3))
        self.mean, self.count = sg.zeros(3), 0

    def forward(self, x):
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        self.buffer = self.buffer + x.sum(0)
        return self.mean.sum()


def position_in_a_buffer(c):
    """A number that the code needs by its value, so that no place remains an argument."""
    kept, at = sg.arange(12.0).reshape(4, 3), 0

    def f(x):
        nonlocal at
        y = (kept[at % 4] + x).sum()
        at += 1
        return y

    return c(f), lambda: at


def module(c):
    m = Running()
    return c(lambda x: m(x)), lambda: (m.mean, m.count, m.buffer, list(m.state_dict()))


def closure_cell(c):
    h = sg.zeros(2, 3)

    def f(x):
        nonlocal h
        h = h + x
        return h.sum()

    return c(f), lambda: h


def dictionary(c):
    d = {"a": sg.zeros(2, 3), "b": sg.ones(3), "step": 0}

    def f(x):
        for k in ("a", "b"):
            d[k] = 0.9 * d[k] + 0.1 * (x if k == "a" else x.sum(0))
        d["step"] += 1
        return d["a"].sum()

    return c(f), lambda: d


def items_of_a_dictionary(c):
    d = {"a": sg.zeros(2, 3), "b": sg.ones(3)}

    def f(x):
        for k, v in d.items():
            d[k] = 0.9 * v + x.sum(0)
        return d["a"].sum()

    return c(f), lambda: d


def members_of_a_list(c):
    s = [sg.zeros(2, 3), sg.zeros(2, 3)]

    def f(x):
        for i, h in enumerate(s):
            s[i] = x = h * 0.5 + x
        return x.sum()

    return c(f), lambda: s


def tuple_of_two(c):
    m = Holder()
    m.s = (sg.zeros(2, 3), sg.zeros(2, 3))

    def f(x):
        h, k = m.s
        m.s = (h + x, k - h)
        return m.s[1].sum()

    return c(f), lambda: m.s


def list_made_anew(c):
    m = Holder()
    m.s = [sg.zeros(2, 3), {"a": sg.zeros(2, 3)}]

    def f(x):
        m.s = [m.s[0] * 0.5 + x, {k: h + x for k, h in m.s[1].items()}]
        return m.s[0].sum()

    return c(f), lambda: m.s


def former_value(c):
    m = Holder()
    m.h, m.former = sg.zeros(2, 3), sg.ones(2, 3)

    def f(x):
        result = (m.h - m.former).sum()
        m.former = m.h
        m.h = m.h + x
        return result

    return c(f), lambda: (m.h, m.former)


def swapped(c):
    m = Holder()
    m.a, m.b = sg.zeros(2, 3), sg.ones(2, 3)

    def f(x):
        m.a, m.b = m.b, m.a
        return (m.a * x).sum()

    return c(f), lambda: (m.a, m.b)


def one_tensor_in_two_places(c):
    m = Holder()
    m.a = m.b = sg.zeros(2, 3)

    def f(x):
        m.a = m.a + x
        return (m.a + m.b).sum()

    return c(f), lambda: (m.a, m.b)


def changed_in_place_too(c):
    m = Holder()
    m.h = sg.ones(2, 3)

    def f(x):
        m.h.mul_(0.5)
        m.h = m.h + x
        return m.h.sum()

    return c(f), lambda: m.h


def queue(c):
    q = [sg.zeros(2, 3) for _ in range(3)]

    def f(x):
        oldest = q.pop(0)
        q.append(x * 2)
        return oldest.sum()

    return c(f), lambda: q


def log_of_numbers(c):
    log: list[float] = []
    total = {"loss": 0.0, "steps": 0}

    def f(x):
        loss = x.sum()
        log.append(loss.item())
        total["loss"] += loss.item() * 2 + 1
        total["steps"] += 1
        return loss.item()

    return c(f), lambda: (log, total)


def schedule_by_a_counter(c):
    m = Holder()
    m.n = 0

    def f(x):
        m.n += 1
        y = x.sum() * min(m.n / 4, 1.0)
        return y * 2 if m.n % 3 == 0 else y

    return c(f), lambda: m.n


def window(c):
    q = collections.deque([sg.zeros(2, 3)] * 3, maxlen=3)

    def f(x):
        result = sum(q).sum()
        q.append(x * 2)
        return result

    return c(f), lambda: list(q)


def copy_of_a_network(c):
    a, b = nn.Linear(3, 2), nn.Linear(3, 2)
    for p in (*a.parameters(), *b.parameters()):
        nn.init.constant_(p, 0.5)

    def f(x):
        loss = a(x).sum()
        a.zero_grad()
        loss.backward()
        with sg.no_grad():
            for p in a.parameters():
                p.sub_(0.1 * p.grad)
        b.load_state_dict(a.state_dict())
        return b(x).sum().detach()

    return c(f), lambda: [p.detach() for p in b.parameters()]


def scheduler(c):
    p = nn.Parameter(sg.ones(3))
    optimizer = sg.optim.SGD([p], lr=0.1)
    rates = sg.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    def f(x):
        loss = (p * x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rates.step()
        return loss.detach()

    return c(f), lambda: (p.detach(), optimizer.param_groups[0]["lr"])


def plain(value: Any) -> Any:
    if isinstance(value, sg.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def calls(make: Any, c: Any, count: int = 7) -> tuple[Any, list[Any]]:
    step, look = make(c)
    found = []
    for i in range(count):
        found.append(plain([step(sg.full((2, 3), i + 1.0)), look()]))
    return step, found


FORMS = {
    attribute: 1, at_first_nothing: 2, module: 1, closure_cell: 1, dictionary: 1, items_of_a_dictionary: 1,
    members_of_a_list: 1, tuple_of_two: 1, list_made_anew: 1, former_value: 1, swapped: 1, one_tensor_in_two_places: 2,
    changed_in_place_too: 1, queue: 1, log_of_numbers: 1, schedule_by_a_counter: 5, window: 3, copy_of_a_network: 1,
    scheduler: 1, position_in_a_buffer: 7,
}  # fmt: skip
"""Steps, and the most traces that they need."""


@pytest.mark.parametrize("make", FORMS)
def test_state_is_written_back_without_a_cut_or_a_trace(make):
    step, found = calls(make, sg.compile)
    _, expected = calls(make, lambda f: f)
    for a, b in zip(found, expected, strict=True):
        assert repr(a) == repr(b) or np.allclose(np.hstack(_flat(a)), np.hstack(_flat(b)), rtol=1e-6)
    assert step.segmented is None
    assert step.traces <= FORMS[make], step.recompiles


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return [x for part in value for x in _flat(part)]
    return [0.0 if isinstance(value, str) else value]


def test_other_functions_see_replaced_tensors():
    m = Running()
    step, look = sg.compile(m), sg.compile(lambda x: m.mean * x + m.buffer)
    for i in range(4):
        step(np.full((2, 3), i, "float32"))
        np.testing.assert_array_equal(look(sg.ones(3)), m.mean + m.buffer)
    assert look.traces <= 2


def test_a_container_that_is_changed_and_replaced_runs_in_segments():
    m = Holder()
    m.s = [sg.zeros(2)]

    @sg.compile
    def step(x):
        m.s = [h + x for h in m.s]
        m.s.append(x * 1)
        return m.s[0].sum()

    for i in range(3):
        assert float(step(sg.ones(2))) == 2 * (i + 1)
        assert len(m.s) == i + 2


def test_rates_read_after_a_schedulers_step_cut():
    p = nn.Parameter(sg.ones(1))
    optimizer = sg.optim.SGD([p], lr=1.0)
    rates = sg.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    @sg.compile
    def step():
        optimizer.zero_grad()
        p.sum().backward()
        rates.step()
        optimizer.step()

    found = []
    for _ in range(3):
        step()
        found.append(p.item())
    assert found == [0.5, 0.25, 0.125]


def test_a_number_whose_value_is_needed_cuts():
    @sg.compile
    def step(x):
        loss = x.sum().item()
        return 1.0 if loss > 2 else loss + 1

    assert [step(sg.ones(n)) for n in (1, 3, 2)] == [2.0, 1.0, 3.0]


def test_a_mask_from_before_chooses_rows():
    mask = sg.tensor([True, False, True, False])

    @sg.compile(on_break="error")
    def step(x):
        return x[mask].sum()

    assert [float(step(sg.ones(4, 2))) for _ in range(2)] == [4.0, 4.0]
    mask[1] = True
    assert float(step(sg.ones(4, 2))) == 6.0
    assert "mask has other values" in step.recompiles[1]


def test_one_item_that_is_read_by_two_indices_and_replaced_outside():
    """While the function is traced symbols are in both places, which are one: the list gets its tensor back."""
    items = [sg.ones(2)]

    @sg.compile
    def step(x):
        return x + sum(items, items[-1])

    for i in range(4):
        items[-1] = sg.ones(2) * i
        assert step(sg.ones(2)).tolist() == [1.0 + 2 * i] * 2
        assert items[0].tolist() == [float(i)] * 2
