"""What a step does to its own surroundings: the structure of modules, optimizers' state, hooks, random state, threads, objects
that count how they are read, classes of C. After each change and each call, a compiled function leaves what the eager one does.

A row makes from nothing: a step, changes between its calls, and a look at the state. `test_installed.py` runs the rows in a
package, too.
"""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import gc
import io
import json
import sys
import threading
import types
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.utils import data
from tests.helpers import assert_same
from tests.tracing.helpers import watched_by

X = np.arange(1, 4, dtype=np.float32)
ROWS: dict[str, Any] = {}
MODES: dict[str, dict[str, Any]] = {
    "default": {}, "strict": {"numerics": "strict"}, "segments": {"on_break": "split"},
    "eager": {"on_break": "eager"}, "unwatched": {},
}  # fmt: skip


def row(make: Any) -> Any:
    ROWS[make.__name__.strip("_")] = make
    return make


def leaf() -> Any:
    return sg.tensor(X, requires_grad=True)


# the structure of modules -------------------------------------------------------------------------------------------------


def chain() -> Any:
    sg.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.ReLU())


@row
def layer_deleted():
    m = chain()

    def step(x):
        y = m(x)
        if len(m) > 1:
            del m[-1]
        return y

    return step, [lambda: m.append(nn.Tanh())], lambda: repr(m)


@row
def layer_replaced():
    m = chain()

    def step(x):
        y = m(x)
        m[1] = nn.ReLU() if isinstance(m[1], nn.Tanh) else nn.Tanh()
        return y

    return step, [lambda: m.__setitem__(1, nn.Sigmoid())], lambda: repr(m)


@row
def layer_added():
    m = chain()

    def step(x):
        y = m(x)
        m.append(nn.Tanh())
        return y

    return step, [lambda: m.insert(0, nn.ReLU())], lambda: repr(m)


@row
def layers_in_a_list():
    m = nn.ModuleList([nn.Tanh(), nn.ReLU(), nn.Sigmoid()])

    def step(x):
        for part in m:
            x = part(x)
        m.insert(0, m[2])
        del m[3:]
        return x

    return step, [], lambda: repr(m)


@row
def layers_in_a_dict():
    m = nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()})

    def step(x):
        for part in m.values():
            x = part(x)
        if "a" in m:
            m["c"] = m.pop("a")
        return x

    return step, [lambda: m.update({"d": nn.Sigmoid()})], lambda: repr(m)


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Tanh(), nn.ReLU()


@row
def children_swapped():
    class Net(Pair):
        def forward(self, x):
            x = self.a(x)
            self.a, self.b = self.b, self.a
            return x

    m = Net()
    return (lambda x: m(x)), [lambda: setattr(m, "a", nn.Sigmoid())], lambda: repr(m)


@row
def child_deleted():
    class Net(Pair):
        def forward(self, x):
            x = self.a(x)
            if hasattr(self, "b"):
                x = self.b(x) - 1
                del self.b
            return x

    m = Net()
    return (lambda x: m(x)), [lambda: setattr(m, "b", nn.ReLU())], lambda: repr(m)


@row
def buffer_registered():
    class Net(nn.Module):
        def forward(self, x):
            if not hasattr(self, "count"):
                self.register_buffer("count", sg.zeros(3))
            self.count += 1
            return x * self.count

    m = Net()
    return (lambda x: m(x)), [lambda: m.count.zero_()], lambda: (m.count.numpy().copy(), list(dict(m.named_buffers())))


@row
def parameter_registered():
    class Net(nn.Module):
        def forward(self, x):
            if not hasattr(self, "w"):
                self.w = nn.Parameter(sg.ones(3))
            return x * self.w

    m = Net()
    return (lambda x: m(x)), [lambda: m.w.data.fill_(2.0)], lambda: list(dict(m.named_parameters()))


