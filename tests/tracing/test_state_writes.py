"""Writes to containers by whatever reaches them: overrides in subclasses, functions of C, objects that a call returns. A
compiled function leaves what the eager one leaves, and no traced value."""

from __future__ import annotations

import array
import bisect
import collections
import functools
import heapq
import itertools
import json
import operator
import queue

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim


class Dict(dict):
    writes = 0

    def __setitem__(self, key, value):
        self.writes += 1
        super().__setitem__(key, value)

    def __delitem__(self, key):
        self.writes += 10
        super().__delitem__(key)

    def setdefault(self, key, default):
        self.writes += 100
        return super().setdefault(key, default)


class Recent(collections.OrderedDict):
    writes = 0

    def __setitem__(self, key, value):
        self.writes += 1
        if key in self:
            self.move_to_end(key)
        super().__setitem__(key, value)
        if len(self) > 3:
            self.popitem(last=False)

    def pop(self, key):
        self.writes += 10
        return super().pop(key)


class List(list):
    writes = 0

    def append(self, x):
        self.writes += 1
        super().append(x)

    def __setitem__(self, key, value):
        self.writes += 10
        super().__setitem__(key, value)

    def __delitem__(self, key):
        super().__delitem__(key)


class Set(set):
    writes = 0

    def add(self, x):
        self.writes += 1
        set.add(self, x)


class Owner:
    def __init__(self):
        self.stats = {}
        self.array = np.zeros(2)

    def of(self):
        return self.stats

    def numbers(self):
        return self.array


def overridden_dict(d, i, x):
    d[i] = x
    d["a"] = i
    d.setdefault("b", 3)
    d.setdefault(f"sum {i}", x.sum())
    del d["a"]


def recent(d, i, x):
    d[i] = x * 2
    d["a"] = i
    d.pop("a")


def overridden_list(d, i, x):
    d.append(i)
    d[0] = x.sum()
    if len(d) > 4:
        del d[1]


def union(d, i, x):
    d |= {i: x}


def counted(d, i, x):
    d.update("ab")
    d += collections.Counter("b")


def heap(d, i, x):
    heapq.heappush(d, -i)
    if len(d) > 3:
        heapq.heappop(d)


def heapified(d, i, x):
    d.append(-i)
    heapq.heapify(d)


def at(d, i, x):
    np.add.at(d, [0, 0], 1)


def keywords(d, i, x):
    d.update(loss=x.sum(), i=i)
    d.update({"z": i}, q=x)


def returned(d, i, x):
    found = d.of()
    found["i"] = i
    found.update(total=x.sum())
    d.numbers()[0] += i


def appended(found, j):
    found.append(j)
    return found


def reduced(d, i, x):
    functools.reduce(appended, [i, i + 1], d)


def chosen(d, i, x):
    max([d.stats], key=len)["i"] = i


WRITES = {
    "an override of dict": (Dict, overridden_dict),
    "an override of OrderedDict": (Recent, recent),
    "an override of list": (lambda: List([0]), overridden_list),
    "an override of set": (Set, lambda d, i, x: d.add(i)),
    "|=": (dict, union),
    "|= of a subclass": (Dict, union),
    "Counter": (collections.Counter, counted),
    "heappush": (list, heap),
    "heapify": (lambda: [3, 2, 1], heapified),
    "insort": (lambda: [3, 4], lambda d, i, x: bisect.insort(d, -i)),
    "operator.iadd": (list, lambda d, i, x: operator.iadd(d, [i])),
    "ufunc.at": (lambda: np.zeros(2), at),
    "a method of an operator": (lambda: np.zeros(2), lambda d, i, x: d.__iadd__(i)),
    "a function of C that calls Python": (list, reduced),
    "keywords of update": (dict, keywords),
    "what a method returns": (Owner, returned),
    "what a function of C returns": (Owner, chosen),
}


def plain(x):
    """Values of containers and of objects that own some, for comparison."""
    if isinstance(x, dict):
        return [(key, plain(value)) for key, value in x.items()], plain(vars(x)) if hasattr(x, "__dict__") else None
    if isinstance(x, (list, set)):
        return [*map(plain, x)], vars(x) if hasattr(x, "__dict__") else None
    if isinstance(x, Owner):
        return plain(vars(x))
    return x.tolist() if hasattr(x, "tolist") else x


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    make, work = WRITES[name]
    left = []
    for compiled in (False, True):
        d, count = make(), [0]

        def step(x, d=d, count=count):
            count[0] += 1
            work(d, count[0], x)
            return x + 1

        run = sg.compile(step) if compiled else step
        for i in range(6):
            run(sg.ones(2) * i)
        left.append(plain(d))
    assert left[1] == left[0]


@functools.cache
def mask(n):
    return sg.ones(n, n).tril()


def test_a_cache_keeps_no_traced_value():
    step = sg.compile(lambda x: x @ mask(x.shape[1]))
    for n in (3, 3, 4, 3):
        assert step(sg.ones(2, n)).tolist() == [[*range(n, 0, -1)]] * 2
    assert mask(3).sum().item() == 6


