"""Functions and modules of `sg.jit` stay what they are."""

from __future__ import annotations

import pytest

import staticgrad as sg
from staticgrad import jit, nn
from staticgrad.errors import ArgumentError


def test_scripted_and_traced_code_is_the_code_itself():
    net = nn.Linear(2, 1)
    x = sg.ones(3, 2)
    assert jit.script(net) is net
    assert jit.trace(net, (x,)) is jit.trace(net, x) is net
    assert jit.trace_module(net, {"forward": x}) is net
    assert jit.freeze(net.eval()) is net
    with pytest.raises(ArgumentError, match="only implemented for modules in eval mode"):
        jit.freeze(net.train())

    @jit.script
    def positive(x: sg.Tensor) -> sg.Tensor:
        return x if x.sum() > 0 else -x

    assert positive(-x).sum().item() == 6
    assert jit.ignore(positive) is jit.ignore(drop=True)(positive) is jit.export(positive) is positive
    assert jit.wait(jit.fork(positive, x)) is x
    assert not jit.is_scripting()
    assert sg.compile(jit.script(positive))(-x).sum().item() == 6


def test_files_of_torchscript_are_refused():
    with pytest.raises(AttributeError, match=r"sg.save\(module.state_dict\(\), path\) saves it"):
        jit.save(nn.Linear(2, 1), "net.pt")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("quantize_per_tensor_dynamic", "tensors are not quantized"),
        ("sparse_bsr_tensor", "there is one sparse layout"),
        ("cudnn_convolution", "call the function without this prefix"),
        ("hash_tensor", "64 bits without sign"),
    ],
)
def test_names_without_sense_here_say_what_to_write(name, text):
    with pytest.raises(AttributeError, match=text):
        getattr(sg, name)


def test_classes_of_torchscript():
    class Net(jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)

        @jit.script_method
        def forward(self, x):
            return self.layer(x)

    assert Net()(sg.ones(3, 2)).shape == (3, 1)
    assert isinstance(Net(), jit.RecursiveScriptModule)
    assert not isinstance(jit.script(nn.Linear(2, 1)), jit.ScriptModule)
    assert not isinstance(jit.script(lambda x: x), jit.ScriptFunction)
