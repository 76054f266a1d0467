"""Training steps: after every compiled call, results, parameters, gradients and optimizer state are those of eager mode."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from tests.tracing.helpers import Program, agree, batch, labels, of

X, Y = batch(6, 5), labels(6, 3)
X2, Y2 = batch(4, 5, seed=1), labels(4, 3, seed=1)
BATCHES = [(X, Y), (X2, Y2), (X, Y), (X, Y)]


def mlp(dtype=None):
    return nn.Sequential(nn.Linear(5, 8, dtype=dtype), nn.Tanh(), nn.Linear(8, 3, dtype=dtype))


def classifier(body, optimizer=lambda p: optim.Adam(p, lr=0.01), model=mlp):
    """`make` of a program: body(model, opt, x, y) is the step."""

    def make():
        net = model()
        opt = optimizer(net.parameters())

        def step(x, y):
            return body(net, opt, x, y)

        return Program(step, of(net), (opt,))

    return make


def plain(net, opt, x, y):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss


OPTIMIZERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "SGD, momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "SGD, nesterov and decay": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "SGD, dampening": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
    "Adam": lambda p: optim.Adam(p, lr=0.01),
    "AdamW": lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_optimizers(optimizer):
    step = agree(classifier(plain, optimizer), BATCHES)
    assert len(step.recompiles) == 2


def test_float64():
    step = agree(classifier(plain, model=lambda: mlp(sg.float64)), [(x.astype(np.float64), y) for x, y in BATCHES])
    assert step.plan.host_calls == 0


# bodies of a step -----------------------------------------------------------------------------------------------------


def accumulate(net, opt, x, y):
    """No zero_grad: gradients add up over calls."""
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    return loss


def two_backwards(net, opt, x, y):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    F.cross_entropy(net(x * 0.5), y).backward()
    opt.step()


def two_losses(net, opt, x, y):
    logits = net(x)
    first, second = F.cross_entropy(logits, y), (logits * logits).mean()
    opt.zero_grad()
    first.backward(retain_graph=True)
    second.backward()
    opt.step()
    return {"first": first, "second": second}


def both_at_once(net, opt, x, y):
    logits = net(x)
    opt.zero_grad()
    sg.autograd.backward([F.cross_entropy(logits, y), logits], [None, sg.ones_like(logits)])
    opt.step()


def keep_gradient_tensors(net, opt, x, y):
    opt.zero_grad(set_to_none=False)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    return loss


def step_first(net, opt, x, y):
    """Uses the gradients of the call before."""
    opt.step()
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    return loss


def clip_in_place(net, opt, x, y):
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    norm = sg.sqrt(sum((p.grad * p.grad).sum() for p in net.parameters()))
    for p in net.parameters():
        p.grad.mul_(sg.minimum(1.0, 0.1 / (norm + 1e-6)))
    opt.step()
    return loss, norm


def clip_by_assignment(net, opt, x, y):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    for p in net.parameters():
        p.grad = sg.clip(p.grad, -0.01, 0.01)
    opt.step()


def clip_data(net, opt, x, y):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    for p in net.parameters():
        p.grad.data.clamp_(-0.01, 0.01)
    opt.step()


def by_hand(net, opt, x, y):
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    with sg.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
            p.grad = None
    return loss


def through_data(net, opt, x, y):
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    for p in net.parameters():
        p.data -= 0.1 * p.grad.data
    return loss


def data_rebound(net, opt, x, y):
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    for p in net.parameters():
        p.data = p.data - 0.1 * p.grad
    return loss


def zero_in_place(net, opt, x, y):
    for p in net.parameters():
        if p.grad is not None:
            p.grad.zero_()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    return loss


def some_gradients_dropped(net, opt, x, y):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    net[0].weight.grad = None
    opt.step()


def only_inputs(net, opt, x, y):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward(inputs=[net[2].weight, net[2].bias])
    opt.step()


def by_grad(net, opt, x, y):
    parameters = list(net.parameters())
    grads = sg.grad(F.cross_entropy(net(x), y), parameters)
    for p, g in zip(parameters, grads, strict=True):
        p.grad = g
    opt.step()
    return grads


def minimize(net, opt, x, y):
    loss = F.cross_entropy(net(x), y)
    opt.minimize(loss)
    return loss


def with_closure(net, opt, x, y):
    def closure():
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss

    return opt.step(closure)


def weighted(net, opt, x, y):
    opt.zero_grad()
    losses = F.cross_entropy(net(x), y, reduction="none")
    losses.backward(sg.where(y == 0, 2.0, 1.0))
    opt.step()
    return losses


def detached_branch(net, opt, x, y):
    opt.zero_grad()
    logits = net(x)
    target = logits.detach() * 0.5
    with sg.no_grad():
        scale = logits.max()
    loss = ((logits - target) ** 2).mean() / scale
    loss.backward()
    opt.step()
    return loss, target, scale


def unrolled(net, opt, x, y):
    """The parameters change within one call: each part sees the values of its time."""
    losses = []
    for _ in range(3):
        losses.append(plain(net, opt, x, y))
    return losses


def gradient_penalty(net, opt, x, y):
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    grads = sg.grad(loss, list(net.parameters()), create_graph=True)
    total = loss + 0.1 * sum((g * g).sum() for g in grads)
    total.backward()
    opt.step()
    return total


def penalty_without_graph(net, opt, x, y):
    """`create_graph` left out: the penalty is a constant to backward."""
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    grads = sg.grad(loss, list(net.parameters()), retain_graph=True)
    total = loss + 0.1 * sum((g * g).sum() for g in grads)
    total.backward()
    opt.step()
    return total


def returns_parameters_and_gradients(net, opt, x, y):
    plain(net, opt, x, y)
    return net[0].weight, net[0].weight.grad, net[0].bias.detach(), None, 3, "text"


def saved_before_the_step(net, opt, x, y):
    before = net[0].weight.detach().clone()
    shared = net[0].bias.detach()
    plain(net, opt, x, y)
    return net[0].weight - before, shared


BODIES = [
    plain, two_backwards, two_losses, both_at_once, clip_in_place, clip_by_assignment, clip_data, by_hand, through_data,
    data_rebound, some_gradients_dropped, only_inputs, by_grad, minimize, with_closure, weighted, detached_branch, unrolled,
    gradient_penalty, penalty_without_graph, returns_parameters_and_gradients, saved_before_the_step,
]  # fmt: skip
FROM_GRADIENTS = [accumulate, keep_gradient_tensors, step_first, zero_in_place]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_bodies(body):
    step = agree(classifier(body), BATCHES)
    assert len(step.recompiles) == 2  # a trace per shape


@pytest.mark.parametrize("body", FROM_GRADIENTS, ids=lambda body: body.__name__)
def test_bodies_that_start_from_gradients(body):
    """With and without gradients at the start are two traces; calls between change the tensors, not the trace."""
    step = agree(classifier(body), [*BATCHES, *BATCHES])
    assert len(step.recompiles) == 3


@pytest.mark.parametrize("body", FROM_GRADIENTS, ids=lambda body: body.__name__)
def test_gradients_dropped_between_calls(body):
    agree(classifier(body), BATCHES, between=lambda program: program.optimizers[0].zero_grad())


@pytest.mark.parametrize("body", [plain, *FROM_GRADIENTS], ids=lambda body: body.__name__)
def test_eager_steps_between_compiled_ones(body):
    agree(classifier(body), [(X, Y)] * 4, between=lambda program: program.step(X2, Y2))


@pytest.mark.parametrize("body", [plain, *FROM_GRADIENTS], ids=lambda body: body.__name__)
def test_gradients_that_somebody_holds_are_left_alone(body):
    """Whether the tensor is held, its array, or a view: eager steps make new ones where they don't add in place."""
    takes = {
        "tensor": lambda p: p.grad,
        "array": lambda p: p.grad.numpy(),
        "view": lambda p: p.grad.numpy()[1:],
        "detached": lambda p: p.grad.detach(),
        "transposed": lambda p: p.grad.T,
    }
    for name, take in takes.items():
        histories = []
        for wrap in (lambda step: step, sg.compile):
            sg.manual_seed(3)
            program = classifier(body)()
            step = wrap(program.step)
            held = []
            for _ in range(4):
                step(X, Y)
                held.append([take(p) for p in program.tensors.values()])
            histories.append([[np.array(h) for h in call] for call in held])
        for eager, compiled in zip(*histories, strict=True):
            for a, b in zip(compiled, eager, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-7, err_msg=name)


