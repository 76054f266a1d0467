"""What all optimizers share: groups, state, errors, minimize."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as F
from staticgrad import nn, optim
from staticgrad.eager.tensor import Structure
from staticgrad.errors import ArgumentError, GradientError, GraphError, ShapeError


def weight(*values, dtype=np.float64) -> sg.Tensor:
    return sg.tensor(np.array(values, dtype), requires_grad=True)


def changes(action) -> int:
    before = Structure.changes
    action()
    return Structure.changes - before


def fit(opt, params, steps=5):
    """Some steps on sum((p - 1)^2)."""
    for _ in range(steps):
        opt.zero_grad()
        sum(((p - 1) ** 2).sum() for p in params).backward()
        opt.step()
    return [p.detach().numpy().copy() for p in params]


# construction ---------------------------------------------------------------------------------------------------------

leaf = weight(1.0, 2.0)
ERRORS = [
    (lambda: optim.SGD([], lr=0.1), "optimizer got an empty parameter list"),
    (lambda: optim.SGD(nn.ReLU().parameters(), lr=0.1), "optimizer got an empty parameter list"),
    (lambda: optim.SGD(leaf, lr=0.1),
     "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.DoubleTensor"),
    (lambda: optim.Adam(1e-3),
     "params argument given to the optimizer should be an iterable of Tensors or dicts, but got float"),
    (lambda: optim.SGD([leaf * 2], lr=0.1), "can't optimize a non-leaf Tensor"),
    (lambda: optim.SGD([3.0], lr=0.1), "optimizer can only optimize Tensors, but one of the params is float"),
    (lambda: optim.SGD([{"params": [leaf]}, {"params": leaf}], lr=0.1),
     "some parameters appear in more than one parameter group"),
    (lambda: optim.SGD([{"params": {leaf}}], lr=0.1),
     "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
     "will change between runs. Please use a list instead."),
    (lambda: optim.SGD([{"lr": 1.0}]), "param_group must be a dict with 'params', got dict"),
    (lambda: optim.SGD([leaf], lr=-1), "Invalid learning rate: -1"),
    (lambda: optim.SGD([leaf], lr=float("nan")), "Invalid learning rate: nan"),
    (lambda: optim.SGD([{"params": [leaf], "lr": -2}]), "Invalid learning rate: -2"),
    (lambda: optim.SGD([leaf], momentum=-1), "Invalid momentum value: -1"),
    (lambda: optim.SGD([leaf], weight_decay=-1), "Invalid weight_decay value: -1"),
    (lambda: optim.SGD([leaf], nesterov=True), "Nesterov momentum requires a momentum and zero dampening"),
    (lambda: optim.SGD([leaf], momentum=0.9, dampening=0.1, nesterov=True),
     "Nesterov momentum requires a momentum and zero dampening"),
    (lambda: optim.Adam([leaf], lr=-1), "Invalid learning rate: -1"),
    (lambda: optim.Adam([leaf], eps=-1), "Invalid epsilon value: -1"),
    (lambda: optim.Adam([leaf], betas=(1.0, 0.9)), "Invalid beta parameter at index 0: 1.0"),
    (lambda: optim.Adam([leaf], betas=(0.9, -0.1)), "Invalid beta parameter at index 1: -0.1"),
    (lambda: optim.Adam([leaf], betas=(0.9,)), "betas are two numbers, got (0.9,)"),
    (lambda: optim.AdamW([leaf], weight_decay=-1), "Invalid weight_decay value: -1"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "text"), ERRORS, ids=[row[1][:60] for row in ERRORS])
def test_error(call, text):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.summary == text


NOT_NUMBERS = ["a", None, [1.0], (1, 2, 3), sg.ones(3), 1j]
NUMBERS = [
    *((optim.SGD, name) for name in ("lr", "momentum", "dampening", "weight_decay")),
    *((make, name) for make in (optim.Adam, optim.AdamW) for name in ("lr", "eps", "weight_decay")),
    *((optim.SparseAdam, name) for name in ("lr", "eps")),
]


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
@pytest.mark.parametrize(("make", "name"), NUMBERS, ids=lambda x: getattr(x, "__name__", x))
def test_what_is_no_number_is_refused_when_it_is_written(make, name, value):
    with pytest.raises(ArgumentError, match=r"Invalid |Tensor lr must be 1-element") as caught:
        make([leaf], **{name: value})
    assert caught.value.where.file == __file__
    for group in (opt := make([leaf])).param_groups:
        before = group[name], group.writes
        with pytest.raises(ArgumentError, match=f"the hyper-parameter '{name}' is a number, got "):
            group[name] = value
        with pytest.raises(ArgumentError, match=f"the hyper-parameter '{name}' is a number, got "):
            opt.add_param_group({"params": [weight(0.0)], name: value})
        assert (group[name], group.writes) == before


@pytest.mark.parametrize("value", ["ab", None, 0.9, (0.9,), ("a", "b"), sg.ones(3), sg.tensor(0.5)], ids=repr)
@pytest.mark.parametrize("make", [optim.Adam, optim.AdamW, optim.SparseAdam])
def test_betas_are_two_numbers(make, value):
    with pytest.raises(ArgumentError, match=r"betas are two numbers, got |Invalid beta parameter at index 0: "):
        make([leaf], betas=value)
    opt = make([leaf])
    with pytest.raises(ArgumentError, match="the hyper-parameter 'betas' has 2 numbers, got "):
        opt.param_groups[0]["betas"] = value


@pytest.mark.parametrize("value", [sg.tensor(0.5), np.float32(0.5), np.array(0.5), 1], ids=repr)
def test_kinds_of_numbers(value):
    w = weight(0.0)
    opt = optim.SGD([w], lr=value)
    opt.param_groups[0]["lr"] = value
    fit(opt, [w], 1)
    assert w.item() == 2 * float(value)


def test_groups_have_numbers_of_their_own():
    a, b = weight(0.0), weight(0.0)
    opt = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.25}], lr=0.5)
    assert [g["lr"] for g in opt.param_groups] == [0.5, 0.25]
    fit(opt, [a, b], 1)
    assert (a.item(), b.item()) == (1.0, 0.5)
    assert opt.lr == 0.5
    opt.lr = 0.125
    assert [g["lr"] for g in opt.param_groups] == [0.125, 0.125]
    opt.add_param_group({"params": [weight(0.0)], "momentum": 0.5})
    assert opt.param_groups[2]["lr"] == 0.5
    assert len(opt.parameters()) == 3


def test_repr():
    assert repr(optim.SGD([leaf], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


# steps ----------------------------------------------------------------------------------------------------------------


def test_a_step_writes_into_the_same_memory():
    p = weight(1.0, 2.0)
    memory = p._data
    opt = optim.Adam([p], lr=0.1)
    fit(opt, [p], 1)
    moments = {name: slot._data for name, slot in opt.state[p].items()}
    fit(opt, [p], 1)
    assert p._data is memory
    assert all(opt.state[p][name]._data is array for name, array in moments.items())
    assert p.is_leaf
    assert opt.state[p]["step"].item() == 2


def test_a_step_that_fails_leaves_parameters_and_state():
    p, memory = weight(1.0), np.ones(1)
    memory.flags.writeable = False
    q = sg.from_numpy(memory).requires_grad_(True)
    opt = optim.Adam([p, q], lr=0.1)
    (p * q).sum().backward()
    with pytest.raises(sg.GradientError, match="step: this tensor's memory is read-only"):
        opt.step()
    assert p.item() == 1
    assert opt.state == {}


def test_a_variable_of_nobody_is_not_minimized():
    p, other = weight(1.0), weight(1.0)
    p.grad = sg.tensor([5.0], dtype=np.float64)
    opt = optim.SGD([p], lr=0.1)
    with pytest.raises(ArgumentError, match="var_list has a tensor that is not among the parameters of this optimizer"):
        opt.minimize((p * other).sum(), var_list=[p, other])
    assert (p.item(), p.grad.item(), other.grad) == (1, 5, None)
    opt.minimize((p * other).sum(), var_list=[p])
    assert p.item() == pytest.approx(0.9)


def test_a_parameter_is_given_one_gradient():
    p = weight(1.0)
    one = sg.tensor([1.0], dtype=np.float64)
    with pytest.raises(ArgumentError, match="apply_gradients: a parameter is named twice"):
        optim.SGD([p], lr=0.1).apply_gradients([(one, p), (one, p)])
    assert p.item() == 1
    with sg.Graph().as_default():
        v = sg.Variable([1.0])
        with pytest.raises(ArgumentError, match="apply_gradients: a parameter is named twice"):
            optim.SGD(lr=0.1).apply_gradients([(v * 2, v), (v * 3, v)])


def test_parameters_without_gradient_are_left_alone():
    p, q = weight(1.0), weight(1.0)
    opt = optim.Adam([p, q], lr=0.1, weight_decay=0.5)
    p.grad = sg.tensor([1.0], dtype=np.float64)
    opt.step()
    assert p.item() != 1
    assert q.item() == 1
    assert q not in opt.state


def test_step_counts_are_shared_until_they_differ():
    p, q, r = weight(1.0), weight(1.0), weight(1.0)
    opt = optim.Adam([p, q, r])
    fit(opt, [p, q, r], 2)
    assert opt.state[p]["step"] is opt.state[q]["step"] is opt.state[r]["step"]
    assert changes(lambda: fit(opt, [p, q], 3)) >= 1  # r stays behind
    assert opt.state[p]["step"] is opt.state[q]["step"]
    assert [opt.state[x]["step"].item() for x in (p, q, r)] == [5, 5, 2]
    assert changes(lambda: fit(opt, [p, q], 3)) == 0


def test_closure():
    p = weight(3.0)
    opt = optim.SGD([p], lr=0.5)

    def closure():
        opt.zero_grad()
        loss = ((p - 1) ** 2).sum()
        loss.backward()
        return loss

    with sg.no_grad():
        assert opt.step(closure).item() == 4
    assert p.item() == 1


def test_zero_grad():
    p = weight(3.0)
    opt = optim.SGD([p], lr=0.5)
    (p**2).sum().backward()
    opt.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0]
    opt.zero_grad()
    assert p.grad is None


def test_an_error_changes_nothing():
    class Faulty(optim.SGD):
        def rule(self, p, g, slots, hyper, group):
            if p is bad:
                raise ArgumentError("no")
            return super().rule(p, g, slots, hyper, group)

    good, bad = weight(1.0), weight(1.0)
    opt = Faulty([good, bad], lr=0.1, momentum=0.9)
    with pytest.raises(ArgumentError, match="no"):
        fit(opt, [good, bad], 1)
    assert good.item() == 1
    assert opt.state == {}


def test_learning_rates_may_change_between_steps():
    p = weight(0.0)
    opt = optim.SGD([p], lr=0.5)
    p.grad = sg.tensor([1.0], dtype=np.float64)
    assert changes(lambda: (opt.step(), setattr(opt, "lr", 0.25), opt.step())) == 0
    assert p.item() == -0.75


def test_overflow_does_not_warn():
    p = weight(1.0, dtype=np.float32)
    p.grad = sg.tensor([3e38])
    optim.Adam([p]).step()
    assert np.isfinite(p.item())


STRUCTURAL = [
    ("weight_decay", 0.1, 1),
    ("momentum", 0.5, 0),
    ("momentum", 0.0, 1),
    ("nesterov", True, 1),
    ("lr", 0.0, 0),
    ("dampening", 0, 0),
    ("params", [], 1),
    ("initial_lr", 0.1, 0),
]


@pytest.mark.parametrize(("key", "value", "count"), STRUCTURAL)
def test_what_counts_as_structure(key, value, count):
    opt = optim.SGD([leaf], lr=0.1, momentum=0.9)
    before = opt.structure()
    assert changes(lambda: opt.param_groups[0].update({key: value})) == count
    assert (opt.structure() != before) == bool(count)


# a rule of the user's own ---------------------------------------------------------------------------------------------


class SignMomentum(optim.Optimizer):
    """Lion without decay: p - lr sign(b1 m + (1 - b1) g), m = b2 m + (1 - b2) g."""

    def __init__(self, params=None, lr=0.1, betas=(0.9, 0.99)):
        super().__init__(params, {"lr": lr, "betas": betas})

    def slots(self, group):
        return ("m",)

    def rule(self, p, g, slots, hyper, group):
        m, b1, b2 = slots["m"], hyper("beta1"), hyper("beta2")
        return p - hyper("lr") * sg.sign(b1 * m + (1 - b1) * g), {"m": b2 * m + (1 - b2) * g}


def test_a_rule_of_the_users_own():
    p = weight(0.0, 3.0)
    values = fit(SignMomentum([p]), [p], 3)[0]
    np.testing.assert_allclose(values, [0.3, 2.7])
    with sg.Graph().as_default():
        v = sg.Variable(np.array([0.0, 3.0]))
        train = SignMomentum().minimize(F.mse_loss(v, np.ones(2)))
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for _ in range(3):
                sess.run(train)
            np.testing.assert_allclose(sess.run(v), [0.3, 2.7])


# saving ---------------------------------------------------------------------------------------------------------------

MAKERS = [
    lambda params: optim.SGD(params, lr=0.05, momentum=0.9, dampening=0.1),
    lambda params: optim.SGD(params, lr=0.05),
    lambda params: optim.Adam(params, lr=0.1),
    lambda params: optim.AdamW([{"params": params[:1]}, {"params": params[1:], "lr": 0.2}], lr=0.1),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("began", [0, 2])
def test_state_dict_round_trip(make, began):
    """A fresh optimizer that takes over the state goes on as the saved one does, whatever it had done before."""
    params = [weight(3.0, 2.0), weight(5.0)]
    opt = make(params)
    fit(opt, params, 3)
    fit(opt, params[:1], 2)  # the counts differ now
    others = [weight(*p.tolist()) for p in params]
    other = make(others)
    fit(other, others, began)
    with sg.no_grad():
        for o, p in zip(others, params, strict=True):
            o.copy_(p)
    memory = {id(s): s._data for slots in other.state.values() for s in slots.values()}
    saved = opt.state_dict()
    other.load_state_dict(pickle.loads(pickle.dumps(saved)))
    for slots in other.state.values():
        assert all(memory.get(id(s), s._data) is s._data for s in slots.values())
    for a, b in zip(fit(opt, params), fit(other, others), strict=True):
        np.testing.assert_array_equal(a, b)
    assert saved["state"].get(0, {}).get("step", sg.tensor(5.0)).item() == 5  # a copy


def test_state_dict_layout():
    p = weight(1.0)
    opt = optim.Adam([p], lr=0.1)
    fit(opt, [p], 1)
    saved = opt.state_dict()
    assert set(saved) == {"state", "param_groups"}
    assert set(saved["state"][0]) == {"step", "exp_avg", "exp_avg_sq"}
    assert saved["param_groups"] == [
        {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False, "maximize": False,
         "foreach": None, "capturable": False, "differentiable": False, "fused": None, "decoupled_weight_decay": False,
         "params": [0]}
    ]  # fmt: skip


def test_loading_an_unused_optimizers_state_starts_anew():
    p = weight(3.0)
    opt = optim.Adam([p], lr=0.1)
    fresh = opt.state_dict()
    first = fit(opt, [p], 2)
    opt.load_state_dict(fresh)
    with sg.no_grad():
        p.fill_(3)
    np.testing.assert_array_equal(fit(opt, [p], 2), first)


def test_a_state_dict_has_the_slots_in_their_own_memory():
    w = weight(1.0)
    opt = optim.Adam([w], lr=0.1)
    w.grad = sg.ones_like(w)
    opt.step()
    saved = opt.state_dict()
    saved["state"][0]["exp_avg"].zero_()
    assert not np.any(opt.state[w]["exp_avg"].numpy())
    other = optim.Adam([weight(1.0)], lr=0.1)
    other.load_state_dict(saved)
    opt.step()
    assert not np.any(other.state_dict()["state"][0]["exp_avg"].numpy())
    assert saved["state"][0]["exp_avg"].numpy().all()


def test_a_state_dict_that_does_not_fit_changes_nothing():
    p = weight(1.0, 2.0)
    opt = optim.Adam([p], lr=0.1)
    fit(opt, [p], 1)
    before = opt.state_dict()
    other = optim.Adam([{"params": [weight(1.0)]}, {"params": [weight(1.0)]}]).state_dict()
    with pytest.raises(ArgumentError, match="loaded state dict has a different number of parameter groups"):
        opt.load_state_dict(other)
    other = optim.Adam([weight(1.0), weight(1.0)]).state_dict()
    with pytest.raises(ArgumentError, match="doesn't match the size of optimizer's group"):
        opt.load_state_dict(other)
    bad = opt.state_dict()
    bad["param_groups"][0]["lr"] = 5.0
    bad["state"][0]["exp_avg_sq"] = np.zeros(3)
    with pytest.raises(ShapeError, match=r"has a slot exp_avg_sq of shape \(3,\) where the parameter needs \(2,\)"):
        opt.load_state_dict(bad)
    for name, value in (("eps", "tiny"), ("betas", [0.9]), ("lr", None)):
        bad = opt.state_dict()
        bad["param_groups"][0] |= {"lr": 5.0, name: value}
        with pytest.raises(ArgumentError, match=f"the hyper-parameter '{name}' "):
            opt.load_state_dict(bad)
    groups = [None, [None], [{}]]
    for change in ({"state": None}, {"state": {0: 3}}, *({"param_groups": part} for part in groups)):
        with pytest.raises(ArgumentError, match=r"loaded state dict: '(state|param_groups)' has to be "):
            opt.load_state_dict(opt.state_dict() | change)
    for bad, got in (({"model": 1}, "'model'"), ({}, "nothing"), ([1], "list")):
        with pytest.raises(ArgumentError, match=f"state dict has 'state' and 'param_groups', got {got}"):
            opt.load_state_dict(bad)
    after = opt.state_dict()
    assert after["param_groups"] == before["param_groups"]
    for name, value in after["state"][0].items():
        np.testing.assert_array_equal(value.numpy(), before["state"][0][name].numpy())


def test_deepcopy_keeps_parameters_and_state_together():
    net = nn.Linear(2, 1)
    opt = optim.Adam(net.parameters(), lr=0.1)
    net(sg.ones(1, 2)).sum().backward()
    opt.step()
    net2, opt2 = copy.deepcopy((net, opt))
    assert opt2.parameters()[0] is net2.weight
    assert opt2.state[net2.weight]["step"] is opt2.state[net2.bias]["step"]
    opt.step()
    opt2.step()
    np.testing.assert_array_equal(net.weight.detach().numpy(), net2.weight.detach().numpy())


def test_a_parameter_that_is_named_twice_takes_two_steps():
    w, v = weight(1.0), weight(1.0)
    with pytest.warns(UserWarning, match="duplicate parameters; in future, this will cause an error"):
        opt = optim.Adam([w, v, w], lr=0.1)
    (w + v).sum().backward()
    opt.step()
    np.testing.assert_allclose([w.item(), v.item()], [0.8, 0.9], atol=1e-7)
    saved = opt.state_dict()
    assert saved["param_groups"][0]["params"] == [0, 1, 0]
    assert [saved["state"][i]["step"].item() for i in (0, 1)] == [2.0, 1.0]
    assert saved["state"][0]["step"].dtype == sg.float32


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("more", [{}, {"dampening": 0.25}, {"nesterov": True}])
def test_momentum_of_a_parameter_that_is_named_twice(more, compiled):
    """Both of its first steps begin without a momentum, as in PyTorch; later ones share the buffer."""
    w = weight(1.0)
    with pytest.warns(UserWarning, match="duplicate"):
        opt = optim.SGD([w, w], lr=1.0, momentum=0.5, **more)

    def step():
        opt.zero_grad()
        (2 * w).sum().backward()
        opt.step()

    run = sg.compile(step) if compiled else step
    b, expected = 2.0, 1.0 - 2 * (2.0 + (1.0 if "nesterov" in more else 0.0))
    run()
    assert (w.item(), opt.state[w]["momentum_buffer"].item()) == (expected, b)
    for _ in range(3):
        run()
        for _ in range(2):
            b = 0.5 * b + 2.0 * (1 - more.get("dampening", 0))
            expected -= 2.0 + 0.5 * b if "nesterov" in more else b
        assert (w.item(), opt.state[w]["momentum_buffer"].item()) == (expected, b)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("part", [lambda a: a, lambda a: a.t(), lambda a: a[:1], lambda a: a.view(-1)])
def test_parameters_that_share_memory_step_one_after_another(part, compiled):
    a, b = weight([1.0, 2.0], [3.0, 4.0]), weight(0.0)
    b.data = part(a.data)
    opt = optim.SGD([a, b], lr=0.5)

    def step():
        opt.zero_grad()
        (a.sum() + 2 * b.sum()).backward()
        opt.step()

    run = sg.compile(step) if compiled else step
    for _ in range(20):  # eager steps become native
        run()
    moved = np.full((2, 2), 10.0)
    moved[: 1 if b.numel() == 2 else 2] += 20
    assert a.tolist() == ([[1, 2], [3, 4]] - moved).tolist()


def test_groups_are_printed_apart():
    opt = optim.Rprop([{"params": weight(1.0)}, {"params": weight(1.0), "lr": 1}])
    group = "\nParameter Group {}\n    capturable: False\n    differentiable: False\n    etas: (0.5, 1.2)\n    foreach: None\n"
    assert repr(opt).startswith(f"Rprop ({group.format(0)}    lr: 0.01\n")
    assert f"    step_sizes: (1e-06, 50)\n{group.format(1)}    lr: 1\n" in repr(opt)


@pytest.mark.oracle
def test_taking_over_a_torch_state():
    torch = pytest.importorskip("torch")
    theirs = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    other = torch.optim.Adam([theirs], lr=0.1)
    for _ in range(3):
        other.zero_grad()
        (theirs**2).sum().backward()
        other.step()
    ours = weight(*theirs.detach().tolist())
    opt = optim.Adam([ours])
    opt.load_state_dict(other.state_dict())
    for x, o in ((theirs, other), (ours, opt)):
        for _ in range(3):
            o.zero_grad()
            (x**2).sum().backward()
            o.step()
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12)


# minimize -------------------------------------------------------------------------------------------------------------


def test_minimize_eagerly():
    p, q = weight(3.0), weight(3.0)
    opt = optim.SGD([p, q], lr=0.5)
    assert opt.minimize(((p - 1) ** 2 + (q - 1) ** 2).sum()) is None
    assert (p.item(), q.item()) == (1.0, 1.0)
    opt.minimize(((p - 2) ** 2 + (q - 2) ** 2).sum(), var_list=[q])
    assert (p.item(), q.item()) == (1.0, 2.0)


def test_compute_and_apply_eagerly():
    p, q = weight(3.0), weight(3.0)
    opt = optim.SGD([p, q], lr=0.5)
    pairs = opt.compute_gradients(((p - 1) ** 2).sum())
    assert [g is None for g, _ in pairs] == [False, True]
    assert p.grad is None
    opt.apply_gradients([(g * 2, v) for g, v in pairs if g is not None])
    assert p.item() == -1.0
    with pytest.raises(GradientError, match="No gradients provided for any variable"):
        opt.apply_gradients([(None, p), (None, q)])
    with pytest.raises(ShapeError, match=r"gradient \(2,\), parameter \(1,\)"):
        opt.apply_gradients([(sg.ones(2), p)])
    with pytest.raises(ArgumentError, match="not among those of this optimizer"):
        opt.apply_gradients([(sg.ones(1), weight(1.0))])


def test_without_parameters_only_graphs():
    with pytest.raises(GraphError, match=r"step\(\) is for eager tensors, and this optimizer has no parameters"):
        optim.SGD(lr=0.1).step()
    with pytest.raises(GraphError, match="no parameters"):
        optim.SGD(lr=0.1).minimize(weight(1.0).sum())


def regression():
    x = np.random.default_rng(0).normal(size=(16, 3))
    return x, x @ np.array([[1.0], [-2.0], [0.5]]) + 0.3


@pytest.mark.parametrize("make", [
    lambda params=None: optim.SGD(params, lr=0.05, momentum=0.9),
    lambda params=None: optim.Adam(params, lr=0.05),
    lambda params=None: optim.AdamW(params, lr=0.05),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_minimize_in_a_graph_as_eagerly(make, dtype):
    xs, ys = (a.astype(dtype) for a in regression())
    w, b = sg.zeros(3, 1, dtype=dtype, requires_grad=True), sg.zeros(1, dtype=dtype, requires_grad=True)
    opt, losses = make([w, b]), []
    for _ in range(30):
        loss = F.mse_loss(sg.tensor(xs) @ w + b, sg.tensor(ys))
        opt.minimize(loss)
        losses.append(loss.item())
    with sg.Graph().as_default() as graph:
        x, y = sg.placeholder(dtype, (None, 3)), sg.placeholder(dtype, (None, 1))
        wv, bv = sg.Variable(np.zeros((3, 1), dtype), name="w"), sg.Variable(np.zeros(1, dtype), name="b")
        loss = F.mse_loss(x @ wv + bv, y)
        train = make().minimize(loss)
        assert {v.name for v in graph.variables if v.trainable} == {"w", "b"}
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            curve = [sess.run([loss, train], {x: xs, y: ys})[0] for _ in range(30)]
            final = sess.run([wv, bv])
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(curve, losses, rtol=tolerance)
    np.testing.assert_allclose(final[0], w.detach().numpy(), rtol=tolerance, atol=tolerance)
    assert losses[-1] < losses[0] / 4


def test_minimize_over_some_variables_and_two_losses():
    with sg.Graph().as_default():
        a, b = sg.Variable(3.0), sg.Variable(3.0)
        opt = optim.SGD(lr=0.5)
        loss = (a - 1) ** 2 + (b - 1) ** 2
        only_a = opt.minimize(loss, var_list=[a])
        both = opt.minimize(loss)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(only_a)
            assert sess.run([a, b]) == [1.0, 3.0]
            sess.run(both)
            assert sess.run([a, b]) == [1.0, 1.0]


def test_slots_in_a_graph_are_made_once():
    with sg.Graph().as_default() as graph:
        v = sg.Variable(np.ones(2), name="w")
        opt = optim.Adam()
        opt.minimize((v**2).sum())
        names = [x.name for x in graph.variables]
        opt.minimize((v**4).sum())
        assert [x.name for x in graph.variables] == names == ["w", "w/exp_avg", "w/exp_avg_sq", "Adam/step"]


def test_groups_of_variables():
    with sg.Graph().as_default():
        a, b, c = (sg.Variable(3.0, name=n) for n in "abc")
        opt = optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.25}], lr=0.5)
        train = opt.minimize((a - 1) ** 2 + (b - 1) ** 2 + (c - 1) ** 2)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(train)
            assert sess.run([a, b, c]) == [1.0, 2.0, 3.0]
        with pytest.raises(ArgumentError, match='variable "c" is not among the parameters of this optimizer'):
            opt.minimize((c - 1) ** 2, var_list=[c])
        with pytest.raises(GraphError, match=r"step\(\) is for eager tensors, and this optimizer has Variables"):
            opt.step()
        with pytest.raises(ArgumentError, match="optimizer can only optimize Variables"):
            optim.SGD([a + 1])


def test_the_learning_rate_is_read_at_each_run():
    with sg.Graph().as_default():
        v = sg.Variable(0.0)
        opt = optim.SGD(lr=0.5)
        train = opt.minimize(v + 0.0)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(train)
            opt.lr = 0.25
            sess.run(train)
            assert sess.run(v) == -0.75


def test_the_learning_rate_may_be_a_placeholder():
    with sg.Graph().as_default():
        v, lr = sg.Variable(0.0), sg.placeholder(np.float32, ())
        train = optim.Adam(lr=lr).minimize(v * 2.0)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(train, {lr: 0.5})
            assert sess.run(v) == pytest.approx(-0.5)


def test_a_module_in_a_graph():
    """Eager parameters enter a graph as variables, which start from their values and live in the session."""
    xs, ys = (a.astype(np.float32) for a in regression())
    sg.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    unused = nn.Linear(2, 2)
    start = net.state_dict()
    with sg.Graph().as_default() as graph:
        x, y = sg.placeholder(np.float32, (None, 3)), sg.placeholder(np.float32, (None, 1))
        loss = F.mse_loss(net(x), y)
        train = optim.Adam([*net.parameters(), *unused.parameters()], lr=0.05).minimize(loss)
        assert len([v for v in graph.variables if v.trainable]) == 4
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            curve = [sess.run([loss, train], {x: xs, y: ys})[0] for _ in range(20)]
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), start[name].numpy())
    opt = optim.Adam(net.parameters(), lr=0.05)
    for expected in curve:
        loss = F.mse_loss(net(sg.tensor(xs)), sg.tensor(ys))
        assert loss.item() == pytest.approx(expected, rel=1e-4)
        opt.minimize(loss)


def test_errors_in_a_graph():
    with sg.Graph().as_default():
        x = sg.placeholder(np.float32, ())
        with pytest.raises(GraphError, match="No variables to optimize"):
            optim.SGD().minimize(x * 2)
        v = sg.Variable(1.0, name="v")
        with pytest.raises(GradientError, match=r"No gradients provided for any variable.*between variables \[v\]"):
            optim.SGD().minimize(x * 2)
        with pytest.raises(GraphError, match="only variables can be minimized over"):
            optim.SGD().minimize(v * 2, var_list=[x])


# hyper-parameters that are written later --------------------------------------------------------------------------------

NUMBERS = [float("nan"), float("inf"), -float("inf"), -1.0, "a", None, [1.0], np.array([1.0, 2.0])]
BETAS = [(0.9,), (0.9, 1.5), (float("nan"), 0.9), (-0.1, 0.9), "ab", None, 3]
FLAGS = ["yes", None, 3, float("nan")]
OPTIMIZERS = [
    optim.SGD, optim.Adam, optim.AdamW, optim.SparseAdam, optim.NAdam, optim.RAdam, optim.Adamax, optim.Adagrad,
    optim.Adadelta, optim.RMSprop, optim.ASGD,
]  # fmt: skip
ANY_NUMBER = ("dampening", "lambd", "alpha", "t0")
"""Negative ones too, as in PyTorch; RMSprop's alpha is none of them."""