def test_attributes_of_tensors_that_a_step_makes():
    model = nn.Linear(3, 2)

    @sg.compile
    def step(x):
        y = model(x).square().mean()
        y.kind = "loss"
        y.backward()
        model.weight.norms = model.weight.grad.norm()
        return y, y.kind

    for i in range(3):
        model.zero_grad()
        y, kind = step(sg.ones(2, 3) * i)
        assert kind == y.kind == "loss"
        assert model.weight.norms.item() == pytest.approx(model.weight.grad.norm().item())
    with pytest.raises(sg.TraceError, match="an attribute 'kind' is written to a tensor that is computed inside"):
        sg.compile(step.fn, fullgraph=True)(sg.ones(2, 3))


class Lion(optim.Optimizer):
    """An optimizer as it is written for PyTorch."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @sg.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["m"] = sg.zeros_like(p)
                state["step"] += 1
                state["m"].mul_(0.9).add_(p.grad, alpha=0.1)
                p.add_(state["m"].sign(), alpha=-group["lr"] / state["step"])


class Counting(optim.Optimizer):
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if "step" not in state:
                state["step"] = 0
            state["step"] += 1
            p.data.add_(p.grad, alpha=-0.1)


@pytest.mark.parametrize("before", [0, 2])
def test_state_of_the_users_own_optimizer(before):
    left = []
    for compiled in (False, True):
        sg.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = Lion(model.parameters())

        def step(x, model=model, optimizer=optimizer):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        run = sg.compile(step) if compiled else step
        for i in range(6):
            (run if i >= before else step)(sg.ones(4, 3) * (i + 1))
        saved = optimizer.state_dict()["state"]
        optimizer.load_state_dict(Lion(model.parameters()).state_dict() | {"state": saved})
        assert saved[0]["step"] == 6
        left.append([model.weight.tolist(), saved[0]["m"].tolist(), optimizer.state[model.bias]["step"]])
    np.testing.assert_allclose(left[1][0], left[0][0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(left[1][1], left[0][1], rtol=1e-5, atol=1e-6)
    assert left[1][2] == left[0][2] == 6


def test_steps_that_are_counted_are_not_traced_again():
    counts, ordered = collections.defaultdict(int), collections.OrderedDict(a=0)
    model = nn.Linear(2, 1)
    optimizer = Counting(model.parameters(), {})

    @sg.compile
    def step(x):
        model(x).sum().backward()
        optimizer.step()
        counts["n"] += 1
        ordered["a"] += 2

    for _ in range(6):
        step(sg.ones(3, 2))
    assert (counts["n"], ordered["a"], optimizer.state[model.bias]["step"]) == (6, 12, 6)
    assert step.traces == 2  # the second has state


UNSEEN = {
    "map": (list, lambda d: lambda: list(map(d.append, [1, 2]))),
    "filter": (list, lambda d: lambda: list(filter(d.append, [1]))),
    "starmap": (collections.deque, lambda d: lambda: list(itertools.starmap(d.append, [(1,)]))),
    "key": (list, lambda d: lambda: max([1], key=d.append)),
    "partial": (list, lambda d: lambda: list(map(functools.partial(d.insert, 0), [1]))),
    "methodcaller": (list, lambda d: lambda: operator.methodcaller("append", 1)(d)),
    "array": (lambda: array.array("d"), lambda d: lambda: d.append(1.0)),
    "queue": (queue.SimpleQueue, lambda d: lambda: d.put(1)),
    "map to an array": (lambda: array.array("d"), lambda d: lambda: list(map(d.append, [1.0]))),
    "map to bytes": (bytearray, lambda d: lambda: list(map(d.append, [1]))),
    "UserList": (collections.UserList, lambda d: lambda: list(map(functools.partial(d.insert, 0), [1]))),
    "fromfunction": (list, lambda d: lambda: np.fromfunction(d.append, (2,))),
    "fromfunction, UserList": (collections.UserList, lambda d: lambda: np.fromfunction(d.append, (2,))),
    "apply_along_axis": (list, lambda d: lambda: np.apply_along_axis(d.append, 0, np.ones((2, 2)))),
    "vectorize": (list, lambda d: lambda: np.vectorize(d.append, otypes=[object])(np.ones(2))),
    "vectorize, UserList": (collections.UserList, lambda d: lambda: np.vectorize(d.append, otypes=[object])(np.ones(2))),
    "frompyfunc": (list, lambda d: lambda: np.frompyfunc(d.append, 1, 1)(np.ones(2))),
    "json": (list, lambda d: lambda: json.loads('{"a": 1}', object_hook=d.append)),
    "json numbers": (list, lambda d: lambda: json.loads("[1.5]", parse_float=functools.partial(d.insert, 0))),
}


def contents(d):
    return d.qsize() if isinstance(d, queue.SimpleQueue) else [*map(str, d)]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "cut"])
@pytest.mark.parametrize("name", UNSEEN)
def test_writes_by_functions_of_c(name, whole):
    """Each call writes once: the first one too, where the function is cut after the write."""
    make, change = UNSEEN[name]
    found = []
    for c in (lambda f: f, sg.compile):
        d = make()
        write = change(d)

        @c
        def step(x, write=write):
            write()
            y = (x * 2).sum()
            return y if whole else float(y)

        seen = []
        for _ in range(3):
            step(sg.ones(2))
            seen.append(contents(d))
        found.append(seen)
    assert found[0] == found[1]
