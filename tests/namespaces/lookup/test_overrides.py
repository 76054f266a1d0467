"""`torch.overrides`: questions about `__torch_function__`, and calls of it."""

from __future__ import annotations

import pytest

import staticgrad as sg


class Taking(sg.Tensor):
    """Has the `__torch_function__` of tensors."""


class Foreign:
    """No tensor."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types, args, kwargs


class Declining:
    """Takes over nothing."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


def test_questions():
    with sg.as_torch() as torch:
        from torch import overrides

        class Silent(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl

        x, taking, foreign, silent = torch.ones(1), Taking([1.0]), Foreign(), Silent([1.0])
        asked = [overrides.has_torch_function_unary(a) for a in (x, taking, foreign, silent, 1, torch.nn.Parameter(x))]
        assert asked == [False, True, True, False, False, False]
        assert overrides.has_torch_function((x, foreign))
        assert overrides.has_torch_function_variadic(x, taking)
        assert [overrides.is_tensor_like(a) for a in (x, taking, foreign, silent, 1)] == [True, True, True, True, False]
        assert overrides.is_tensor_method_or_property(torch.Tensor.sort)
        assert not overrides.is_tensor_method_or_property(max)
        assert overrides.get_default_nowrap_functions() == {torch.Tensor.grad.__get__}
        assert overrides.resolve_name(torch.add) == "torch.add"


def test_calls():
    with sg.as_torch():
        from torch.overrides import handle_torch_function, has_torch_function, wrap_torch_function

        def own(a, b=1):
            if has_torch_function((a,)):
                return handle_torch_function(own, (a,), a, b=b)
            return a, b

        foreign = Foreign()
        assert own(1) == (1, 1)
        assert own(foreign, 2) == ("own", (Foreign,), (foreign,), {"b": 2})
        with pytest.raises(TypeError, match="no implementation found for 'own'"):
            own(Declining())
        wrapped = wrap_torch_function(lambda a: (a,))(lambda a: "plain")
        assert wrapped(1) == "plain"
        assert wrapped(foreign)[1:3] == ((Foreign,), (foreign,))


def test_nobody_is_asked_inside_of_the_context():
    with sg.as_torch() as torch:
        with torch._C.DisableTorchFunctionSubclass():
            assert type(Taking([1.0]) + 1) is torch.Tensor
        assert type(Taking([1.0]) + 1) is Taking
