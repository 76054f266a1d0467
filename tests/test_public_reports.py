"""Faults that users of other frameworks reported to their trackers: the programs of the reports, in every mode here.

A row is (report, what it is about, program). `program(lib, wrap)` gives values, as PyTorch or staticgrad computes them; wrap is
what compiles a function. Expected is what the report says is right: eager mode's values, and PyTorch's where it is installed
(`pytest -m oracle`) unless PyTorch still has the fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compat import tf1 as tf

REPORTS: dict[str, Callable[..., Any]] = {}
PEER_HAS_FAULT: set[str] = set()
MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "strict": {"numerics": "strict"},
    "segments": {"on_break": "split"},
}


def report(name: str, *, peer_has_fault: bool = False) -> Callable[[Any], Any]:
    def enter(program: Any) -> Any:
        REPORTS[name] = program
        if peer_has_fault:
            PEER_HAS_FAULT.add(name)
        return program

    return enter


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return np.asarray(x.detach().numpy() if hasattr(x, "detach") else x, dtype=np.float64)


def check(found: Any, expected: Any) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, list):
            check(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", REPORTS)
def test_compiled(name, mode):
    expected = plain(REPORTS[name](sg, lambda fn: fn))
    check(plain(REPORTS[name](sg, lambda fn: sg.compile(fn, **MODES[mode]))), expected)


@pytest.mark.oracle
@pytest.mark.parametrize("name", REPORTS)
def test_like_pytorch(name):
    torch = pytest.importorskip("torch")
    if name not in PEER_HAS_FAULT:
        check(plain(REPORTS[name](sg, lambda fn: fn)), plain(REPORTS[name](torch, lambda fn: fn)))


# compilers: memory and views ----------------------------------------------------------------------------------------------


@report("pytorch 113793: a view of a tensor that was changed in place is an argument")
def changed_view(lib, wrap):
    fn = wrap(lambda a: (a * 2).sum())
    out = []
    for k in range(3):
        base = lib.zeros(4)
        base[1:].add_(1.0 + k)
        base.mul_(2)
        out.append(fn(base[1:3]))
    return out


@report("pytorch 128035: an argument with a history is changed in place, and its former value detached")
def changed_argument(lib, wrap):
    def f(a):
        before = a.detach()
        a.mul_(2)
        return a, before

    fn, out = wrap(f), []
    for _ in range(3):
        leaf = lib.ones(3, requires_grad=True)
        inner = leaf.mul(2)
        a, before = fn(inner)
        a.sum().backward()
        out += [a, before, leaf.grad, inner]
    return out


@report("pytorch 136662: func.grad of a function that overwrites parts of new tensors", peer_has_fault=True)
def composed_with_grad(lib, wrap):
    def inner(x):
        a = lib.ones(2, 3) * x[0]
        a[:, 0].copy_(x[:2])
        d = a.clone()
        d[:, 0].copy_(lib.zeros(2))
        return (a * d).sum() + (a[:, 0] ** 2).sum()

    fn = wrap(lambda x: lib.func.grad(inner)(x))
    return [fn(lib.tensor([1.0, 2.0, 3.0]) * k) for k in (1, 2, 3)]


@report("pytorch 198102: a change through an unfold whose windows leave gaps")
def gapped_windows(lib, wrap):
    def f(x):
        v = x.unfold(1, 1, 5)
        v.add_(v)
        return x

    fn = wrap(f)
    out = []
    for k in range(3):
        x = lib.arange(1, 25).reshape(4, 6) + k
        out += [fn(x), x]
    return out


@report("pytorch 168236: parameters made of intermediate values, changed without gradients")
def parameters_inside(lib, wrap):
    def f(x):
        x = lib.sigmoid(x).view(x.size(0), -1)
        p = lib.nn.Parameter(x)
        with lib.no_grad():
            p.mul_(1.5)
        q = lib.nn.Parameter(lib.cat([x, x], dim=1))
        return (x * x).mean(), p * 2, q.sum()

    fn = wrap(f)
    return [v for k in range(3) for v in fn(lib.ones(2, 2, 2) * k)]


@report("pytorch 158561: a change in place of what needs no gradient, beside what does")
def no_gradient_needed(lib, wrap):
    w = lib.ones(3, requires_grad=True)

    def f(x):
        count = x > 0.5
        count = count.float()
        count.add_(x)
        x.clamp_(min=0.25)
        return (count * w).sum() + x.sum()

    fn, out = wrap(f), []
    for k in range(3):
        x = lib.tensor([0.1, 0.6, 0.9]) * k
        y = fn(x)
        y.backward()
        out += [y, x, w.grad]
    return out


# compilers: state of Python -----------------------------------------------------------------------------------------------


@report("pytorch 169253: a list of the class is appended to")
def list_of_a_class(lib, wrap):
    class Model(lib.nn.Module):
        items = []

        def forward(self, x):
            Model.items.append(x * 2)
            return x + len(Model.items)

    m = Model()
    forward = wrap(m.forward)
    out = [forward(lib.ones(2) * k) for k in range(4)]
    return [*out, len(Model.items), *Model.items]


@report("pytorch 197896: a captured dict is changed in a method of a class that is made inside")
def class_made_inside(lib, wrap):
    state, seen = {"n": 0}, []

    def f(x):
        class Helper:
            def touch(self):
                state["n"] += 1
                seen.append(tuple(x.shape))

        Helper().touch()
        return x * state["n"]

    fn = wrap(f)
    out = [fn(lib.ones(k + 1)) for k in (1, 1, 2, 2)]
    return [*out, state["n"], [list(s) for s in seen]]


@report("pytorch 176851: an attribute of a class changes between calls")
def class_attribute(lib, wrap):
    class Global:
        factor = 1.0

    fn = wrap(lambda x: x * Global.factor)
    out = []
    for factor in (1.0, 10.0, 3.0, 1.0, 2):
        Global.factor = factor
        out.append(fn(lib.tensor([4.0])))
    return out


@report("pytorch 115774: a cache of a module is written at a position, and then replaced")
def cache_of_a_module(lib, wrap):
    class Model(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = lib.tensor([0, 0])

        def forward(self, x, pos):
            self.cache[pos] = x
            return self.cache * 1

    model = Model()
    forward = wrap(model.forward)
    out = [forward(lib.tensor([2]), lib.tensor([0]))]
    model.cache = lib.tensor([0, 0])
    out.append(forward(lib.tensor([1]), lib.tensor([1])))
    out.append(forward(lib.tensor([5]), lib.tensor([0])))
    return [*out, model.cache]


@report("pytorch 103563: a nested list made inside gets tensors, each from the one before")
def nested_list(lib, wrap):
    def f(x):
        data = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
        for i in range(3):
            if i == 0:
                data[0][i] = x
            else:
                data[0][i] = data[0][i - 1] + 1
        return data[0][-1]

    fn = wrap(f)
    return [fn(lib.tensor([0.5, k])) for k in (1.0, 2.0, 3.0)]


@report("pytorch 196173: a branch asks which object it has, and the objects are changed")
def identity_of_objects(lib, wrap):
    class State:
        def __init__(self, n):
            self.n = n

    first, second = State(1), State(10)
    holder = {"now": first}

    def f(x):
        now = holder["now"]
        now.n += 1
        holder["now"] = second if now is first else first
        return x * now.n

    fn = wrap(f)
    out = [fn(lib.ones(2)) for _ in range(5)]
    return [*out, first.n, second.n]


# loops --------------------------------------------------------------------------------------------------------------------


@report("jax 939: the norm of zero in a compiled gradient")
def norm_of_zero(lib, wrap):
    def f(loc, scale):
        x = loc + scale * lib.tensor([-1.5, 0.0])
        first = 0.5 * ((lib.linalg.norm(x, dim=-1) - 2) / 0.4) ** 2
        second = -0.5 * ((x[..., :1] + lib.tensor([-2.0, 2.0])) / 0.6) ** 2
        return first - lib.logsumexp(second, dim=-1)

    def g(loc, scale):
        return lib.autograd.grad(f(loc, scale), [loc, scale])

    fn = wrap(g)
    return [v for _ in range(3) for v in fn(lib.zeros(2, requires_grad=True), lib.ones(2, requires_grad=True))]


@report("jax 7434: log-space recursion of many steps, differentiated")
def log_space(lib, wrap):
    def f(a):
        alpha = lib.log(lib.tensor([0.5, 0.5], dtype=lib.float64))
        total = 0
        for _ in range(40):
            alpha = lib.logsumexp(alpha[:, None] + a, dim=0)
            total = total + alpha.mean()
        return lib.autograd.grad(total, a)[0]

    fn = wrap(f)
    return [fn(lib.zeros(2, 2, dtype=lib.float64, requires_grad=True)) for _ in range(2)]


def test_jax_1082_a_carry_that_is_not_read():
    """The gradient of a scan whose carry has a part that the loss does not read."""

    def loss(p):
        last, _ = sg.scan(
            lambda c, _: ({k: v + c["a"] for k, v in c.items()}, c["a"] * 0), {"a": p, "b": p * 0}, sg.tensor([1.0, 2.0])
        )
        return last["a"] * p

    for wrap in (lambda f: f, *(lambda f, o=o: sg.compile(f, **o) for o in MODES.values())):
        p = sg.tensor(3.0, requires_grad=True)
        (g,) = wrap(lambda p: sg.grad(loss(p), [p]))(p)
        assert g.item() == pytest.approx(24.0)  # 4 p^2


def test_jax_5900_a_branch_in_a_scan():
    """d/dx x^4 at 3 is 108, by a loop that multiplies while a condition holds."""

    def power(x, n):
        def step(carry, _):
            value, go = carry
            return (sg.cond(go, lambda: value * x, lambda: value), go), None

        (value, _), _ = sg.scan(step, (sg.ones(()), sg.tensor(True)), length=n)
        return value

    for wrap in (lambda f: f, *(lambda f, o=o: sg.compile(f, **o) for o in MODES.values())):
        x = sg.tensor(3.0, requires_grad=True)
        (g,) = wrap(lambda x: sg.grad(power(x, 4), [x]))(x)
        assert g.item() == pytest.approx(108.0)


def test_tensorflow_22504_a_body_that_adds_its_operand_to_itself():
    with tf.Graph().as_default():
        x = tf.Variable(5.0)
        _, out = tf.while_loop(lambda i, y: i < 6, lambda i, y: (i + 1, tf.add(y, y)), [0, x])
        (g,) = tf.gradients(out, [x])
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            assert sess.run([out, g]) == [320.0, 64.0]


def test_tensorflow_1093_a_loop_that_passes_its_operand_on():
    with tf.Graph().as_default():
        w = tf.Variable(2.0)
        _, passed = tf.while_loop(lambda i, v: i < 1, lambda i, v: (i + 1, v), [tf.constant(0), w])
        out = passed * passed
        train = tf.train.GradientDescentOptimizer(0.9).minimize(out)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            found = []
            for _ in range(3):
                found.append(sess.run(out))
                sess.run(train)
    np.testing.assert_allclose(found, [4.0, 2.56, 1.6384], rtol=1e-6)


def test_tensorflow_16504_a_condition_of_two():
    """logical_and in the condition leaves the loop differentiable."""
    with tf.Graph().as_default():
        w = tf.placeholder(tf.float32, [])

        def body(k, v, change):
            new = v * 0.5
            return k + 1, new, tf.abs(v - new)

        _, v, _ = tf.while_loop(
            lambda k, v, change: tf.logical_and(k < 9, change > 0.1), body, [tf.constant(0), w, tf.constant(np.inf, tf.float32)]
        )
        (g,) = tf.gradients(v, [w])
        with tf.Session() as sess:
            assert sess.run([v, g], {w: 1.0}) == [0.0625, 0.0625]


def test_tensorflow_22221_a_loop_that_reads_the_result_of_another():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        _, y = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v * x), [0, x])
        (dy,) = tf.gradients(y, [x])  # 3 x^2
        _, z = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v + dy * x), [0, x])
        (dz,) = tf.gradients(z, [x])  # x + 6 x^3 -> 1 + 18 x^2
        with tf.Session() as sess:
            np.testing.assert_allclose(sess.run([y, dy, z, dz], {x: 2.0}), [8, 12, 50, 73])


# schedulers ---------------------------------------------------------------------------------------------------------------


def rates(lib, optimizer, scheduler, count):
    found = []
    for _ in range(count):
        found.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    return found


@report("pytorch 162359: a rate that is a tensor, in a sequence of schedulers")
def rate_is_a_tensor(lib, wrap):
    s = lib.optim.lr_scheduler
    p = lib.nn.Parameter(lib.zeros(1))
    opt = lib.optim.Adam([p], lr=lib.tensor(0.1))
    first = s.LinearLR(opt, start_factor=0.1, total_iters=3)
    chain = s.SequentialLR(opt, [first, s.CosineAnnealingLR(opt, T_max=5)], milestones=[3])
    return rates(lib, opt, chain, 8)


@report("pytorch 67586: a sequence of warm-up and decay")
def warm_up_and_decay(lib, wrap):
    s = lib.optim.lr_scheduler
    opt = lib.optim.SGD([lib.nn.Parameter(lib.zeros(1))], lr=0.1)
    chain = s.SequentialLR(opt, [s.LinearLR(opt, total_iters=5), s.ExponentialLR(opt, gamma=0.9)], milestones=[5])
    return rates(lib, opt, chain, 12)


@report("pytorch 119168: the order in which a sequence and its optimizer are restored")
def restored_sequence(lib, wrap):
    s = lib.optim.lr_scheduler

    def made():
        opt = lib.optim.SGD([lib.nn.Parameter(lib.zeros(1))], lr=0.3)
        first = s.LinearLR(opt, start_factor=0.1, total_iters=4)
        return opt, s.SequentialLR(opt, [first, s.CosineAnnealingLR(opt, T_max=8, eta_min=0.03)], milestones=[4])

    opt, chain = made()
    found = rates(lib, opt, chain, 6)
    saved = opt.state_dict(), chain.state_dict()
    again, restored = made()
    again.load_state_dict(saved[0])
    restored.load_state_dict(saved[1])
    return found + rates(lib, opt, chain, 4) + rates(lib, again, restored, 4)


def test_pytorch_196243_a_sequence_around_a_sequence():
    """One around another, without milestones, changes nothing."""
    s = sg.optim.lr_scheduler

    def inner(opt):
        return s.SequentialLR(
            opt, [s.ConstantLR(opt, factor=0.5, total_iters=2), s.ConstantLR(opt, factor=0.2, total_iters=10)], milestones=[2]
        )

    found = []
    for outer in (lambda opt: inner(opt), lambda opt: s.SequentialLR(opt, [inner(opt)], milestones=[])):
        opt = sg.optim.SGD([sg.nn.Parameter(sg.zeros(1))], lr=0.1)
        found.append(rates(sg, opt, outer(opt), 6))
    np.testing.assert_allclose(*found)


# optimizers, recurrent layers, distributions ----------------------------------------------------------------------------------


@report("pytorch 142041: the largest second moment is of the uncorrected ones")
def amsgrad(lib, wrap):
    w = lib.nn.Parameter(lib.tensor([1.0, -2.0, 0.5], dtype=lib.float64))
    opt = lib.optim.AdamW([w], lr=0.1, amsgrad=True, weight_decay=0.1)

    def step(x):
        opt.zero_grad()
        loss = ((w * x) ** 2).sum()
        loss.backward()
        opt.step()
        return loss

    fn = wrap(step)
    out = [fn(lib.tensor([1.0, 0.25, k], dtype=lib.float64)) for k in (3.0, 0.125, 0.5, 2.0)]
    return [*out, w]


@report("pytorch 3662: a bidirectional LSTM over sequences of several lengths")
def packed_bidirectional(lib, wrap):
    lstm = lib.nn.LSTM(2, 3, 2, bidirectional=True)
    with lib.no_grad():
        for i, p in enumerate(lstm.parameters()):
            p.copy_(lib.sin(lib.arange(p.numel(), dtype=lib.float32).reshape(p.shape) + i))
    pack, pad = lib.nn.utils.rnn.pack_padded_sequence, lib.nn.utils.rnn.pad_packed_sequence

    def f(x):
        out, (h, c) = lstm(pack(x, [4, 3, 1]))
        return (*pad(out), h, c)

    fn = wrap(f)
    return [v for k in (1.0, 2.0) for v in fn(lib.cos(lib.arange(24, dtype=lib.float32).reshape(4, 3, 2) * k))]


@report("pytorch 147539: the last states of a bidirectional GRU")
def states_of_a_gru(lib, wrap):
    gru = lib.nn.GRU(2, 3, bidirectional=True)
    with lib.no_grad():
        for i, p in enumerate(gru.parameters()):
            p.copy_(lib.sin(lib.arange(p.numel(), dtype=lib.float32).reshape(p.shape) + i))
    fn = wrap(lambda x: gru(x))
    return [v for k in (1.0, 2.0) for v in fn(lib.cos(lib.arange(12, dtype=lib.float32).reshape(3, 2, 2) * k))]


def gradients(lib, wrap, loss, *leaves):
    def f(*leaves):
        value = loss(*leaves)
        return (value, *lib.autograd.grad(value.sum(), leaves))

    fn, out = wrap(f), []
    for _ in range(2):
        out += fn(*[lib.tensor(x, requires_grad=True) for x in leaves])
    return out


@report("pytorch 15288: the divergence of sure Bernoulli distributions")
def sure_bernoulli(lib, wrap):
    d = lib.distributions

    def loss(logits):
        return d.kl_divergence(d.Bernoulli(logits=logits), d.Bernoulli(probs=lib.tensor([0.5, 0.5, 0.5])))

    return gradients(lib, wrap, loss, [10.3, -6.0, 30.0])


@report("pyro 436: the density of 0 where its probability is 1")
def certain_bernoulli(lib, wrap):
    d = lib.distributions
    return gradients(lib, wrap, lambda p: d.Bernoulli(probs=lib.sigmoid(p) * 0.0).log_prob(lib.tensor([0.0])), [0.0])


@report("pytorch 28441: a Dirichlet density where a component vanishes")
def vanishing_component(lib, wrap):
    d = lib.distributions
    return gradients(lib, wrap, lambda a: d.Dirichlet(a).log_prob(lib.tensor([0.25, 0.75 - 1e-30, 1e-30])), [2.5, 10.0, 2.0])


@report("pytorch 8108: the covariance of a normal distribution of several variables")
def covariance(lib, wrap):
    d = lib.distributions

    def loss(mu, sigma):
        return d.MultivariateNormal(mu, covariance_matrix=lib.diag(sigma)).log_prob(lib.ones(2))

    return gradients(lib, wrap, loss, [1.0, 2.0], [2.0, 3.0])


@report("pytorch 15681: a Gumbel density far out")
def far_gumbel(lib, wrap):
    d = lib.distributions
    return gradients(lib, wrap, lambda x: d.Gumbel(lib.tensor(0.0), lib.tensor(1.0)).log_prob(x), [-4.0, 3.0])


@report("pytorch 30090: the gradient of a divergence by probabilities")
def divergence_by_probabilities(lib, wrap):
    d = lib.distributions

    def loss(logits):
        return d.kl_divergence(d.Categorical(lib.exp(logits)), d.Categorical(lib.ones(3) / 3))

    return gradients(lib, wrap, loss, [math.log(0.2), math.log(0.3), math.log(0.5)])


def test_there_are_reports():
    assert len(REPORTS) >= 20