def test_gradients_that_nobody_holds_stay_in_place():
    program = classifier(plain)()
    step = sg.compile(program.step)
    step(X, Y)
    weight = program.tensors["0.weight"]
    address = weight.grad.numpy().ctypes.data
    for _ in range(3):
        step(X, Y)
        assert weight.grad.numpy().ctypes.data == address


# models ---------------------------------------------------------------------------------------------------------------


class Tied(nn.Module):
    """One parameter in two modules, used three times."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 5), nn.Linear(5, 5)
        self.second.weight = self.first.weight
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.second(sg.tanh(self.first(x))) @ self.first.weight)


class Normalized(nn.Module):
    """Buffers that are updated in place: a mean over calls, and how many there were."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 3)
        self.register_buffer("mean", sg.zeros(5))
        self.register_buffer("count", sg.tensor(0))

    def forward(self, x):
        if self.training:
            with sg.no_grad():
                self.mean.mul_(0.9).add_(0.1 * x.mean(axis=0))
                self.count += 1
        return self.linear(x - self.mean)


class WithDropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.dropout, self.second = nn.Linear(5, 16), nn.Dropout(0.4), nn.Linear(16, 3)

    def forward(self, x):
        _unused = sg.rand(3)  # draws, but nobody looks
        return self.second(self.dropout(sg.relu(self.dropout(self.first(x)))))


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(5, 8), nn.Linear(8, 3)
        self.body.requires_grad_(False)

    def forward(self, x):
        return self.head(sg.tanh(self.body(x)))


