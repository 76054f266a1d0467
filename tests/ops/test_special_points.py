"""Elementwise functions at special points: beside PyTorch, and in every mode beside eager mode."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.ops import special_points as table
from tests.ops.modes import MODES, eager, segments, slopes

V, G, G2 = "value", "gradient", "second gradient"

ROUNDED: dict[str, tuple[str, ...]] = {
    "an intermediate result overflows or vanishes, in one of them": (
        *(f"expm1/1 {G}", f"expm1/1 {G2}", f"ldexp/2 {G}", f"ldexp/2 {G2}", f"i0/1 {V}", f"i0/1 {G}", f"special.i1/1 {V}"),
        *(f"functional.gelu/1 {V}", f"functional.hardswish/1 {V}", f"functional.logsigmoid/1 {G2}", f"logit/1 {G2}"),
        *(f"special.modified_bessel_i0/1 {V}", f"special.modified_bessel_i1/1 {V}", f"special.ndtr/1 {V}", f"sinc/1 {G}"),
    ),
    "both cancel digits": (
        *(f"functional.softsign/1 {G}", f"functional.softsign/1 {G2}", f"special.erfcx/1 {G}", f"special.erfcx/1 {G2}"),
        *(f"special.i0e/1 {G}", f"special.i0e/1 {G2}", f"special.i1e/1 {G}", f"special.i1e/1 {G2}", f"special.i1/1 {G2}"),
        f"logaddexp2/2 {V}",
    ),
}
CHOSEN: dict[str, tuple[str, ...]] = {
    "NaN there, from infinity minus infinity or 0 / 0 in its formula": (
        *(f"{name} {G2}" for name in ("addcdiv/3", "arcsinh/1", "arctan2/2", "arctanh/1", "digamma/1", "erf/1", "erfc/1")),
        *(f"{name} {G2}" for name in ("float_power/2", "hypot/2", "pow/2", "sinc/1", "special.ndtr/1")),
        *(f"functional.{name}/1 {G2}" for name in ("gelu", "mish")),
        *(f"copysign/2 {G}", f"copysign/2 {G2}", f"hypot/2 {G}", f"arctan2/2 {G}", f"special.zeta/2 {V}"),
    ),
    "beyond the quotients that float32 holds": (f"fmod/2 {V}", f"remainder/2 {V}"),
    "SciPy's values are nearer to the exact ones": (
        *(f"special.{name}/1 {V}" for name in ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")),
        *(f"special.chebyshev_polynomial_{kind}/2 {V}" for kind in "vw"),
        *(f"special.log_ndtr/1 {G}", f"special.log_ndtr/1 {G2}"),
    ),
    "infinite at poles, where PyTorch rounds them to large numbers": (f"digamma/1 {G}", f"lgamma/1 {G2}"),
    "NaN of NaN": (
        *(f"igamma/2 {V}", f"igammac/2 {V}", f"i0/1 {G2}", f"special.i1/1 {G}"),
        *(f"special.{name}/2 {V}" for name in ("chebyshev_polynomial_u", "laguerre_polynomial_l", "legendre_polynomial_p")),
        *(f"special.shifted_chebyshev_polynomial_{kind}/2 {V}" for kind in "tuw"),
    ),
    "at NaN PyTorch's own loops differ from each other": (
        *(f"functional.{name}/1 {G}" for name in ("celu", "elu", "hardshrink", "hardsigmoid", "hardswish", "relu6", "selu")),
        *(f"functional.{name}/1 {G2}" for name in ("celu", "elu", "hardswish", "selu")),
    ),
    "the second derivative at the threshold is that from below": (f"functional.softplus/1 {G2}",),
}
UNKNOWN_FIRST = {"igamma/2", "igammac/2", "special.zeta/2"}
"""Functions whose derivative by the first operand is an error, as in PyTorch."""
KNOWN, FIXED = (frozenset(key for keys in reasons.values() for key in keys) for reasons in (ROUNDED | CHOSEN, CHOSEN))
"""Results that differ at some point; and those that always do, however they are rounded."""

DIGITS = {
    **dict.fromkeys(("special.erfcx/1", "tanh/1", "functional.tanh/1"), (f"{G} 0", f"{G2} 0, 0")),
    **dict.fromkeys(("special.i1e/1", "special.log_ndtr/1", "functional.mish/1", "functional.tanhshrink/1"), (f"{G2} 0, 0",)),
    "hypot/2": tuple(f"{G2} {i}, {j}" for i in (0, 1) for j in (0, 1)),
}
BETWEEN_MODES = {
    "logit/2 gradient 0": "plans may drop the sign of a zero, here that of a bound",
    **dict.fromkeys((f"{name} {part}" for name, parts in DIGITS.items() for part in parts), "it cancels digits"),
}


def differences(torch: Any, call: table.Call, dtype: str) -> dict[str, str]:
    """By name and kind of result, what differs from PyTorch's; no gradient is one of 0."""
    try:
        theirs, mine = call.of(torch), call.of(sg)
    except AttributeError:
        return {}
    arrays = table.points(call.operands, dtype)
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]

    def their_gradient(y: Any, xs: Any, cotangent: np.ndarray, again: bool) -> Any:
        return torch.autograd.grad(y, xs, torch.tensor(cotangent), create_graph=again, retain_graph=True, allow_unused=True)

    def my_gradient(y: Any, xs: Any, cotangent: np.ndarray, again: bool) -> Any:
        return sg.grad(y, xs, sg.tensor(cotangent), create_graph=again, retain_graph=True, allow_unused=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = table.parts(their_gradient, theirs, leaves)
        except (TypeError, RuntimeError, ValueError):
            return {}
        if expected["value", ()].shape != arrays[0].shape:
            return {}
        found = table.parts(my_gradient, mine, [sg.tensor(a, requires_grad=True) for a in arrays])
    different = {}
    zeros = np.zeros_like(found["value", ()])
    for key, value in expected.items():
        ours = found.get(key, zeros)
        places = ~table.same(ours, value)
        if places.any():
            text = table.told(places, arrays, ours, value)
            different[f"{call} {key[0]}"] = f"{call} {key[0]} {dtype} {key[1]}: {places.sum()} {text}"
    return different


@pytest.mark.oracle
def test_values_and_gradients_are_pytorchs(torch: Any):
    found: dict[str, str] = {}
    for call in table.calls():
        for dtype in ("float32", "float64"):
            found.update(differences(torch, call, dtype))
    wrong = [text for key, text in found.items() if key not in KNOWN]
    assert not wrong, "\n".join(wrong)
    assert not sorted(FIXED - found.keys()), "these agree now"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operands", [1, 2, 3])
@pytest.mark.parametrize("mode", [*MODES, "segments"])
def test_every_mode_has_the_values_and_gradients_of_eager_mode(
    request: pytest.FixtureRequest, mode: str, operands: int, dtype: str
):
    """NumPy runs the plans of segments, whose kernels have the operations of the compiled function's."""
    if mode == "segments":
        request.getfixturevalue("interpreted")
    chosen = [call for call in table.calls() if call.operands == operands]
    arrays = table.points(operands, dtype)

    def program(*xs: Any) -> Iterator[Any]:
        values = [call.of(sg)(*([sg.stop_gradient(xs[0]), *xs[1:]] if str(call) in UNKNOWN_FIRST else xs)) for call in chosen]
        yield from values
        first = [g for value in values for g in slopes(value, xs)]
        yield from first
        for g in first:
            yield from slopes(g, xs)

    with np.errstate(all="ignore"):
        found, expected = {**MODES, "segments": segments}[mode](program, arrays), eager(program, arrays)
    names = [f"{call} {V}" for call in chosen]
    names += [f"{call} {G} {i}" for call in chosen for i in range(operands)]
    names += [f"{call} {G2} {i}, {j}" for call in chosen for i in range(operands) for j in range(operands)]
    wrong = []
    for name, a, b in zip(names, found, expected, strict=True):
        places = ~table.same(a, b)
        if places.any() and name not in BETWEEN_MODES:
            wrong.append(f"{name}: {places.sum()} {table.told(places, arrays, a, b)}")
    assert not wrong, "\n".join(wrong)
