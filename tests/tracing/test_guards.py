"""What a function reads from outside: a change of it is seen by the next call, whatever way it was reached."""

from __future__ import annotations

import functools
import gc
import types
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.tracing.traced import Traced
from staticgrad.tracing.tracer import Tracer
from tests.helpers import values_of
from tests.tracing.helpers import batch

pytestmark = pytest.mark.usefixtures("refusing")

X = batch(2, 3)
SCALE = 2.0
OFFSET = sg.tensor([1.0, 2.0, 3.0])
TABLE = np.array([1.0, 2.0, 3.0], np.float32)
NUMBERS = [1.0, 2.0]
OPTIONS = {"scale": 2.0, "deep": {"shift": 1.0}}
step = 0  # also the name of a method below


class Settings:
    """A namespace."""

    scale = 2.0


@dataclass
class Config:
    scale: float = 2.0
    sizes: tuple[int, ...] = (1, 2)


CONFIG = Config()
MODULE = types.ModuleType("settings")
MODULE.__file__ = __file__
MODULE.scale = 2.0


def helper(x):
    return x * SCALE


def uses_global(x):
    return x * SCALE


def uses_helper(x):
    return helper(x) + 1


def uses_lambda(x):
    return (lambda y: y * SCALE)(x)


def uses_comprehension(x):
    return sum([x * SCALE for _ in range(2)])


def uses_tensor(x):
    return x + OFFSET


def uses_array(x):
    return x * TABLE


def uses_list(x):
    return sum(n * x for n in NUMBERS)


def uses_dict(x):
    return x * OPTIONS["scale"] + OPTIONS["deep"]["shift"]


def uses_class(x):
    return x * Settings.scale


def uses_object(x):
    return x * CONFIG.scale + len(CONFIG.sizes)


def uses_module(x):
    return x * MODULE.scale


def uses_default(x, config=CONFIG):
    return x * config.scale


def passes_object_on(x):
    def inner(config):
        return x * config.scale

    return inner(CONFIG)


def put(scope, name, value):
    """Set a global, attribute or item; returns what undoes it."""
    if isinstance(scope, (dict, list)):
        old = scope[name]
        scope[name] = value
        return lambda: put(scope, name, old)
    old = getattr(scope, name)
    setattr(scope, name, value)
    return lambda: setattr(scope, name, old)


def append(members, value):
    members.append(value)
    return members.pop


def add_in_place(x):
    x += 1
    return lambda: x.__isub__(1)


HERE = globals()
# (function, what changes, traces after the change)
CHANGES = {
    "global": (uses_global, lambda: put(HERE, "SCALE", 3.0), "SCALE is 3.0 instead of 2.0"),
    "global, another int": (uses_global, lambda: put(HERE, "SCALE", 2), "SCALE is 2 instead of 2.0"),
    "global, equal": (uses_global, lambda: put(HERE, "SCALE", float("2.0")), None),
    "global of a helper": (uses_helper, lambda: put(HERE, "SCALE", 3.0), "SCALE is 3.0 instead of 2.0"),
    "the helper": (uses_helper, lambda: put(HERE, "helper", lambda x: x * 5), "helper is another function"),
    "global of a lambda": (uses_lambda, lambda: put(HERE, "SCALE", 3.0), "SCALE is 3.0 instead of 2.0"),
    "global of a comprehension": (uses_comprehension, lambda: put(HERE, "SCALE", 3.0), "SCALE is 3.0 instead of 2.0"),
    "tensor": (uses_tensor, lambda: put(HERE, "OFFSET", sg.zeros(3)), "OFFSET is another Tensor"),
    "tensor in place": (uses_tensor, lambda: add_in_place(OFFSET), None),
    "data of a tensor": (uses_tensor, lambda: put(OFFSET, "data", sg.ones(3)), None),
    "array": (uses_array, lambda: put(HERE, "TABLE", np.ones(3, np.float32)), "TABLE is another ndarray"),
    "array in place": (uses_array, lambda: add_in_place(TABLE), None),
    "member of a list": (uses_list, lambda: put(NUMBERS, 0, 5.0), "NUMBERS[0] is 5.0 instead of 1.0"),
    "length of a list": (uses_list, lambda: append(NUMBERS, 7.0), "NUMBERS has 3 members instead of 2"),
    "item": (uses_dict, lambda: put(OPTIONS, "scale", 3.0), "OPTIONS['scale'] is 3.0 instead of 2.0"),
    "deep item": (
        uses_dict, lambda: put(OPTIONS["deep"], "shift", 3.0), "OPTIONS['deep']['shift'] is 3.0 instead of 1.0",
    ),
    "attribute of a class": (uses_class, lambda: put(Settings, "scale", 3.0), "Settings.scale is 3.0 instead of 2.0"),
    "attribute of an object": (uses_object, lambda: put(CONFIG, "scale", 3.0), "CONFIG.scale is 3.0 instead of 2.0"),
    "tuple of an object": (uses_object, lambda: put(CONFIG, "sizes", (1, 2, 3)), "CONFIG.sizes is (1, 2, 3) instead of (1, 2)"),
    "attribute of a module": (uses_module, lambda: put(MODULE, "scale", 3.0), "MODULE.scale is 3.0 instead of 2.0"),
    "attribute of a default": (uses_default, lambda: put(CONFIG, "scale", 3.0), "config.scale is 3.0 instead of 2.0"),
    "attribute elsewhere": (passes_object_on, lambda: put(CONFIG, "scale", 3.0), "CONFIG.scale is 3.0 instead of 2.0"),
}  # fmt: skip