def bad_values(make):
    for key, value in make([weight(1.0)]).param_groups[0].items():
        if key in inspect.signature(make).parameters and key != "params":
            for bad in BETAS if isinstance(value, tuple) else FLAGS if isinstance(value, (bool, type(None))) else NUMBERS:
                if value is None and bad is None:
                    continue
                if key not in ANY_NUMBER or make is optim.RMSprop or repr(bad) != "-1.0":
                    yield key, bad


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_switches_of_pytorch(make):
    """Those between its implementations change nothing here; a recorded step is refused."""
    names = inspect.signature(make).parameters
    for name in {"foreach", "fused", "capturable"} & names.keys():
        assert make([weight(1.0)], **{name: True}).param_groups[0][name] is True
    if "differentiable" in names:
        with pytest.raises(ArgumentError, match="differentiable=True: steps are not recorded"):
            make([weight(1.0)], differentiable=True)
    if {"foreach", "fused"} <= names.keys():
        with pytest.raises(ArgumentError, match="`fused` and `foreach` cannot be `True` together"):
            make([weight(1.0)], foreach=True, fused=True)


def test_parameters_with_names():
    model = nn.Linear(2, 1)
    opt = optim.SGD(model.named_parameters(), lr=0.5)
    assert opt.param_groups[0]["param_names"] == ["weight", "bias"]
    assert all(a is b for a, b in zip(opt.param_groups[0]["params"], model.parameters(), strict=True))
    with pytest.raises(ArgumentError, match="should be with/without names"):
        optim.SGD([("weight", model.weight), model.bias])


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_no_hyper_parameter_takes_what_makes_no_sense(make):
    def refuses(key, bad):
        with pytest.raises(ArgumentError):
            make([weight(1.0)], **{key: bad})
        with pytest.raises(ArgumentError):
            make([{"params": [weight(1.0)], key: bad}])
        opt = make([weight(1.0)])
        group = opt.param_groups[0]
        before = dict(group), group.writes
        saved = opt.state_dict()
        saved["param_groups"][0][key] = bad
        for write in (
            lambda: group.__setitem__(key, bad),
            lambda: group.update({key: bad}),
            lambda: group.__ior__({key: bad}),
            lambda: opt.load_state_dict(saved),
        ):
            with pytest.raises(ArgumentError):
                write()
        assert (dict(group), group.writes) == before

    for key, bad in bad_values(make):
        refuses(key, bad)


