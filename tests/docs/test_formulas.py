"""Formulas of docstrings as MathML: what is one, and what it becomes."""
# ruff: noqa: RUF001 (signs of mathematics look like letters)

from __future__ import annotations

import re

import pytest

from tools.example_runs import reference

NAMES = {"input", "lr", "weight_decay"}


def words(text: str) -> str:
    """MathML without its tags; blocks on lines of their own."""
    return re.sub(r"<[^>]+>", "", text.replace("</math>", "</math>\n")).strip()


@pytest.mark.parametrize(
    ("doc", "tag", "plain"),
    [
        ("1 / sqrt(input).", "<mfrac><mn>1</mn><msqrt><mi>input</mi></msqrt></mfrac>", "1input"),
        ("m = beta1 m + (1 - beta1) g.", "<msub><mi>β</mi><mn>1</mn></msub>", "m=β1m+(1−β1)g"),
        ("p - lr g.", "<mi>lr</mi>", "p−lrg"),
        ("input**2 - |input|.", "<msup><mi>input</mi><mn>2</mn></msup>", "input2−|input|"),
        ("x @ weight.T + bias.", "<msup><mi>weight</mi><mi>T</mi></msup>", "x@weightT+bias"),
        ("Density exp(-|z|) / (2 scale).", "<mfrac>", "p(x)=exp\u2061(−|z|)2scale"),
        ("Density in proportion to x^(a - 1).", "<mo>∝</mo>", "p(x)∝xa−1"),
        ("||input||_p along `dim`.", "<msub>", "‖input‖p"),
    ],
)
def test_a_formula_is_typeset(doc: str, tag: str, plain: str):
    shown = reference.typeset(doc, NAMES)
    assert tag in shown
    assert words(shown.replace("&#x2061;", "\u2061")).splitlines()[0] == plain


@pytest.mark.parametrize(
    "doc",
    [
        "The sum of a and b.",
        "x itself.",
        "Rows of weight by index.",
        "lr times a half.",
        "A tensor = what holds numbers.",
        "",
        "sum(",
        "a ^",
    ],
)
def test_words_are_no_formula(doc: str):
    assert reference.typeset(doc, NAMES) == doc


def test_the_words_after_a_formula_stay():
    shown = reference.typeset("a = b + 1;  c = a^2. Raises nothing. c = a is no formula here.", ())
    assert shown.count("<math") == 2
    assert shown.endswith("</div>\n\nRaises nothing. c = a is no formula here.")


def test_parameters_have_what_the_description_says_or_what_their_names_mean():
    def function(dim, alpha, weight_decay=0, *args, **kwargs): ...

    shown = reference.described_with_parameters(function, "Some words. alpha: how steep it is; None: not at all.")
    assert shown.endswith(f"Args:\n    dim: {reference.meanings()['dim']}\n    alpha: how steep it is\n    weight_decay: "
                          f"{reference.meanings()['weight_decay']}")  # fmt: skip


def test_a_star_is_a_star():
    assert reference.plain("x**2 * y, `a * b`") == r"x\*\*2 \* y, `a * b`"