@pytest.mark.parametrize(("fn", "change", "reason"), CHANGES.values(), ids=CHANGES)
def test_changes(fn, change, reason):
    compiled = sg.compile(fn)

    def check():
        np.testing.assert_allclose(values_of(compiled(X)), values_of(fn(X)), rtol=1e-6)

    check()
    undo = change()
    try:
        check()
        check()
        assert compiled.recompiles == ["first call"] + ([] if reason is None else ["same arguments, but " + reason])
    finally:
        undo()
    check()
    assert len(compiled.recompiles) == (1 if reason is None else 2)  # back again is a hit


def test_names_of_methods_are_no_globals():
    """`opt.step()` in a loop over `step` does not make a trace per iteration."""
    global step
    w = sg.tensor([1.0], requires_grad=True)
    opt = sg.optim.SGD([w], lr=0.1)

    @sg.compile
    def train(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()

    for step in range(3):  # noqa: B007
        train(X)
    assert train.recompiles == ["first call"]


def test_closures():
    def make():
        scale, net = 2.0, nn.Linear(3, 2)

        def fn(x):
            return net(x) * scale

        def change(value):
            nonlocal scale
            scale = value

        return sg.compile(fn), fn, change

    compiled, fn, change = make()
    for value in (2.0, 3.0, 2.0):
        change(value)
        np.testing.assert_allclose(compiled(X).detach().numpy(), fn(sg.tensor(X)).detach().numpy(), rtol=1e-5)
    assert compiled.recompiles[1:] == ["same arguments, but scale is 3.0 instead of 2.0"]


def test_a_closure_that_is_not_there_yet():
    def make():
        @sg.compile
        def fn(x, late):
            return x * (value if late else 2.0)

        fn(X, False)
        value = 3.0
        return fn

    np.testing.assert_allclose(make()(X, True), X * 3, rtol=1e-6)


def test_counters_of_the_user_are_not_frozen():
    """A number that the step itself changes is an argument."""
    calls = {"n": 0}

    @sg.compile
    def fn(x):
        calls["n"] += 1
        return x * calls["n"]

    assert [fn(X)[0, 0] / X[0, 0] for _ in range(3)] == [1, 2, 3]
    assert len(fn.recompiles) == 1


# kinds of functions -----------------------------------------------------------------------------------------------------


class Trainer:
    """Methods compiled where they are defined."""

    def __init__(self, scale):
        self.scale = scale
        self.net = nn.Linear(3, 2)
        self.calls = []

    def part(self, x):
        return self.net(x) * self.scale

    @sg.compile
    def forward(self, x):
        self.calls.append(1)
        return self.part(x) + 1

    @staticmethod
    @sg.compile
    def double(x):
        return x * 2


def test_methods():
    first, second = Trainer(2.0), Trainer(3.0)
    for trainer in (first, second, first):
        np.testing.assert_allclose(
            trainer.forward(X).detach().numpy(), (trainer.part(sg.tensor(X)) + 1).detach().numpy(), rtol=1e-5
        )
    assert (len(first.calls), len(second.calls)) == (2, 1)  # as eagerly
    assert first.forward is first.forward
    first.scale = 4.0
    np.testing.assert_allclose(first.forward(X).detach().numpy(), (first.part(sg.tensor(X)) + 1).detach().numpy(), rtol=1e-5)
    assert first.forward.recompiles[1:] == ["same arguments, but self.scale is 4.0 instead of 2.0"]
    np.testing.assert_array_equal(Trainer.double(X), X * 2)
    assert isinstance(Trainer.forward, sg.tracing.CompiledFunction)


def test_instances_end_with_their_methods():
    import gc
    import weakref

    trainer = Trainer(2.0)
    trainer.forward(X)
    gone = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert gone() is None


def test_copies_of_instances_have_traces_of_their_own():
    import copy

    sg.manual_seed(0)
    trainer = Trainer(2.0)
    trainer.forward(X)
    for other in (copy.copy(trainer), copy.deepcopy(trainer)):
        other.scale = 5.0
        np.testing.assert_allclose(
            other.forward(X).detach().numpy(), (other.part(sg.tensor(X)) + 1).detach().numpy(), rtol=1e-5
        )
    np.testing.assert_allclose(
        trainer.forward(X).detach().numpy(), (trainer.part(sg.tensor(X)) + 1).detach().numpy(), rtol=1e-5
    )


class Slotted:
    __slots__ = ("w",)

    def __init__(self):
        self.w = sg.ones(3)

    @sg.compile
    def forward(self, x):
        return x * self.w


def test_instances_without_a_dict():
    one = Slotted()
    np.testing.assert_array_equal(one.forward(X), X)
    assert one.forward is one.forward


class Block(nn.Module):
    """A module with a plain list and a setting that `forward` reads."""

    def __init__(self):
        super().__init__()
        self.scales = [1.0, 2.0]
        self.flag = False
        self.extra = [nn.Linear(3, 3)]

    def forward(self, x):
        for scale in self.scales:
            x = x * scale
        return self.extra[0](x) if self.flag else x


def test_modules_of_the_user():
    block = Block()
    for compiled in (sg.compile(block), sg.compile(lambda x: block(x)), sg.compile(block.forward)):
        block.scales, block.flag = [1.0, 2.0], False

        def check(compiled=compiled):
            np.testing.assert_allclose(values_of(compiled(X)), values_of(block(X)), rtol=1e-5, atol=1e-6)

        check()
        block.scales.append(3.0)
        check()
        block.scales[0] = 5.0
        check()
        block.flag = True
        check()
        block.extra[0] = nn.Linear(3, 3)
        check()
        assert len(compiled.recompiles) == 5


def test_forward_hooks():
    net = nn.Linear(3, 2)
    compiled = sg.compile(lambda x: net(x))
    before = compiled(X).detach().numpy()
    handle = net.register_forward_hook(lambda module, args, out: out * 2)
    np.testing.assert_allclose(compiled(X).detach().numpy(), before * 2, rtol=1e-5)
    handle.remove()
    np.testing.assert_allclose(compiled(X).detach().numpy(), before, rtol=1e-5)
    assert len(compiled.recompiles) == 2


def test_rebound_buffers():
    net = nn.Module()
    net.register_buffer("mean", sg.ones(3))
    compiled = sg.compile(lambda x: x - net.mean)
    compiled(X)
    net.mean = sg.zeros(3)
    np.testing.assert_array_equal(compiled(X), X)


def test_partials_lambdas_and_callables():
    class Scale:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x * self.by

    def times(scale, x):
        return scale(x)

    scale = Scale(2.0)
    for compiled in (
        sg.compile(scale), sg.compile(lambda x: scale(x)), sg.compile(functools.partial(times, scale)),
        sg.compile(functools.partial(times, scale=scale)) if False else sg.compile(functools.partial(times, scale)),
    ):  # fmt: skip
        scale.by = 2.0
        np.testing.assert_array_equal(compiled(X), X * np.float32(2))
        scale.by = 3.0
        np.testing.assert_array_equal(compiled(X), X * np.float32(3))
        assert repr(compiled).startswith("<sg.compile of ")


def test_compiled_functions_inside_compiled_functions():
    scale = 2.0
    w = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)

    @sg.compile
    def inner(x):
        return (x * w * scale).sum()

    @sg.compile
    def outer(x):
        w.grad = None
        inner(x).backward()
        return inner(x)

    first = outer(X).item()
    assert inner.recompiles == []
    np.testing.assert_allclose(w.grad.numpy(), 2 * X.sum(axis=0), rtol=1e-5)
    assert inner(X).item() == pytest.approx(first)
    scale = 3.0
    assert outer(X).item() == pytest.approx(first * 1.5)
    assert outer.recompiles[1] == "same arguments, but scale is 3.0 instead of 2.0"


