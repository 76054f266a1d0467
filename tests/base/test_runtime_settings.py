"""PyTorch's switches of the runtime: programs that set and ask them run."""

from __future__ import annotations

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
    assert not sg.set_flush_denormal(True)
    assert not sg.is_storage(sg.ones(1))


def test_warnings_keep_their_switch():
    assert not sg.is_warn_always_enabled()
    sg.set_warn_always(True)
    try:
        assert sg.is_warn_always_enabled()
    finally:
        sg.set_warn_always(False)
