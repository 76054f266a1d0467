"""TensorFlow 1's functions at ties, kinks, ends of their domains, infinities and NaN, beside what TensorFlow gives."""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.compat.tf1 as tf
from tests.ops import tf1_special_points as table

G, ZERO, SECOND = "gradient by 0", "gradient of 0 by 0", "second gradient by 0"

DIFFERENT: dict[str, tuple[str, ...]] = {
    "of NaN the gradient of `abs` is 0 here, that of `relu` passes, those of extrema are shared": (
        *(f"{name}: {kind}" for name in ("abs", "absolute_difference", "reduce_max with NaN") for kind in (G, ZERO)),
        *(f"huber_loss: {kind}" for kind in (G, ZERO, SECOND)),
        *(f"{name}: {G}" for name in ("nn.relu", "nn.relu6", "hinge_loss")),
    ),
    "0 / 0 or 0 times infinity there": (
        *(f"atan2: {kind} by {place}" for kind in ("gradient", "gradient of 0", "second gradient") for place in (0, 1)),
        *("math.xdivy: second gradient by 1", f"reduce_euclidean_norm of zeros: {ZERO}"),
        *(f"reduce_std of equal numbers: {kind}" for kind in (G, SECOND)),
        *("erf: value", f"lgamma: {G}", "digamma: value", f"digamma: {SECOND}"),
    ),
    "second gradients of values that are equal: NaN here, 0 there": (
        *(f"{name}: {SECOND}" for name in ("self_adjoint_eigvals", "svd", "where does not keep out log")),
    ),
    "TensorFlow has none": (f"nn.softsign: {SECOND}",),
    "TensorFlow leaves out products with a factor of 0": (f"reduce_prod: {SECOND}", f"cumprod: {G}", f"cumprod: {SECOND}"),
}
KNOWN = frozenset(name for names in DIFFERENT.values() for name in names)
"""Results that differ at some point."""


@functools.cache
def expected() -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = json.loads(table.RESULTS.read_text())
    return found


def differences(name: str, found: dict[str, list[float]], expected: dict[str, list[float]]) -> dict[str, str]:
    """By name and kind of result, what differs; a gradient that does not exist is one of 0."""
    different = {}
    for key in found.keys() | expected.keys():
        some = np.array(found.get(key, expected.get(key)))
        a, b = (np.array(results.get(key, np.zeros_like(some))) for results in (found, expected))
        with np.errstate(all="ignore"):
            places = ~np.isclose(a, b, rtol=1e-6, atol=1e-12, equal_nan=True)
        if places.any():
            few = np.flatnonzero(places)[:6]
            different[f"{name}: {key}"] = f"{name}: {key}: {[(int(i), float(a[i]), float(b[i])) for i in few]}"
    return different


@pytest.mark.parametrize("numerics", ["fast", "strict"])
def test_values_and_gradients_are_tensorflows(numerics: str):
    found: dict[str, str] = {}
    for name in table.CASES:
        mine = table.results(tf, name, lambda: tf.Session.over(sg.Session(numerics=numerics)))
        found.update(differences(name, mine, expected()[name]))
    wrong = [text for key, text in found.items() if key not in KNOWN]
    assert not wrong, "\n".join(wrong)
    assert not sorted(KNOWN - found.keys()), "these agree now"


@pytest.mark.oracle
def test_what_is_expected_is_what_tensorflow_gives():
    theirs: Any = pytest.importorskip("tensorflow.compat.v1")
    theirs.disable_eager_execution()
    wrong = [
        text
        for name in table.CASES
        for text in differences(name, table.results(theirs, name, theirs.Session), expected()[name]).values()
    ]
    assert not wrong, "\n".join(wrong)