@row
def weights_tied():
    sg.manual_seed(0)
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)

    def step(x):
        y = a(x) + b(x)
        b.weight = a.weight
        return y

    return step, [], lambda: b.weight is a.weight


@row
def training_switched():
    m = nn.Dropout(0.0)

    def step(x):
        y = m(x) * (2 if m.training else 3)
        m.train(not m.training)
        return y

    return step, [m.eval, m.train], lambda: m.training


@row
def training_inside_alone():
    m = nn.Dropout(1.0)

    def step(x):
        m.train()
        y = m(x)
        m.eval()
        return y + m(x)

    return step, [m.train, m.eval], lambda: m.training


@row
def setting_by_its_namespace():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 1

        def forward(self, x):
            self.__dict__["n"] += 1
            return x * self.n

    m = Net()
    return (lambda x: m(x)), [lambda: setattr(m, "n", 7)], lambda: m.n


@row
def weight_computed_by_the_package():
    sg.manual_seed(0)
    m = nn.Linear(3, 3)
    nn.utils.prune.l1_unstructured(m, "weight", amount=3)
    return (
        (lambda x: m(x)),
        [lambda: nn.utils.prune.l1_unstructured(m, "weight", amount=2), lambda: m.weight_mask.fill_(0.0)],
        lambda: m.weight.detach().numpy().copy(),
    )


# hooks --------------------------------------------------------------------------------------------------------------------


@row
def module_hook_registered():
    m = nn.Tanh()

    def step(x):
        y = m(x)
        m.register_forward_hook(lambda module, args, result: result * 2)
        return y

    return step, [], lambda: len(m._forward_hooks)


@row
def module_hook_removed():
    m = nn.Tanh()
    handles = [m.register_forward_hook(lambda module, args, result: result * 2) for _ in range(3)]

    def step(x):
        y = m(x)
        if handles:
            handles.pop().remove()
        return y

    return step, [], lambda: (len(handles), len(m._forward_hooks))


@row
def tensor_hook_registered():
    w = leaf()

    def step(x):
        w.grad = None
        (w * x).sum().backward()
        w.register_hook(lambda g: g * 2)
        return w.grad * 1

    return step, [], lambda: w.grad.numpy().copy()


@row
def hooks_of_tensors_that_count():
    w, layer, calls = leaf(), nn.Linear(3, 1), []

    def count(g):
        calls.append(len(calls))
        return g * len(calls)

    w.register_hook(count)
    layer.weight.register_hook(count)

    def step(x):
        w.grad = None
        layer.zero_grad()
        (w * x + layer(x)).sum().backward()
        return w.grad + layer.weight.grad

    return step, [], lambda: list(calls)


@row
def hook_of_an_optimizer_registered():
    w, n = leaf(), [0]
    opt = optim.SGD([w], lr=0.1)

    def count(*call):
        n[0] += 1

    def step(x):
        opt.zero_grad()
        (w * w * x).sum().backward()
        opt.step()
        opt.register_step_post_hook(count)
        return w * 1

    return step, [], lambda: (w.detach().numpy().copy(), n[0])


@row
def saved_values_replaced():
    w = leaf()

    def step(x):
        w.grad = None
        with sg.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
            y = (w * w * x).sum()
        y.backward()
        return w.grad * 1

    return step, [], lambda: w.grad.numpy().copy()


# optimizers ---------------------------------------------------------------------------------------------------------------


def trained(make: Any, after: Any) -> Any:
    w = leaf()
    opt = make([w])

    def step(x):
        opt.zero_grad()
        (w * w * x).sum().backward()
        opt.step()
        after(opt, w)
        return w * 1

    return step, [], lambda: (w.detach().numpy().copy(), sorted(opt.state[w]) if w in opt.state else None)


def adam(params: Any) -> Any:
    return optim.Adam(params, lr=0.1)


def momentum(params: Any) -> Any:
    return optim.SGD(params, lr=0.1, momentum=0.9)