@pytest.mark.parametrize("bad", [*NUMBERS[:4], "a", None])
def test_the_learning_rate_of_all_groups_or_of_none(bad):
    opt = optim.SGD([{"params": [weight(1.0)]}, {"params": [weight(2.0)], "lr": 0.5}], lr=0.1)
    with pytest.raises(ArgumentError):
        opt.lr = bad
    assert [group["lr"] for group in opt.param_groups] == [0.1, 0.5]


def test_the_texts_are_those_of_the_constructor():
    opt = optim.Adam([weight(1.0)])
    with pytest.raises(ArgumentError, match="Invalid learning rate: nan"):
        opt.lr = float("nan")
    with pytest.raises(ArgumentError, match=r"Invalid beta parameter at index 1: 1\.0"):
        opt.param_groups[0]["betas"] = (0.9, 1.0)


def test_hyper_parameters_that_belong_together_are_written_together():
    opt = optim.SGD([weight(1.0)], lr=0.1)
    with pytest.raises(ArgumentError, match="Nesterov momentum requires a momentum"):
        opt.param_groups[0]["nesterov"] = True
    opt.param_groups[0].update(nesterov=True, momentum=0.9)
    assert opt.param_groups[0]["nesterov"]


def test_an_optimizer_of_ones_own_finds_empty_state():
    class Momentum(optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        @sg.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["velocity"] = sg.zeros_like(p)
                    state["velocity"].mul_(0.9).add_(p.grad)
                    p.add_(state["velocity"], alpha=-group["lr"])

    w = weight(1.0)
    opt = Momentum([w])
    for _ in range(2):
        w.grad = sg.ones_like(w)
        opt.step()
    assert w.detach().numpy() == pytest.approx(1 - 0.1 - 0.19)
    assert list(opt.state_dict()["state"][0]) == ["velocity"]


def test_groups_have_names_or_none():
    opt = optim.SGD([("a", weight(1.0))], lr=0.1)
    with pytest.raises(ArgumentError, match=r"should be with/without names. cannot add param group without names"):
        opt.add_param_group({"params": [weight(1.0)]})
    with pytest.raises(TypeError, match=r"iterable of Tensors or dicts, but got torch.FloatTensor"):
        optim.SGD(sg.ones(1), lr=0.1)
    with pytest.raises(TypeError, match="one of the params is int"):
        optim.SGD([3], lr=0.1)
