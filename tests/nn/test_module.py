"""Modules: registration, names, hooks, state dicts, and what counts as a change of structure."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.eager.tensor import Structure
from staticgrad.errors import ArgumentError, DTypeError, IndexRangeError, TraceError

pytestmark = pytest.mark.usefixtures("refusing")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 2))
        self.scale = nn.Parameter([2.0])
        self.register_buffer("calls", sg.zeros(1))

    def forward(self, x):
        return self.rest(self.first(x)) * self.scale


NAMES = ["scale", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]


def changes(action) -> int:
    before = Structure.changes
    action()
    return Structure.changes - before


# members --------------------------------------------------------------------------------------------------------------


def test_names_and_traversal():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [p.name for p in net.parameters()] == NAMES
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert [name for name, _ in net.named_parameters(prefix="net")][1] == "net.first.weight"
    assert [name for name, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert [name for name, _ in net.named_children()] == ["first", "rest"]
    assert [name for name, _ in net.named_buffers()] == ["calls"]
    assert list(net.children()) == [net.first, net.rest]
    assert len(list(net.modules())) == 5
    assert next(net.buffers()) is net.calls


def test_a_parameter_below_keeps_the_longest_name():
    net = Net()
    list(net.parameters())
    list(net.rest.parameters())
    assert net.rest[1].weight.name == "rest.1.weight"


def test_shared_members_are_listed_once():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    net.again = net[0]
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert [name for name, _ in net.named_children()] == ["0", "1"]
    assert "1.weight" in net.state_dict()


def test_parameter():
    array = np.ones(2, np.float32)
    p = nn.Parameter(array)
    array[0] = 7
    assert type(p) is sg.Tensor
    assert isinstance(p, nn.Parameter)
    assert p.requires_grad
    assert p.tolist() == [1, 1]
    assert not isinstance(sg.ones(2, requires_grad=True), nn.Parameter)
    assert not nn.Parameter(array, requires_grad=False).requires_grad
    with pytest.raises(DTypeError, match="only Tensors of floating point dtype can require gradients"):
        nn.Parameter([1, 2])


def test_what_is_registered():
    module = nn.Module()
    module.leaf = nn.Parameter([1.0])
    module.tensor = sg.ones(1, requires_grad=True)
    module.frozen = nn.Parameter([1.0], requires_grad=False)
    module.plain = sg.ones(1)
    module.result = sg.ones(1, requires_grad=True) * 2
    module.child = None
    assert [name for name, _ in module.named_parameters()] == ["leaf", "frozen"]
    module.leaf = None
    assert [name for name, _ in module.named_parameters()] == ["frozen"]
    module.leaf = nn.Parameter([3.0])
    assert [name for name, _ in module.named_parameters()] == ["leaf", "frozen"]
    assert isinstance(module.tensor, sg.Tensor)
    del module.leaf
    assert [name for name, _ in module.named_parameters()] == ["frozen"]
    assert not hasattr(module, "leaf")


class Forgetful(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(2, 2)


def with_buffer() -> nn.Module:
    module = nn.Module()
    module.register_buffer("b", sg.zeros(1))
    return module


ERRORS = [
    (lambda: setattr(nn.Linear(2, 2), "weight", sg.ones(2, 2)),
     "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)"),
    (lambda: setattr(nn.Linear(2, 2), "weight", 3),
     "cannot assign 'int' as parameter 'weight' (torch.nn.Parameter or None expected)"),
    (lambda: setattr(with_buffer(), "b", 3),
     "cannot assign 'int' as buffer 'b' (torch.nn.Buffer, torch.Tensor or None expected)"),
    (lambda: setattr(Net(), "first", 3),
     "cannot assign 'int' as child module 'first' (torch.nn.Module or None expected)"),
    (lambda: nn.Module().add_module("a.b", nn.ReLU()), 'module name can\'t contain ".", got: a.b'),
    (lambda: nn.Module().register_buffer("", sg.ones(1)), 'buffer name can\'t be empty string ""'),
    (lambda: nn.Module().register_parameter("a", sg.ones(1)),
     "cannot assign 'torch.FloatTensor' object to parameter 'a' (torch.nn.Parameter or None required)"),
    (lambda: nn.Module().add_module("forward", nn.ReLU()), "attribute 'forward' already exists"),
    (lambda: nn.Module().add_module("a", 3), "int is not a Module subclass"),
    (lambda: nn.Module().register_buffer("a", 3),
     "cannot assign 'int' object to buffer 'a' (torch Tensor or None required)"),
    (lambda: nn.Module().train(1), "training mode is expected to be boolean"),
    (lambda: nn.Sequential(nn.ReLU(), 3), "int is not a Module subclass"),
    (lambda: nn.Linear(2.5, 2), "Linear: in_features must be an integer >= 0, got 2.5"),
    (lambda: nn.Linear(2, -1), "Linear: out_features must be an integer >= 0, got -1"),
    (lambda: nn.Dropout(-1), "dropout probability has to be between 0 and 1, but got -1"),
    (lambda: nn.MSELoss(reduction="average"), "'average' is not a valid value for reduction"),
    (Forgetful, "cannot assign module before Module.__init__() call"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "text"), ERRORS, ids=[row[1][:50] for row in ERRORS])
def test_error(call, text):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.summary == text


def test_to_takes_floats_only():
    with pytest.raises(DTypeError, match="only accepts floating point dtypes"):
        nn.Linear(2, 2).to(np.int64)


def test_forward_has_to_be_written():
    with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'):
        nn.Module()(1)


# running --------------------------------------------------------------------------------------------------------------


def test_hooks():
    net, seen = nn.Identity(), []
    pre = net.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    post = net.register_forward_hook(lambda module, args, out: seen.append((args[0].item(), out.item())))
    double = net.register_forward_hook(lambda module, args, out: out * 2)
    assert net(sg.tensor(1.0)).item() == 4
    assert seen == [(2.0, 2.0)]
    pre.remove()
    with double:
        assert net(sg.tensor(1.0)).item() == 2
    assert net(sg.tensor(1.0)).item() == 1
    post.remove()
    net(sg.tensor(1.0))
    assert len(seen) == 3
    net.register_forward_pre_hook(lambda module, args: args[0] * 3)
    assert net(sg.tensor(1.0)).item() == 3


def test_train_and_eval():
    net = nn.Sequential(nn.Dropout(0.5), nn.Identity())
    x = sg.ones(100)
    assert (net(x).numpy() == 0).any()
    assert net.eval() is net
    assert not net[0].training
    assert net(x) is x
    net.train()
    assert net[1].training


def test_freezing():
    net = Net()
    net.first.requires_grad_(False)
    net(sg.ones(2, 4)).sum().backward()
    assert net.first.weight.grad is None
    assert net.rest[1].weight.grad is not None
    net.zero_grad()
    assert net.rest[1].weight.grad is None


def test_zero_grad_with_zeros():
    net = nn.Linear(2, 1)
    net(sg.ones(1, 2)).sum().backward()
    g = net.weight.grad
    net.zero_grad(set_to_none=False)
    assert net.weight.grad is g
    assert g.tolist() == [[0, 0]]
    (g2,) = sg.autograd.grad((net(sg.ones(1, 2)) ** 2).sum(), [net.weight], create_graph=True)
    net.weight.grad = g2
    net.zero_grad(set_to_none=False)
    assert not net.weight.grad.requires_grad
    assert net.weight.grad.tolist() == [[0, 0]]


def test_apply_goes_from_below():
    seen = []
    net = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh()))
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["ReLU", "Tanh", "Sequential", "Sequential"]


def test_dtypes():
    net = Net()
    net.register_buffer("steps", sg.tensor([3]))
    net(sg.ones(2, 4)).sum().backward()
    w = net.first.weight
    assert net.double() is net
    assert net.first.weight is w
    assert w.dtype == np.float64
    assert w.grad.dtype == np.float64
    assert net.calls.dtype == np.float64
    assert net.steps.dtype == np.int64
    net.float()
    assert w.dtype == np.float32
    assert nn.Linear(2, 2, dtype=np.float64).weight.dtype == np.float64


def test_repr():
    class WithExtra(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 1, bias=False)

        def extra_repr(self):
            return "n=2"

    net = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.Dropout(0.2), nn.Softmax(1)), WithExtra(), nn.Flatten())
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=4, out_features=3, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): Dropout(p=0.2, inplace=False)\n"
        "    (1): Softmax(dim=1)\n"
        "  )\n"
        "  (2): WithExtra(\n"
        "    n=2\n"
        "    (fc): Linear(in_features=2, out_features=1, bias=False)\n"
        "  )\n"
        "  (3): Flatten(start_dim=1, end_dim=-1)\n"
        ")"
    )


def test_copies_are_independent():
    net = Net()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert [name for name, _ in twin.named_parameters()] == NAMES
        with sg.no_grad():
            twin.scale.fill_(5)
        assert net.scale.item() == 2
        np.testing.assert_allclose(twin.first.weight.detach().numpy(), net.first.weight.detach().numpy())
        assert twin(sg.ones(1, 4)).shape == (1, 2)


@pytest.mark.parametrize("compiles", [lambda step: step, sg.compile, functools.partial(sg.compile, on_break="error")])
def test_moving_average_written_through_state_dicts(compiles):
    net = nn.Linear(3, 2)
    average = copy.deepcopy(net)

    @compiles
    def step(x):
        net(x).sum().backward()
        with sg.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
                p.grad = None
            values = net.state_dict()
            for name, value in average.state_dict().items():
                value.copy_(value * 0.9 + values[name] * 0.1)

    for _ in range(3):
        expected = average.bias.detach().numpy() * 0.9 + (net.bias.detach().numpy() - 0.5) * 0.1
        step(sg.ones(5, 3))
        np.testing.assert_allclose(average.bias.detach().numpy(), expected, rtol=1e-5)


# containers -----------------------------------------------------------------------------------------------------------


def test_sequential_is_a_sequence():
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    net = nn.Sequential(a, b, c)
    assert len(net) == 3
    assert list(net) == [a, b, c]
    assert net[0] is a
    assert net[-1] is c
    assert list(net[1:]) == [b, c]
    assert isinstance(net[1:], nn.Sequential)
    net[1] = d = nn.Identity()
    assert list(net) == [a, d, c]
    assert net.append(b) is net
    assert net[3] is b
    tail = net[2:]
    tail.append(a)
    assert list(tail) == [c, b, a]
    with pytest.raises(IndexRangeError, match="index 4 is out of range"):
        net[4]
    named = nn.Sequential({"act": a, "out": b})
    assert named.act is a
    assert [name for name, _ in named.named_children()] == ["act", "out"]


def test_the_same_module_twice_runs_twice():
    half = nn.Linear(1, 1, bias=False)
    nn.init.constant_(half.weight, 0.5)
    assert nn.Sequential(half, half)(sg.ones(1, 1)).item() == 0.25


def test_module_list():
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    assert len(layers) == 3
    assert len(list(layers.parameters())) == 6
    with pytest.raises(NotImplementedError):
        layers(1)


# structure ------------------------------------------------------------------------------------------------------------


def test_training_counts_only_when_it_changes():
    net = nn.ReLU()
    assert changes(lambda: net.train()) == 0
    assert changes(lambda: net.eval()) == 1
    assert changes(lambda: net.eval()) == 0
    assert changes(lambda: net.train()) == 1


STRUCTURAL = [
    ("add a parameter", lambda net: setattr(net, "more", nn.Parameter([1.0]))),
    ("replace a parameter", lambda net: setattr(net, "scale", nn.Parameter([1.0]))),
    ("drop a parameter", lambda net: setattr(net, "scale", None)),
    ("delete a parameter", lambda net: delattr(net, "scale")),
    ("replace a buffer", lambda net: setattr(net, "calls", sg.ones(1))),
    ("add a buffer", lambda net: net.register_buffer("more", sg.ones(1))),
    ("add a module", lambda net: net.add_module("more", nn.ReLU())),
    ("replace a module", lambda net: net.rest.__setitem__(0, nn.Tanh())),
    ("add a hook", lambda net: net.register_forward_hook(print)),
    ("add a hook before", lambda net: net.register_forward_pre_hook(print)),
    ("change a setting", lambda net: setattr(net.first, "in_features", 5)),
]


@pytest.mark.parametrize(("name", "action"), STRUCTURAL, ids=[row[0] for row in STRUCTURAL])
def test_structure_counts(name, action):
    net = Net()
    before = net.structure()
    assert changes(lambda: action(net)) >= 1
    assert net.structure() != before


def test_structure_does_not_count_values():
    net = Net()
    before = net.structure()

    def use():
        net.scale = net.scale
        net.first.in_features = 4
        net(sg.ones(2, 4)).sum().backward()
        net.zero_grad()
        net.state_dict()
        list(net.parameters())
        with sg.no_grad():
            net.scale.mul_(2)

    assert changes(use) == 0
    assert net.structure() == before


def test_removing_a_hook_counts_once():
    handle = nn.ReLU().register_forward_hook(print)
    assert changes(handle.remove) == 1
    assert changes(handle.remove) == 0


# state dicts ----------------------------------------------------------------------------------------------------------


def test_state_dict_round_trip(tmp_path):
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["scale", "calls", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]
    assert not any(t.requires_grad for t in state.values())
    memory = other.first.weight._data
    result = other.load_state_dict(state)
    assert result == ([], [])
    assert other.first.weight._data is memory
    x = sg.ones(2, 4)
    np.testing.assert_array_equal(net(x).detach().numpy(), other(x).detach().numpy())
    with sg.no_grad():
        net.scale.fill_(9)
    assert state["scale"].item() == 9
    state["scale"].fill_(3)
    assert net.scale.item() == 3
    assert other.scale.item() == 2
    state = other.state_dict()

    np.savez(tmp_path / "net.npz", **{name: value.numpy() for name, value in state.items()})
    with np.load(tmp_path / "net.npz") as saved:
        net.load_state_dict(saved)
    assert net.scale.item() == 2


def test_loading_casts_to_the_tensors_dtype():
    net = nn.Linear(2, 1)
    net.load_state_dict({"weight": np.array([[0.1, 0.2]]), "bias": [1]})
    assert net.weight.dtype == np.float32
    assert net.bias.tolist() == [1.0]


def test_a_state_dict_that_does_not_fit_changes_nothing():
    net = nn.Sequential(nn.Linear(2, 1))
    before = net.state_dict()
    bad = {"0.weight": np.ones((1, 2)), "0.bias": np.ones(3), "extra": np.ones(1)}
    with pytest.raises(nn.StateDictError) as caught:
        net.load_state_dict(bad)
    assert caught.value.summary == "Error(s) in loading state_dict for Sequential:"
    assert caught.value.details == (
        'Unexpected key(s) in state_dict: "extra".',
        "size mismatch for 0.bias: copying a param with shape (3,) from checkpoint, the shape in current model is (1,).",
    )
    with pytest.raises(nn.StateDictError) as caught:
        net.load_state_dict({})
    assert caught.value.details == ('Missing key(s) in state_dict: "0.weight", "0.bias".',)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name].numpy())
    with pytest.raises(nn.StateDictError, match="Expected state_dict to be dict-like, got list"):
        net.load_state_dict([])


def test_not_strict():
    net = nn.Linear(2, 1)
    result = net.load_state_dict({"bias": [4.0], "extra": 1}, strict=False)
    assert result.missing_keys == ["weight"]
    assert result.unexpected_keys == ["extra"]
    assert net.bias.item() == 4
    with pytest.raises(nn.StateDictError, match="size mismatch"):
        net.load_state_dict({"bias": [4.0, 1.0]}, strict=False)


# while tracing -----------------------------------------------------------------------------------------------------


class Running(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", sg.zeros(4))

    def forward(self, x):
        self.mean = self.mean * 0.9 + x * 0.1
        return x


def test_a_compiled_step_assigns_a_buffer():
    nets = Running(), Running()
    for net, step in zip(nets, (nets[0], sg.compile(lambda x: nets[1](x))), strict=True):
        for _ in range(3):
            step(sg.ones(4))
        assert list(net.state_dict()) == ["mean"]
    np.testing.assert_allclose(nets[1].mean, nets[0].mean, rtol=1e-6)


def test_modules_are_made_outside_traces():
    with pytest.raises(TraceError, match=r"nn\.init\.uniform_ can't be traced"):
        sg.compile(lambda x: nn.Linear(4, 2)(x))(sg.ones(3, 4))


def test_training_mode_is_part_of_a_trace():
    net = nn.Dropout(0.5)
    step = sg.compile(lambda x: net(x))
    assert 0 < (step(sg.ones(100)).numpy() == 0).mean() < 1
    net.eval()
    assert (step(sg.ones(100)).numpy() == 1).all()
    net.train()
    assert 0 < (step(sg.ones(100)).numpy() == 0).mean() < 1
    assert len(step.recompiles) == 2


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.Linear(2, 2).register_forward_hook(3), "a hook is a function, got int"),
        (lambda: sg.ones(2, requires_grad=True).register_hook(None), "a hook is a function, got NoneType"),
        (lambda: (sg.ones(2, requires_grad=True) * 2).register_hook("a"), "a hook is a function, got str"),
        (
            lambda: sg.compile(lambda x: x.detach().requires_grad_().register_hook(3))(sg.ones(2)),
            "a hook is a function, got int",
        ),
        (lambda: nn.ModuleList(3), "ModuleList: expected modules, one after another, got int"),
        (lambda: nn.LayerNorm(None), "LayerNorm: normalized_shape must be an integer >= 0, got None"),
        (lambda: nn.RMSNorm("a"), "RMSNorm: normalized_shape must be an integer >= 0, got 'a'"),
        (lambda: nn.Dropout("a"), "dropout probability has to be between 0 and 1, but got a"),
    ],
)
def test_arguments_that_make_no_sense(call, text):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.summary == text
    assert caught.value.where.file == __file__


def test_a_seed_of_backward_that_is_no_number():
    y = sg.tensor([1.0, 2.0], dtype=sg.float64, requires_grad=True) * 2
    with pytest.raises(sg.DTypeError, match="can't make a tensor of str"):
        y.backward("a")


def test_a_number_as_seed_of_backward_keeps_its_digits():
    x = sg.tensor(1.0, dtype=sg.float64, requires_grad=True)
    (x * 1).backward(0.1)
    assert x.grad.item() == 0.1


def test_repr_of_containers():
    equal = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Sequential(nn.Tanh())])
    assert repr(equal) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Sequential(\n    (0): Tanh()\n  )\n)"
    assert repr(nn.ModuleList()) == "ModuleList()"
    two = nn.ParameterList([nn.Parameter(sg.ones(2)), nn.Parameter(sg.ones(1, 3))])
    lines = "(0): Parameter containing: [torch.float32 of size 2]", "(1): Parameter containing: [torch.float32 of size 1x3]"
    assert repr(two) == "ParameterList(\n" + "".join(f"    {line}\n" for line in lines) + ")"
    assert (
        repr(nn.ParameterDict({"a": sg.ones(2)})) == "ParameterDict(  (a): Parameter containing: [torch.FloatTensor of size 2])"
    )


def test_containers_are_joined_and_repeated():
    one, two = nn.Sequential(nn.ReLU()), nn.Sequential(nn.Tanh(), nn.ELU())
    assert [type(m).__name__ for m in one + two] == ["ReLU", "Tanh", "ELU"]
    assert len(two * 3) == 6
    one += two
    assert len(one) == 3
    listed = nn.ModuleList([nn.ReLU()])
    listed += [nn.Tanh()]
    assert list(listed._modules) == ["0", "1"]
    with pytest.raises(ArgumentError, match="a positive number of times"):
        one * 0


def test_extra_state():
    class Counting(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    source, target = nn.Sequential(Counting(), nn.Linear(1, 1)), nn.Sequential(Counting(), nn.Linear(1, 1))
    source[0].count = 3
    state = source.state_dict()
    assert list(state) == ["0._extra_state", "1.weight", "1.bias"]
    target.load_state_dict(state)
    assert target[0].count == 3
    assert target.load_state_dict({}, strict=False).missing_keys == ["0._extra_state", "1.weight", "1.bias"]
    with pytest.raises(RuntimeError, match="Unexpected"):
        nn.Linear(1, 1).load_state_dict({**nn.Linear(1, 1).state_dict(), "_extra_state": 1})


def test_a_module_is_put_at_a_path():
    net = nn.Sequential(nn.Sequential(nn.ReLU()))
    net.set_submodule("0.0", nn.Tanh())
    net.set_submodule("0.new", nn.ELU())
    assert [type(m).__name__ for m in net[0]] == ["Tanh", "ELU"]
    with pytest.raises(AttributeError, match="has no attribute `missing`"):
        net.set_submodule("0.missing", nn.ELU(), strict=True)
    assert net.to_empty(device="cpu") is net.share_memory() is net


def test_dicts_of_members_are_the_modules_own():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with sg.no_grad():
        net[0].bias.fill_(-5.0)
    step = sg.compile(lambda x: net(x))
    x = sg.tensor([[1.0, -1.0]])
    assert step(x).min().item() == 0.0
    net._modules["1"] = nn.Tanh()
    np.testing.assert_allclose(step(x).detach().numpy(), np.tanh(net[0](x).detach().numpy()), rtol=1e-6)
    weight = net[0]._parameters.pop("weight")
    assert not hasattr(net[0], "weight")
    assert list(net[0]._parameters) == ["bias"]
    net[0]._parameters["weight"] = weight * 2  # as code does that computes weights from others
    assert net[0].weight.grad_fn is not None
    net[0]._buffers["scale"] = sg.ones(1)
    assert list(net.state_dict()) == ["0.bias", "0.weight", "0.scale"]
    del net._modules["1"]
    assert len(net) == 1
    with pytest.raises(KeyError):
        net._modules["weight"]
    assert isinstance(net._parameters.copy(), dict)


def test_a_state_dict_of_views_of_the_module():
    """Values in memory that is written are read before."""
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    first, second = (layer.weight.detach() for layer in module)
    expected = second.tolist(), first.T.tolist()
    module.load_state_dict(module.state_dict() | {"0.weight": second, "1.weight": first.T})
    assert (module[0].weight.tolist(), module[1].weight.tolist()) == expected


def test_a_state_dict_tells_the_versions_of_its_modules():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    state = model.state_dict()
    assert dict(state._metadata) == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}}
    seen = []
    model[1].register_load_state_dict_pre_hook(lambda module, state, prefix, own, *rest: seen.append((prefix, own)))
    model.load_state_dict(state)
    model.load_state_dict(dict(state), assign=True)
    assert seen == [("1.", {"version": 2}), ("1.", {"assign_to_params_buffers": True})]
    assert type(copy.deepcopy(state)) is type(state)
    assert copy.deepcopy(state)._metadata == state._metadata


def test_loading_may_assign_the_tensors():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    model[0].bias.requires_grad_(False)
    state = {name: tensor.clone() for name, tensor in model.double().state_dict().items()}
    model.float()
    former = model[0].weight
    assert str(model.load_state_dict(state, assign=True)) == "<All keys matched successfully>"
    assert model[0].weight is not former
    assert model[0].weight.data_ptr() == state["0.weight"].data_ptr()
    assert model[0].weight.dtype == sg.float64
    assert isinstance(model[0].weight, nn.Parameter)
    assert (model[0].weight.requires_grad, model[0].bias.requires_grad) == (True, False)
    assert model[1].running_mean is state["1.running_mean"]
    state["0.weight"] = sg.zeros(3, 2)
    kept = model[0].bias
    with pytest.raises(RuntimeError, match=r"size mismatch for 0\.weight"):
        model.load_state_dict(state, assign=True)
    assert model[0].bias is kept


def test_a_compiled_step_sees_assigned_tensors():
    model = nn.Linear(2, 1, bias=False)
    f = sg.compile(lambda x: model(x))
    x = sg.ones(1, 2)
    for value in (1.0, 3.0):
        model.load_state_dict({"weight": sg.full((1, 2), value)}, assign=True)
        assert f(x).item() == model(x).item() == 2 * value


def test_memory_format():
    conv = nn.Conv2d(2, 3, 3)
    former, weight = conv.weight, conv.weight.detach().clone()
    assert conv.to(memory_format=sg.channels_last) is conv
    assert conv.weight is former
    assert conv.weight.stride() == (18, 1, 6, 2)
    assert conv.bias.stride() == (1,)
    assert (conv.weight == weight).all()


def test_classes_of_layers_are_derived_as_in_pytorch():
    assert not isinstance(nn.Dropout2d(), nn.Dropout)
    assert not isinstance(nn.InstanceNorm1d(2), type(nn.BatchNorm1d(2)).__bases__[0])
    assert isinstance(nn.ZeroPad2d(1), nn.ConstantPad2d)
    assert repr(nn.ZeroPad2d(1)) == "ZeroPad2d((1, 1, 1, 1))"
    assert nn.ZeroPad1d(1)(sg.ones(1, 1)).tolist() == [[0.0, 1.0, 0.0]]


def test_a_property_without_a_value_yet_is_no_member_in_the_way_of_a_parameter():
    class Ball(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = nn.Parameter(sg.ones(1))

        @property
        def k(self):
            return -self._parameters["k"] if "_ready" in vars(self) else self.missing

    ball = Ball()
    assert [name for name, _ in ball.named_parameters()] == ["k"]
    ball._ready = True
    assert ball.k.item() == -1.0

    class Taken(nn.Module):
        k = None

        def __init__(self):
            super().__init__()
            self.k = nn.Parameter(sg.ones(1))

    with pytest.raises(KeyError, match="attribute 'k' already exists"):
        Taken()


def test_the_class_of_a_table_copies_mappings_as_a_dict_does():
    net = nn.Sequential(nn.Linear(2, 2))
    copied = type(net._modules)({"a": 1})
    assert (type(copied), copied) == (dict, {"a": 1})
