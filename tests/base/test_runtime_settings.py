"""PyTorch's switches of the runtime: programs that set and ask them run."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg


def test_switches():
    sg.use_deterministic_algorithms(True, warn_only=True)
    sg.set_deterministic_debug_mode("error")
    sg.set_float32_matmul_precision("high")
    sg.set_num_interop_threads(4)
    assert sg.are_deterministic_algorithms_enabled()
    assert not sg.is_deterministic_algorithms_warn_only_enabled()
    assert sg.get_deterministic_debug_mode() == 2
    assert sg.get_float32_matmul_precision() == "highest"
    assert sg.get_num_interop_threads() == 1
    assert not sg.is_storage(sg.ones(1))


@pytest.mark.skipif(not sg.set_flush_denormal(False), reason="this CPU has no such mode")
def test_subnormal_numbers_are_flushed_by_all_threads_of_a_step():
    x = sg.full((1 << 20,), 1e-40)
    halved = sg.compile(lambda x: x * 0.5)
    with sg.Graph().as_default():
        fed = sg.placeholder(sg.float32, [None])
        session = sg.Session()
        in_session = session.make_callable(fed * 0.5, [fed])
    ways = (lambda: x * 0.5), (lambda: halved(x)), (lambda: in_session(x))
    for way in ways:
        assert bool((sg.as_tensor(way()) > 0).all())
    assert sg.set_flush_denormal(True)
    try:
        found = [np.asarray(way()) for way in ways]
    finally:
        assert sg.set_flush_denormal(False)
    for values in found:
        assert not values.any()
    for way in ways:
        assert bool((sg.as_tensor(way()) > 0).all())


def test_warnings_keep_their_switch():
    assert not sg.is_warn_always_enabled()
    sg.set_warn_always(True)
    try:
        assert sg.is_warn_always_enabled()
    finally:
        sg.set_warn_always(False)