@row
def state_cleared():
    return trained(momentum, lambda opt, w: opt.state.clear())


@row
def state_popped():
    return trained(adam, lambda opt, w: opt.state.pop(w))


@row
def slot_replaced():
    return trained(adam, lambda opt, w: opt.state[w].__setitem__("exp_avg", sg.zeros(3)))


@row
def slots_assigned():
    return trained(momentum, lambda opt, w: setattr(opt, "state", collections.defaultdict(dict)))


@row
def rate_written():
    return trained(adam, lambda opt, w: opt.param_groups[0].__setitem__("lr", opt.param_groups[0]["lr"] * 0.5))


class Counted(optim.Optimizer):
    def __init__(self, params: Any):
        super().__init__(params, {"lr": 0.1})
        self.n = 0

    def rule(self, p, g, slots, hyper, group):
        self.n += 1
        return p - hyper("lr") * g / self.n, {}


@row
def rule_that_counts():
    step, changes, look = trained(Counted, lambda opt, w: None)
    return step, changes, look


# random state -------------------------------------------------------------------------------------------------------------


@row
def generator_forked():
    sg.manual_seed(3)

    def step(x):
        with sg.random.fork_rng():
            a = sg.randn(3)
        return x + a + sg.randn(3)

    return step, [lambda: sg.manual_seed(5)], lambda: sg.randn(2).numpy()


@row
def generator_seeded():
    def step(x):
        sg.manual_seed(7)
        return x + sg.randn(3)

    return step, [lambda: sg.manual_seed(5)], lambda: sg.randn(2).numpy()


@row
def generator_put_back():
    sg.manual_seed(3)

    def step(x):
        state = sg.get_rng_state()
        a = sg.randn(3)
        sg.set_rng_state(state)
        return x + a + sg.randn(3)

    return step, [], lambda: sg.randn(2).numpy()


# leaves that are replaced, memory of parameters ---------------------------------------------------------------------------


@row
def leaf_in_a_list():
    w = [leaf()]

    def step(x):
        loss = (w[0] * w[0] * x).sum()
        (g,) = sg.grad(loss, [w[0]])
        w[0] = (w[0] - 0.01 * g).detach().requires_grad_()
        return loss

    return step, [lambda: w.__setitem__(0, leaf())], lambda: (w[0].detach().numpy().copy(), w[0].requires_grad, w[0].is_leaf)


@row
def view_of_a_parameter_written():
    w = leaf()
    view = w.detach().numpy()

    def step(x):
        view[1] += 1
        return x * w

    return step, [lambda: view.fill(3.0)], lambda: view.copy()


# threads and locks --------------------------------------------------------------------------------------------------------


@row
def thread_joined():
    got: list[int] = []

    def step(x):
        thread = threading.Thread(target=lambda: got.append(1))
        thread.start()
        thread.join()
        return x * len(got)

    return step, [got.clear], lambda: len(got)


@row
def thread_that_computes():
    got: dict[str, Any] = {}

    def step(x):
        thread = threading.Thread(target=lambda: got.__setitem__("y", x * 2))
        thread.start()
        thread.join()
        return got["y"] + 1

    return step, [], lambda: sorted(got)


@row
def event():
    flag = threading.Event()

    def step(x):
        y = x * 2 if flag.is_set() else x
        (flag.clear if flag.is_set() else flag.set)()
        return y

    return step, [flag.set, flag.clear], flag.is_set


@row
def lock_that_is_kept():
    lock = threading.Lock()

    def step(x):
        if lock.locked():
            lock.release()
            return x * 2
        lock.acquire()
        return x

    return step, [], lock.locked


@row
def lock_around_state():
    lock, n = threading.Lock(), [0]

    def step(x):
        with lock:
            n[0] += 1
        return x * n[0]

    return step, [lambda: n.__setitem__(0, 5)], lambda: (n[0], lock.locked())


