"""The dicts of a module, as packages use them that were written for PyTorch."""

import copy
import gc
import pickle
import weakref
from collections import OrderedDict

import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.errors import ArgumentError


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 3)
        self.w = nn.Parameter(sg.ones(2))
        self.register_buffer("b", sg.zeros(3))
        self.register_buffer("passing", sg.zeros(1), persistent=False)

    def forward(self, x):
        return self.lin(x * self.w) + self.b


def names(module):
    return [name for name, _ in module.named_parameters()]


def test_members_are_in_dicts_of_the_module():
    net = Net()
    own = net.__dict__
    assert list(own["_parameters"]) == ["w"]
    assert list(own["_buffers"]) == ["b", "passing"]
    assert list(own["_modules"]) == ["lin"]
    assert own["_non_persistent_buffers_set"] == {"passing"}
    assert isinstance(own["_parameters"], dict)
    assert net.__getattr__("w") is net.w
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        net.__getattr__("nothing")


def test_a_dict_is_replaced():
    net = Net()
    net._parameters = {"q": nn.Parameter(sg.zeros(1))}
    assert names(net) == ["q", "lin.weight", "lin.bias"]
    assert not hasattr(net, "w")
    assert net.q.shape == (1,)
    net._modules = OrderedDict([("act", nn.ReLU())])
    assert names(net) == ["q"]
    net.__dict__["_buffers"] = {"c": sg.ones(2)}  # past the module: attributes are looked up there
    assert net.c.tolist() == [1, 1]
    assert [name for name, _ in net.named_buffers()] == ["c"]


def test_changes_of_a_dict_are_changes_of_the_module():
    net = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert [name for name, _ in reversed(net._modules.items())] == ["2", "1", "0"]
    assert isinstance(net._modules.pop("1"), nn.Tanh)
    assert net._modules.popitem()[0] == "2"
    net._modules.update(a=nn.ELU())
    net._modules.move_to_end("0")
    assert [type(m).__name__ for m in net] == ["ELU", "ReLU"]
    assert net._modules.setdefault("a", None) is net.a
    net._modules |= {"b": nn.ELU()}
    assert len(net) == 3
    net._modules.clear()
    assert len(net) == 0
    with pytest.raises(KeyError):
        del net._modules["a"]
    with pytest.raises(KeyError):
        net._modules.popitem()


def test_a_module_that_deletes_from_its_dicts_itself():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(sg.ones(1))

        def __delattr__(self, name):
            if name in self._parameters:
                del self._parameters[name]
            else:
                super().__delattr__(name)

    own = Own()
    del own.p
    assert not hasattr(own, "p")


def test_names_of_the_class_come_first():
    class Odd(nn.Module):
        act = None

        def __init__(self):
            super().__init__()
            self.children = nn.ModuleList([nn.Linear(1, 1)])
            self.act = nn.ReLU()

        def scale(self):
            return 7

    odd = Odd()
    assert odd.act is None
    assert odd.scale() == 7
    assert len(list(odd.children())) == 2
    assert names(odd) == ["children.0.weight", "children.0.bias"]
    assert list(odd.state_dict()) == names(odd)
    with pytest.raises(KeyError, match="attribute 'scale' already exists"):
        odd.scale = nn.Parameter(sg.ones(1))
    assert odd.get_submodule("children.0").weight.shape == (1, 1)


def test_lookup_by_a_subclass():
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.module = nn.Linear(1, 2)

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    wrapped = Wrapped()
    assert wrapped.in_features == 1
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'nothing'"):
        _ = wrapped.nothing