@pytest.mark.parametrize("model", [Tied, Normalized, WithDropout, Frozen], ids=lambda model: model.__name__)
@pytest.mark.parametrize("body", [plain, accumulate], ids=lambda body: body.__name__)
def test_models(model, body):
    agree(classifier(body, model=model), BATCHES)


def test_draws_between_calls():
    """Compiled calls count the draws that the eager code makes, used or not."""
    agree(classifier(plain, model=WithDropout), BATCHES, between=lambda program: sg.rand(2))


def test_hooks():
    seen = []

    def make():
        net = mlp()
        net[0].weight.register_hook(lambda g: g * 2)
        net[0].bias.register_hook(lambda g: seen.append(g.shape))
        opt = optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            hidden = net[1](net[0](x))
            hidden.register_hook(lambda g: sg.clip(g, -0.01, 0.01))
            hidden.retain_grad()
            logits = net[2](hidden)
            logits.retain_grad()
            loss = F.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            return hidden.grad, logits.grad

        return Program(step, of(net), (opt,))

    agree(make, BATCHES)
    assert seen[0] == (8,)


def test_hooks_that_are_added_and_removed_between_calls():
    program = classifier(plain)()
    step = sg.compile(program.step)
    weight = program.tensors["0.weight"]
    step(X, Y)
    handle = weight.register_hook(lambda g: g * 0)
    step(X, Y)
    assert not weight.grad.numpy().any()
    handle.remove()
    step(X, Y)
    assert weight.grad.numpy().any()
    assert step.recompiles[1] == "same arguments, but 0.weight has other hooks"
    assert len(step.recompiles) == 2


def test_physics_informed_loss(interpreted):
    """u'' = -u from second derivatives with respect to points, which are arguments, drawn inside, or made inside. The notebook
    of the same method has kernels."""

    def make(points):
        def inner():
            net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
            opt = optim.Adam(net.parameters(), lr=0.01)

            def step(given):
                x = points(given)
                u = net(x)
                (du,) = sg.grad(u.sum(), x, create_graph=True)
                (ddu,) = sg.grad(du.sum(), x, create_graph=True)
                loss = ((ddu + u) ** 2).mean() + (net(sg.zeros(1, 1)) - 1).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                return loss, ddu

            return Program(step, of(net), (opt,))

        return inner

    inside = [(batch(7, 1, seed=i),) for i in range(3)]
    agree(make(lambda given: sg.tensor(given, requires_grad=True)), inside)
    agree(make(lambda given: sg.rand(7, 1).requires_grad_()), inside)
    agree(make(lambda given: sg.from_numpy(given).requires_grad_()), inside)
    arguments = [lambda program, i=i: (sg.tensor(batch(7, 1, seed=i), requires_grad=True),) for i in range(3)]
    step = agree(make(lambda given: given), arguments)
    assert len(step.recompiles) == 1


def test_gradients_of_arguments():
    """They are added to `.grad` of the tensors that were passed, twice the same one included."""

    def make():
        def step(a, b):
            loss = (a * b).sum() + (a * a).sum()
            loss.backward()
            return loss

        return Program(step, {})

    a, b = (lambda: sg.tensor([1.0, 2.0, 3.0], requires_grad=True)), (lambda: sg.tensor([0.5, 1.0, 2.0]))

    def again(program):
        return program.tensors.setdefault("a", a()), b()

    step = agree(make, [lambda program: (a(), b()), again, again, again])
    assert len(step.recompiles) == 2  # with a gradient at the start, and without
    for wrap in (lambda step: step, sg.compile):
        x = a()
        wrap(make().step)(x, x)
        np.testing.assert_array_equal(x.grad, [4.0, 8.0, 12.0])