@row
def state_of_the_thread():
    local = threading.local()
    local.n, local.h = 0, sg.zeros(3)

    def step(x):
        local.n += 1
        local.h = local.h + x
        local.k = 1
        del local.k
        return local.h * local.n

    return step, [lambda: setattr(local, "n", 9)], lambda: (local.n, local.h.numpy().copy(), hasattr(local, "k"))


@row
def name_of_the_thread():
    thread = threading.current_thread()
    name = thread.name

    def rename(text):
        thread.name = text

    return (lambda x: x * len(threading.current_thread().name)), [lambda: rename("other"), lambda: rename(name)], lambda: None


# objects that see how they are read ---------------------------------------------------------------------------------------


class Missing:
    def __init__(self) -> None:
        self.n = 0

    def __getattr__(self, name: str) -> float:
        if name.startswith("__"):
            raise AttributeError(name)
        self.n += 1
        return float(self.n)


class Read:
    def __init__(self) -> None:
        object.__setattr__(self, "n", 0)

    def __getattribute__(self, name: str) -> int:
        n = object.__getattribute__(self, "n") + 1
        object.__setattr__(self, "n", n)
        return n


class Asked:
    """Counts every other question."""

    n = 0

    def __eq__(self, other: object) -> bool:
        Asked.n += 1
        return True

    def __hash__(self) -> int:
        Asked.n += 1
        return 1

    def __len__(self) -> int:
        Asked.n += 1
        return 2

    def __bool__(self) -> bool:
        Asked.n += 1
        return True

    def __repr__(self) -> str:
        Asked.n += 1
        return "asked"

    @property
    def __class__(self) -> Any:
        Asked.n += 1
        return Asked


@row
def getattr_counts():
    c = Missing()
    return (lambda x: x * c.foo), [lambda: setattr(c, "n", 10), lambda: setattr(c, "foo", 5.0)], lambda: c.n


@row
def getattribute_counts():
    c = Read()
    return (lambda x: x * c.a * c.b), [lambda: object.__setattr__(c, "n", 5)], lambda: object.__getattribute__(c, "n")


@row
def getattr_of_a_module_counts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def __getattr__(self, name):
            if name == "magic":
                self.count += 1
                return self.count
            raise AttributeError(name)

        def forward(self, x):
            return x * self.magic

    m = Net()
    return (lambda x: m(x)), [lambda: setattr(m, "count", 10)], lambda: m.count


@row
def questions_count():
    c = Asked()
    table, items = {c: 2.0}, [c]
    Asked.n = 0

    def step(x):
        return x * table[c] * (2 if c in items else 3) * (1 if c else 2) * len(c)

    return step, [], lambda: Asked.n


@row
def property_and_setters_count():
    class Box:
        def __init__(self):
            self.__dict__["log"] = []

        def __setattr__(self, name, value):
            self.__dict__[name] = value
            self.__dict__["log"].append(name)

        def __delattr__(self, name):
            self.__dict__.pop(name)
            self.__dict__["log"].append("-" + name)

        @property
        def size(self):
            self.__dict__["log"].append("size")
            return len(self.log)

    box = Box()

    def step(x):
        box.a = 2.0
        y = x * box.a * box.size
        del box.a
        setattr(box, "b", 1)  # noqa: B010
        return y

    return step, [lambda: setattr(box, "b", 2)], lambda: (list(box.log), box.b)


@row
def methods_of_a_list_count():
    class Items(list):
        n = 0

        def __len__(self):
            Items.n += 1
            return list.__len__(self)

        def __iter__(self):
            Items.n += 1
            return list.__iter__(self)

        def __getitem__(self, i):
            Items.n += 1
            return list.__getitem__(self, i)

        def __contains__(self, x):
            Items.n += 1
            return True

    items = Items([1.0, 2.0])

    def step(x):
        items.append(3.0)
        return x * len(items) * sum(items) * items[0] * (2 if 5 in items else 1)

    return step, [lambda: list.__setitem__(items, 0, 7.0)], lambda: (list.__len__(items), Items.n)