def test_what_can_not_be_compiled():
    def generator():
        yield 1

    async def coroutine():
        pass

    for fn in (generator, coroutine):
        with pytest.raises(sg.TraceError, match="is a generator or a coroutine, which can't be compiled"):
            sg.compile(fn)
    with pytest.raises(sg.TraceError, match="compile needs a function, got int"):
        sg.compile(3)
    assert sg.compile()(uses_global)(X) is not None
    with pytest.raises(sg.TraceError, match="uses_global has not been called yet"):
        sg.compile(uses_global).explain()


def test_a_trace_lets_go_of_the_first_call():
    """Of its arguments and of what was traced, before the compiler runs; results that are dicts and records keep nothing."""

    @dataclass
    class Pair:
        loss: object
        double: object

    @sg.compile
    def f(x):
        y = (x * x).sum()
        return {"pair": Pair(y, 2 * y), "list": [y]}

    first = sg.tensor(np.ones(3, np.float32))
    array = weakref.ref(first._data)
    result = f(first)
    assert result["pair"].double.item() == 6
    del first, result
    assert array() is None
    gc.collect()
    (entry,) = (entry for known in f.specializations.values() for entry in known)
    reached = _reached_from(entry)
    assert not [x for x in reached if issubclass(type(x), (Tracer, Traced))]
    assert f(np.full(3, 2.0, np.float32))["list"][0].item() == 12


def _reached_from(start):
    """What `start` keeps alive, but for classes, modules and the globals of functions, which other tests fill too.

    `type(x)` and not `isinstance`: that asks a weak proxy for the class of its object, which may be gone.
    """
    seen, stack = {}, [start]
    while stack:
        x = stack.pop()
        if id(x) in seen or issubclass(type(x), (type, types.ModuleType)):
            continue
        seen[id(x)] = x
        known = [x.__globals__] if type(x) is types.FunctionType else []
        stack.extend(y for y in gc.get_referents(x) if all(y is not k for k in known))
    return seen.values()
