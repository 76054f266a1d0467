"""Devices by name, and the options that every factory of tensors takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import staticgrad as sg
from staticgrad.errors import ArgumentError, DeviceError
from staticgrad.operators import LikePlacement, Options, Placement

FACTORIES: dict[str, tuple[type, tuple[Any, ...]]] = {
    "zeros": (Options, (2,)),
    "ones": (Options, (2,)),
    "empty": (Options, (2,)),
    "empty_strided": (Options, ((2,), (1,))),
    "empty_permuted": (Options, ((2,), (0,))),
    "full": (Placement, ((2,), 1.0)),
    "scalar_tensor": (Options, (1.0,)),
    "eye": (Placement, (2,)),
    "arange": (Placement, (2,)),
    "linspace": (Placement, (0.0, 1.0, 2)),
    "logspace": (Options, (0.0, 1.0, 2)),
    "rand": (Options, (2,)),
    "randn": (Options, (2,)),
    "randint": (Placement, (2, (2,))),
    "randperm": (Placement, (2,)),
    "normal": (Options, (0.0, 1.0, (2,))),
    "zeros_like": (LikePlacement, (sg.ones(2),)),
    "ones_like": (LikePlacement, (sg.ones(2),)),
    "empty_like": (LikePlacement, (sg.ones(2),)),
    "full_like": (LikePlacement, (sg.ones(2), 1.0)),
    "rand_like": (LikePlacement, (sg.ones(2),)),
    "randn_like": (LikePlacement, (sg.ones(2),)),
    "randint_like": (LikePlacement, (sg.ones(2), 2)),
}


@pytest.fixture(params=FACTORIES)
def factory(request: Any) -> tuple[str, type, Callable[..., Any]]:
    name = request.param
    record, args = FACTORIES[name]
    return name, record, lambda **options: getattr(sg, name)(*args, **options)


def test_a_factory_lists_its_options(factory: Any):
    name, record, _ = factory
    parameters = inspect.signature(getattr(sg, name)).parameters
    assert set(record.__annotations__) <= set(parameters)
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())


def test_a_factory_takes_its_options(factory: Any):
    _, record, make = factory
    options = {"device": "cpu", "layout": "strided", "pin_memory": True, "dtype": sg.float64, "requires_grad": True}
    made = make(**{name: value for name, value in options.items() if name in record.__annotations__})
    assert record is not Options or (made.dtype, made.requires_grad) == (sg.float64, True)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"color": 1}, TypeError, r"{name}\(\) got an unexpected keyword argument 'color'"),
        ({"device": "cuda"}, DeviceError, "Torch not compiled with CUDA enabled"),
        ({"layout": "sparse"}, ArgumentError, "{name}: layout has to be strided, got 'sparse'"),
    ],
)
def test_a_factory_refuses_other_options(factory: Any, options: dict[str, Any], error: type, text: str):
    name, _, make = factory
    with pytest.raises(error, match=text.format(name=name)):
        make(**options)