@row
def proxy():
    class Proxy:
        def __init__(self, target):
            object.__setattr__(self, "_target", target)

        def __getattribute__(self, name):
            return getattr(object.__getattribute__(self, "_target"), name)

        def __setattr__(self, name, value):
            setattr(object.__getattribute__(self, "_target"), name, value)

        def __delattr__(self, name):
            delattr(object.__getattribute__(self, "_target"), name)

    target = types.SimpleNamespace(n=0)
    shown = Proxy(target)

    def step(x):
        shown.n = shown.n + 1
        shown.late = 1
        del shown.late
        return x * shown.n

    return step, [lambda: setattr(target, "n", 7)], lambda: dict(vars(target))


@row
def descriptor_counts():
    class Kept:
        def __init__(self):
            self.values = weakref.WeakKeyDictionary()

        def __get__(self, owner, kind):
            return self.values.get(owner, 1.0)

        def __set__(self, owner, value):
            self.values[owner] = value

        def __delete__(self, owner):
            self.values.pop(owner, None)

    class Box:
        a = Kept()

    box = Box()

    def step(x):
        y = x * box.a
        box.a = box.a + 1
        if box.a > 4:
            del box.a
        return y

    return step, [lambda: setattr(box, "a", 9.0)], lambda: box.a


@row
def metaclass_counts():
    class Meta(type):
        n = 0

        def __getattr__(cls, name):
            if name.startswith("_"):
                raise AttributeError(name)
            Meta.n += 1
            return float(Meta.n)

        def __call__(cls, *args):
            Meta.n += 1
            return super().__call__(*args)

        def __instancecheck__(cls, x):
            Meta.n += 1
            return True

        def __setattr__(cls, name, value):
            type.__setattr__(cls, "latest", name)
            type.__setattr__(cls, name, value)

        def tick(cls):
            Meta.n += 1
            return Meta.n

        @property
        def now(cls):
            Meta.n += 1
            return Meta.n

    class Some(metaclass=Meta):
        def __init__(self, v):
            self.v = v

    def step(x):
        Some.q = 3.0
        return x * Some.foo * Some(2.0).v * Some.tick() * Some.now * (2 if isinstance(3, Some) else 1) * Some.q

    return step, [lambda: setattr(Meta, "n", 1)], lambda: (Meta.n, Some.latest)


# classes of C -------------------------------------------------------------------------------------------------------------


@row
def memoryview_written():
    data = bytearray(b"\1\2\3")
    view = memoryview(data)

    def step(x):
        y = x * view[1]
        view[1] = view[1] + 1
        return y

    return step, [lambda: data.__setitem__(1, 9)], lambda: bytes(data)


@row
def array_written():
    data = array.array("d", X)

    def step(x):
        y = x * data[1] * len(data)
        data[1] = data[1] + 1
        data.append(2.0)
        del data[0]
        return y

    return step, [lambda: data.__setitem__(1, 9.0)], lambda: list(data)


@row
def text_as_state():
    s = types.SimpleNamespace(text=json.dumps({"n": 0, "more": {"k": [1]}}))

    def step(x):
        values = json.loads(s.text)
        values["n"] += 1
        values["more"]["k"].append(values["n"])
        s.text = json.dumps(values)
        return x * values["n"] * len(values["more"]["k"])

    return step, [lambda: setattr(s, "text", json.dumps({"n": 9, "more": {"k": []}}))], lambda: s.text


@row
def cached_function_that_counts():
    n = [0]

    @functools.lru_cache
    def scale(k):
        n[0] += 1
        return n[0]

    return (lambda x: x * scale(1)), [scale.cache_clear, lambda: n.__setitem__(0, 7)], lambda: n[0]