def test_parameters_passed_as_arguments():
    """They are found out to be state of the step, by the optimizer that holds them."""

    def make():
        w = sg.tensor(batch(5, 3), requires_grad=True)
        opt = optim.SGD([w], lr=0.1)

        def step(weights, x, y):
            loss = F.cross_entropy(x @ weights[0], y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        return Program(step, {"w": w}, (opt,))

    def call(program):
        return [program.tensors["w"]], X, Y

    sg.manual_seed(0)
    step = agree(make, [call, call, call])
    assert step.recompiles == ["first call"]


def test_modules_and_optimizers_passed_as_arguments():
    def make():
        net = WithDropout()
        opt = optim.Adam(net.parameters(), lr=0.01)
        return Program(lambda n, o, x, y: plain(n, o, x, y), of(net), (opt,)), net, opt

    found = []
    for wrap in (lambda step: step, sg.compile):
        sg.manual_seed(4)
        program, net, opt = make()
        step = wrap(program.step)
        losses = [step(net, opt, X, Y) for _ in range(2)]
        net.eval()
        losses.append(step(net, opt, X, Y))
        found.append([float(loss) for loss in losses])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    assert step.recompiles[1].startswith("same arguments, but n.")
    assert step.recompiles[1].endswith("training is False instead of True")


def test_two_compiled_functions_share_parameters():
    """A generator and its critic, as it were."""

    def run(wrap):
        sg.manual_seed(5)
        net = mlp()
        first, second = optim.Adam(net[0].parameters(), lr=0.01), optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        one = wrap(lambda x, y: plain(net, first, x, y))
        two = wrap(lambda x, y: plain(net, second, x, y))
        losses = [float(step(X, Y)) for _ in range(3) for step in (one, two)]
        return losses, [p.detach().numpy().copy() for p in net.parameters()]

    eager, compiled = run(lambda step: step), run(sg.compile)
    np.testing.assert_allclose(compiled[0], eager[0], rtol=1e-5)
    for a, b in zip(compiled[1], eager[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_state_made_inside_does_not_outlive_the_call():
    """`sg.zeros(())` is made anew by every run, and may be changed in place."""

    def make():
        w = sg.tensor([1.0, 2.0], requires_grad=True)

        def step(x):
            total = sg.zeros(())
            hidden = sg.ones(2)
            for i in range(3):
                hidden = hidden * w
                total += (hidden * x).sum() * i
            w.grad = None
            total.backward()
            return total

        return Program(step, {"w": w})

    agree(make, [(batch(2),)] * 3)


def test_copying_one_parameter_onto_another():
    """The copy has a gradient of its own."""

    def make():
        online, target = sg.tensor([1.0, 2.0], requires_grad=True), sg.tensor([5.0, 6.0], requires_grad=True)

        def step(x):
            with sg.no_grad():
                target.copy_(online)
            loss = (online * x).sum() + (target * target).sum()
            online.grad = target.grad = None
            loss.backward()
            with sg.no_grad():
                online.sub_(0.1 * online.grad)
            return loss

        return Program(step, {"online": online, "target": target})

    agree(make, [(batch(2),)] * 3)


def test_in_place_on_arguments():
    """The caller's memory changes, as it does eagerly: tensors and arrays."""

    def make():
        def step(a, b, c):
            a.add_(1.0)
            b *= 2
            c.detach().mul_(3)
            return a, (a * b).sum()

        return Program(step)

    def call(program):
        return sg.tensor([1.0, 2.0]), np.array([3.0, 4.0], np.float32), sg.tensor([1.0, 1.0], requires_grad=True)

    step = agree(make, [call, call])
    a, b, c = call(None)
    assert step(a, b, c)[0] is a


def test_gradients_held_across_an_eager_tape():
    """A compiled step is an in-place change to a tape that has read the parameters."""
    program = classifier(plain)()
    step = sg.compile(program.step)
    step(X, Y)
    for _ in range(2):
        weight = program.tensors["0.weight"]
        loss = (weight * weight).sum()
        step(X, Y)
        with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
            loss.backward()


@pytest.mark.parametrize("name", ["grad", "_grad"])
def test_gradients_are_handed_to_other_parameters(name):
    """As workers of A3C do, by either of PyTorch's names."""

    def trained(compiled):
        worker, shared = nn.Linear(3, 2), nn.Linear(3, 2)
        for model in (worker, shared):
            for p in model.parameters():
                nn.init.constant_(p, 0.5)
        opt = optim.SGD(shared.parameters(), lr=0.1)

        def step(x):
            worker.load_state_dict(shared.state_dict())
            worker.zero_grad()
            loss = (worker(x) ** 2).sum()
            loss.backward()
            for p, q in zip(worker.parameters(), shared.parameters(), strict=True):
                setattr(q, name, p.grad)
            opt.step()
            return loss

        step = sg.compile(step) if compiled else step
        return [step(sg.ones(2, 3) * 0.1).item() for _ in range(4)], shared.weight.grad is worker.weight.grad

    (losses, shares), (expected, also) = trained(True), trained(False)
    assert shares
    assert also
    assert losses == pytest.approx(expected, rel=1e-6)
    assert losses[-1] < 0.5 * losses[0]