def test_attributes_before_init():
    class Early(nn.Module):
        def __init__(self):
            self.depth, self.start = 3, sg.ones(1)
            super().__init__()
            self.lin = nn.Linear(1, 1)

    early = Early()
    assert early.depth == 3
    assert names(early) == ["lin.weight", "lin.bias"]

    class Late(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(sg.ones(1))

    with pytest.raises(AttributeError, match="cannot assign parameters before"):
        Late()
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'a'"):
        nn.Module(a=1)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        nn.Module(1)


def test_call_super_init():
    class First(nn.Module):
        call_super_init = True

        def __init__(self, **named):
            super().__init__(**named)

    class Second:
        def __init__(self, z):
            self.z = z

    class Both(First, Second):
        pass

    assert Both(z=3).z == 3


def test_a_hash_of_its_own_is_not_called_in_init():
    class Hashed(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(1, 1)
            self.key = 3

        def __hash__(self):
            return hash(self.key)

    @sg.compile
    def step(x):
        return Hashed().key + x

    assert step(sg.ones(1)).item() == 4
    assert hash(Hashed()) == hash(3)


def test_containers_with_none():
    layers = nn.ModuleList([None, nn.Linear(1, 1)])
    assert len(layers) == 2
    assert layers[0] is None
    assert list(layers.state_dict()) == ["1.weight", "1.bias"]
    assert "(0): None" in repr(layers)
    assert list(nn.ModuleDict({"a": None})) == ["a"]


def test_module_dicts():
    d = nn.ModuleDict({"a": nn.ReLU()})
    d.update(nn.ModuleDict({"b": nn.Tanh()}))
    d.update([["c", nn.ELU()]])
    assert list(d) == ["a", "b", "c"]
    assert list(reversed(d.keys())) == ["c", "b", "a"]
    for given, text in (
        (3, "ModuleDict.update should be called with an iterable of key/value pairs, but got int"),
        ([3], "ModuleDict update sequence element #0 should be Iterable; isint"),
        ([("a",)], "ModuleDict update sequence element #0 has length 1; 2 is required"),
    ):
        with pytest.raises(ArgumentError) as caught:
            d.update(given)
        assert caught.value.summary == text

    class Own(nn.ModuleDict):
        def update(self, x):
            return x + 1

    assert Own().update(1) == 2


def test_copies():
    net = Net()
    copied = copy.copy(net)
    copied.w = nn.Parameter(sg.zeros(2))
    assert net.w.tolist() == [1, 1]
    assert copied.lin is net.lin
    deep = copy.deepcopy(net)
    assert deep.lin.weight is not net.lin.weight
    assert deep._non_persistent_buffers_set == {"passing"}
    deep._parameters["w"] = nn.Parameter(sg.zeros(2))
    assert deep.w.tolist() == [0, 0]
    pickled = pickle.loads(pickle.dumps(net))
    assert names(pickled) == names(net)
    assert pickled(sg.ones(1, 2)).tolist() == net(sg.ones(1, 2)).tolist()


def test_replicas():
    net = Net()
    replica = net.__new__(type(net))
    replica.__dict__ = net.__dict__.copy()
    replica._parameters = {}
    replica._buffers = replica._buffers.copy()
    replica._modules = replica._modules.copy()
    replica._parameters["v"] = nn.Parameter(sg.zeros(2))
    replica._modules["more"] = nn.ReLU()
    assert names(net) == ["w", "lin.weight", "lin.bias"]
    assert names(replica) == ["v", "lin.weight", "lin.bias"]
    assert [name for name, _ in net.named_children()] == ["lin"]
    assert names(net._replicate_for_data_parallel()) == ["lin.weight", "lin.bias"]


def test_modules_are_freed_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        net = Net()
        reference = weakref.ref(net)
        del net
        assert reference() is None
    finally:
        gc.enable()


def test_hooks_are_in_dicts():
    net, seen = nn.Linear(1, 1), []
    x = sg.ones(1, requires_grad=True)
    net.register_full_backward_hook(lambda *given: seen.append("full"))
    net.register_full_backward_pre_hook(lambda *given: seen.append("before"))
    handle = net.register_forward_pre_hook(lambda module, args, named: None, with_kwargs=True)
    assert [len(d) for d in (net._backward_hooks, net._backward_pre_hooks, net._forward_pre_hooks)] == [1, 1, 1]
    assert net._forward_pre_hooks_with_kwargs == {handle.id: True}
    net(x).sum().backward()
    assert seen == ["before", "full"]
    net._backward_hooks.clear()
    net(x).sum().backward()
    assert seen == ["before", "full", "before"]
    handle.remove()
    assert not net._forward_pre_hooks
    assert not net._forward_pre_hooks_with_kwargs
    net._forward_hooks[77] = lambda *given: seen.append("set")
    net(x)
    assert seen[-1] == "set"
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        net.register_backward_hook(print)


def test_hooks_that_are_set_in_a_dict_reach_compiled_functions():
    net = nn.Linear(1, 1)
    step = sg.compile(net)
    x = sg.ones(1)
    before = step(x)
    net._forward_hooks[1] = lambda module, args, output: output * 2
    assert sg.allclose(step(x), before * 2)
    net._forward_hooks.clear()
    assert sg.allclose(step(x), before)
    net._parameters["weight"] = nn.Parameter(sg.zeros(1, 1))
    assert sg.allclose(step(x), net.bias)


def test_registrations_are_announced():
    seen = []
    handles = [
        nn.modules.module.register_module_parameter_registration_hook(lambda m, name, value: seen.append(name)),
        nn.modules.module.register_module_buffer_registration_hook(lambda m, name, value: seen.append(name)),
        nn.modules.module.register_module_module_registration_hook(lambda m, name, value: seen.append(name)),
    ]
    Net()
    for handle in handles:
        handle.remove()
    Net()
    assert seen == ["weight", "bias", "lin", "w", "b", "passing"]


def test_overridden_state():
    class Old(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.plain = nn.Parameter(sg.ones(2)), sg.ones(2)

        def _load_from_state_dict(self, state_dict, prefix, *rest):
            state_dict[prefix + "w"] = state_dict.pop(prefix + "former")
            super()._load_from_state_dict(state_dict, prefix, *rest)

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "more"] = self.plain

        def _apply(self, fn, recurse=True):
            super()._apply(fn, recurse)
            self.plain = fn(self.plain)
            return self

    net = nn.Sequential(Old())
    given = {"0.former": sg.zeros(2)}
    assert repr(net.load_state_dict(given)) == "<All keys matched successfully>"
    assert list(given) == ["0.former"]
    assert net[0].w.tolist() == [0, 0]
    assert list(net.state_dict()) == ["0.w", "0.more"]
    net.double()
    assert net[0].plain.dtype == net[0].w.dtype == sg.float64


def test_views_are_copied_together():
    x = sg.zeros(4)
    a, first, square = copy.deepcopy([x, x[:2], x.view(2, 2)])
    first[0] = 5
    assert a.tolist() == [5, 0, 0, 0]
    assert square.tolist() == [[5, 0], [0, 0]]
    assert x.tolist() == [0, 0, 0, 0]
    again, part = copy.deepcopy([a, first])
    part[1] = 6
    assert again.tolist() == [5, 6, 0, 0]
    turned = copy.deepcopy(sg.arange(6.0).view(2, 3).t())
    assert turned.stride() == (1, 3)


def test_a_gradient_is_deleted():
    p = nn.Parameter(sg.ones(2))
    (p * 2).sum().backward()
    del p.grad
    assert p.grad is None


def test_a_parameter_may_have_the_name_of_a_property_without_a_value():
    class Curved(nn.Module):
        """As geoopt has it: the property reads what is not there yet."""

        @property
        def k(self):
            return -self.c

        def __init__(self):
            super().__init__()
            self.k = nn.Parameter(sg.ones(1))
            self.c = self._parameters.pop("k") * 2

    assert Curved().k.item() == -2.0
