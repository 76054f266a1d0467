"""Hooks of optimizers: what they are called with, and that compiled steps call them too."""

from __future__ import annotations

from typing import Any

import pytest

import staticgrad as sg
from staticgrad import optim


def made(kind: Any = optim.SGD) -> tuple[sg.Tensor, Any]:
    w = sg.ones(2, requires_grad=True)
    return w, kind([w], lr=0.5)


def test_hooks_of_steps():
    w, opt = made()
    calls: list[Any] = []
    before = opt.register_step_pre_hook(lambda o, args, named: calls.append(("before", o is opt, args[1:], named)))
    after = opt.register_step_post_hook(lambda o, args, named: calls.append(("after", w.tolist())))
    w.sum().backward()
    opt.step()
    assert calls == [("before", True, (), {}), ("after", [0.5, 0.5])]
    before.remove()
    after.remove()
    opt.step()
    assert len(calls) == 2
    assert w.tolist() == [0.0, 0.0]


def test_a_hook_replaces_the_arguments():
    w, opt = made(optim.LBFGS)

    def closure() -> sg.Tensor:
        opt.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    opt.register_step_pre_hook(lambda o, args, named: ((o, closure), {}))
    assert opt.step().item() == 2.0
    opt.register_step_pre_hook(lambda o, args, named: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        opt.step()


def test_compiled_steps_call_hooks_that_come_later():
    w, opt = made()

    @sg.compile
    def step() -> sg.Tensor:
        opt.zero_grad()
        loss = w.sum()
        loss.backward()
        opt.step()
        return loss

    def double(*args: Any) -> None:
        w.grad.mul_(2)

    step()
    opt.register_step_pre_hook(double)
    step()
    assert w.tolist() == [-0.5, -0.5]


def test_hooks_of_states():
    w, opt = made()
    calls: list[str] = []
    opt.register_state_dict_pre_hook(lambda o: calls.append("before saving"))
    opt.register_state_dict_post_hook(lambda o, state: {**state, "note": 1})
    opt.register_load_state_dict_pre_hook(lambda o, state: {k: v for k, v in state.items() if k != "note"})
    opt.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    state = opt.state_dict()
    assert state["note"] == 1
    opt.load_state_dict(state)
    assert calls == ["before saving", "loaded"]