@row
def context_variable_reset():
    var = contextvars.ContextVar("var", default=0)

    def step(x):
        token = var.set(var.get() + 1)
        y = x * var.get()
        var.reset(token)
        return y

    return step, [lambda: var.set(9) and None], var.get


@row
def object_that_dies():
    class Thing:
        pass

    things = [Thing()]
    reference = weakref.ref(things[0])

    def die():
        things.clear()
        gc.collect()

    return (lambda x: x * (2 if reference() is not None else 3)), [die], lambda: None


@row
def settings_of_the_process():
    before = sys.getrecursionlimit()

    def step(x):
        return x * sys.getrecursionlimit()

    return step, [lambda: sys.setrecursionlimit(before + 1), lambda: sys.setrecursionlimit(before)], lambda: None


@row
def grad_mode_left_behind():
    def step(x):
        y = (x.clone().requires_grad_() * 2).requires_grad
        sg.set_grad_enabled(False)
        return x * (2 if y else 1)

    def look():
        left = sg.is_grad_enabled()
        sg.set_grad_enabled(True)
        return left

    return step, [], look


def shuffled(order_of: Any) -> Any:
    """A step that takes the numbers of a random order, and a look at what is drawn after it."""

    def make() -> Any:
        order = order_of()
        return lambda x: x * sg.tensor([float(i) for i in order()][:3]), [], lambda: sg.rand(()).item()

    return make


def loaded(**options: Any) -> Any:
    loader = data.DataLoader(data.TensorDataset(sg.arange(6.0)), batch_size=2, shuffle=True, **options)
    return lambda: [number for (batch,) in loader for number in batch.tolist()]


SEED = 5
for name, order_of in {
    "loader": loaded,
    "loader_with_a_generator": lambda: loaded(generator=sg.Generator().manual_seed(SEED)),
    "loader_with_numpys_generator": lambda: loaded(generator=np.random.default_rng(SEED)),
    "sampler": lambda: functools.partial(list, data.RandomSampler(range(5))),
    "sampler_with_a_generator_of_the_step": lambda: (
        lambda: data.RandomSampler(range(5), generator=sg.Generator().manual_seed(SEED))
    ),
    "subset_sampler": lambda: functools.partial(list, data.SubsetRandomSampler([1, 5, 7])),
    "weighted_sampler": lambda: functools.partial(list, data.WeightedRandomSampler([1.0, 2.0, 3.0], 5)),
    "split": lambda: lambda: data.random_split(range(6), [3, 3])[0],
}.items():
    ROWS[f"order_of_a_{name}"] = shuffled(order_of)


def setting(change: Any, look: Any) -> Any:
    """A step that changes a setting of the process, another one at each call, and reads it."""

    def make() -> Any:
        calls = [0]

        def step(x: Any) -> Any:
            change(calls[0])
            calls[0] += 1
            return x * len(str(look()))

        return step, [lambda: change(0), lambda: change(1)], look

    return make


ROWS["threads"] = setting(lambda i: sg.set_num_threads(1 + i % 2), sg.get_num_threads)
ROWS["warn_always"] = setting(lambda i: sg.set_warn_always(i % 2 == 0), sg.is_warn_always_enabled)
ROWS["print_options"] = setting(lambda i: sg.set_printoptions(precision=1 + i % 3), lambda: repr(sg.ones(()) / 3))
ROWS["numpys_errors"] = setting(lambda i: np.seterr(over=("ignore", "warn")[i % 2]), np.geterr)
ROWS["numpys_print_options"] = setting(
    lambda i: np.set_printoptions(precision=1 + i % 3), lambda: np.get_printoptions()["precision"]
)
ROWS["filters_of_warnings"] = setting(
    lambda i: warnings.simplefilter(("error", "always")[i % 2]), lambda: warnings.filters[0][0]
)


