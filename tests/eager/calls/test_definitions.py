"""Public functions are what their definitions say: which calls are cached is said there, and nothing is replaced at import."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager.calls.call_cache import shared
from staticgrad.eager.calls.routes import USES
from staticgrad.eager.calls.signature import join
from staticgrad.operators import F, frontends, routed


def test_no_public_function_is_replaced_at_import():
    """As `ops` made them, before the rooms above it are imported. Methods of modules that are imported later are not there."""
    program = """
        import sys

        before = {}

        def note(event, args):
            if event == "import" and args[0] == "staticgrad.eager.tensor" and not before:
                from staticgrad.ops.operators import NUMPY, SPECIAL, F, Operators
                methods = {name: f for name, f in vars(Operators).items() if type(f).__name__ != "LateMethod"}
                before.update(F=dict(vars(F)), SPECIAL=SPECIAL.entered(), NUMPY=dict(NUMPY), Operators=methods)

        sys.addaudithook(note)
        import staticgrad as sg
        from staticgrad import functional, nn, optim
        from staticgrad.ops.operators import NUMPY, SPECIAL, F, Operators

        now = dict(F=vars(F), SPECIAL=SPECIAL, NUMPY=NUMPY, Operators=vars(Operators))
        print(len(before["F"]), [(k, n) for k in now for n, f in before[k].items() if now[k].get(n) is not f])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    count, _, replaced = done.stdout.strip().partition(" ")
    assert (int(count) > 100, replaced) == (True, "[]"), done.stdout + done.stderr


def test_functions_by_method_are_those_of_eager_methods():
    """Each has a method of its own, which calls the function as it is defined for all else."""
    marked = [function for function in vars(F).values() if function.__code__.co_qualname.startswith("by_method.")]
    assert {function.__name__.rstrip("_") for function in marked} == {*frontends.methods}


@pytest.mark.parametrize("name", sorted(frontends.methods))
def test_functions_by_method_do_what_the_functions_do(name: str):
    function: Callable[..., Any] = getattr(F, name)
    operands = (
        2 if name in ("add", "sub", "mul", "div", "matmul", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum") else 1
    )
    for dtype in (np.float32, np.float64, np.int64):
        xs = [
            sg.tensor(np.arange(1, 10).reshape(3, 3).astype(dtype) / (1 if dtype is np.int64 else 4)) for _ in range(operands)
        ]
        found, right = function(*xs), function.__wrapped__(*xs)  # type: ignore[attr-defined]
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found.numpy(), right.numpy(), rtol=1e-6)


X = sg.ones(2, 3)
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((X,), {}), ((X, 1), {}), ((X, True), {}), ((X, -0.0), {}), ((X, [X, X]), {}), (([X, 1.5, None],), {}), ((X, (0, 1)), {}),
    ((X, (0, True)), {}), ((X, slice(1, None)), {}), ((X,), {"dim": 1}), ((X,), {"dim": (0, 1), "keepdim": True}),
    ((X,), {"other": X}), ((X, "nan", sg.float64), {}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_the_short_form_of_a_signature_is_that_of_join(number: int):
    args, named = CALLS[number]
    calls = []

    def function(*args: Any, **named: Any) -> Any:
        calls.append(args)
        return F.add(X, X)

    routed(function)(*args, **named)
    key: list[Any] = []
    tensors: list[Any] = []
    assert join(args, key, tensors)
    key += named
    assert join(named.values(), key, tensors)
    (found,) = [key[1][2:] for key in shared.everything() if key[0] == USES and key[1][0] is function]
    assert [*found] == key
    assert calls == [args]


LINES = {
    "x * x": 2, "x * w": 2, "x.sum()": 2, "x.flip(0)": 4, "sg.exp(x)": 3, "sg.nn.functional.linear(x, w)": 3,
    "w.grad = None; (x * w).sum().backward()": 10, "(x * w).sum().backward()": 12,
}  # fmt: skip
"""A line, and through how many files of the package and of generated code it passes at most once it is warm."""


def test_warm_lines_pass_few_files():
    program = """
        import sys
        import staticgrad as sg
        from staticgrad.eager.grad_mode import modes

        modes.now._left = 0  # as once the first records have noted their lines
        modes.now._watch()
        x, w = sg.ones(8, 8), sg.ones(8, 8, requires_grad=True)
        for line in sys.argv[1:]:
            code = compile(line, "<line>", "exec")
            with sg.eager_kernels(wait=True):
                for _ in range(20):
                    exec(code)
            files = set()
            sys.settrace(lambda frame, event, argument: files.add(frame.f_code.co_filename))
            exec(code)
            sys.settrace(None)
            print(len(files - {"<line>"}), *sorted(file.rpartition("staticgrad/")[2] for file in files))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *LINES], capture_output=True, text=True, check=False,
        env={**os.environ, "STATICGRAD_EAGER": "kernels"},
    )  # fmt: skip
    found = dict(zip(LINES, done.stdout.splitlines(), strict=True))
    assert {line: files for line, files in found.items() if int(files.split()[0]) > LINES[line]} == {}, done.stderr