@pytest.fixture(autouse=True)
def restored_settings() -> Any:
    threads, errors, options = sg.get_num_threads(), np.geterr(), np.get_printoptions()
    with warnings.catch_warnings():
        yield
    sg.set_num_threads(threads)
    sg.set_warn_always(False)
    sg.set_printoptions(precision=4)
    np.seterr(**errors)
    np.set_printoptions(**options)


def test_filters_of_warnings_that_end_in_the_step_do_not_cut_it(monkeypatch: Any) -> None:
    monkeypatch.setattr(warnings, "_showwarnmsg_impl", lambda message: None)  # pytest's is a list's append
    before = list(warnings.filters)

    @sg.compile(on_break="error")
    def step(x: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return x * 2

    assert step(sg.ones(2)).tolist() == [2.0, 2.0]
    assert list(warnings.filters) == before


def saved(x: Any) -> Any:
    sg.save(x, io.BytesIO())
    return x + 1


def equal(x: Any) -> Any:
    sg.testing.assert_close(x, x + 0)
    return x + 1


def checked(x: Any) -> Any:
    return x * (2 if sg.autograd.gradcheck(lambda z: z * z, x.detach().double().requires_grad_()) else 3)


def checked_twice(x: Any) -> Any:
    return x * (2 if sg.autograd.gradgradcheck(lambda z: z**3, x.detach().double().requires_grad_()) else 3)


@pytest.mark.parametrize("step", [saved, equal, checked, checked_twice])
def test_functions_of_this_package_that_need_values_cut(step) -> None:
    run = sg.compile(step)
    for values in (X, X + 1):
        assert_same(run(sg.tensor(values)).numpy(), step(sg.tensor(values)).numpy())
    with pytest.raises(sg.TraceError):
        sg.compile(step, on_break="error")(sg.tensor(X))


def test_samples_are_batched_in_a_plan() -> None:
    run = sg.compile(lambda x: data.default_collate([{"a": x}, {"a": x + 1}])["a"], on_break="error")
    assert_same(run(sg.tensor(X)).numpy(), np.stack([X, X + 1]))


@row
def identity_of_an_array():
    array, held = np.ones(3, np.float32), []

    def step(x):
        return x * 2 if held[0] is array else x * 3

    def put(value):
        return lambda: held.__setitem__(slice(None), [value])

    put(array)()
    return step, [put(array.copy()), put(array.copy()), put(array)], lambda: len(held)


# the comparison -----------------------------------------------------------------------------------------------------------


def history_of(make: Any, wrap: Any) -> tuple[list[Any], Any]:
    """What each call gives and leaves: three before and after each change."""
    sg.manual_seed(1)
    step, changes, look = make()
    run = wrap(step)
    found = []
    for change in (lambda: None, *changes):
        change()
        for _ in range(3):
            result = run(sg.tensor(X))
            found.append((result.detach().numpy().copy(), look()))
    return found, run


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_what_a_step_does_to_its_surroundings(make, mode, monkeypatch):
    if mode == "unwatched":
        watched_by("portable", monkeypatch)
    expected, _ = history_of(make, lambda fn: fn)
    actual, run = history_of(make, lambda fn: sg.compile(fn, **MODES[mode]))
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        assert_same(a, b, f"call {i}, {run.recompiles}", rtol=2e-6)


@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("watcher", ["strict", "portable"])
def test_what_is_refused_leaves_the_surroundings_as_they_were(make, watcher, monkeypatch):
    """A function that may not be cut gives what eager mode gives, or raises TraceError before anything has changed."""
    watched_by(watcher, monkeypatch)
    expected, _ = history_of(make, lambda fn: fn)
    sg.manual_seed(1)
    step, _, look = make()
    run = sg.compile(step, on_break="error")
    try:
        result = run(sg.tensor(X))
    except sg.TraceError:
        result = sg.compile(step)(sg.tensor(X))  # what the trace did is undone
    assert_same((result.detach().numpy(), look()), expected[0], rtol=2e-6)
