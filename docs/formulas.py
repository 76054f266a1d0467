"""Formulas in docstrings, typeset as MathML when the site is built: no script, no font, and the source stays plain text.

A docstring's formula is arithmetic as one writes it by hand: `m = beta1 m + (1 - beta1) g;  v / sqrt(m + eps)`. Factors
stand side by side, `x^2` and `x_i` are raised and lowered, names of Greek letters are these letters.
"""
# ruff: noqa: RUF001 (signs of mathematics look like letters and quotes)

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "eta": "η", "theta": "θ",
    "lambda": "λ", "lambd": "λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "psi": "ψ", "omega": "ω", "Gamma": "Γ",
}  # fmt: skip
FUNCTIONS = {
    "Im", "Re", "acos", "asin", "atan", "ceil", "clamp", "conj", "cos", "cosh", "det", "diag", "erf", "erfc", "exp",
    "expm1", "floor", "i0", "log", "log1p", "log2", "max", "mean", "min", "norm", "outer", "relu", "rms", "sigmoid",
    "sign", "sin", "sinh", "softmax", "sum", "tan", "tanh", "trace", "tril", "triu", "var",
}  # fmt: skip
WORDS = {"bias", "input", "key", "loc", "mask", "mean", "other", "query", "scale", "target", "value", "var", "weight"}
"""Further words that stand for numbers in formulas."""
TOKEN = re.compile(
    r"\s*(\d+(?:\.\d+)?(?:e-?\d+)?|[A-Za-z](?:_?[A-Za-z0-9])*|<=|>=|==|\*\*|\|\||\.[TH]\b|[-+*/^=<>@(),|\[\]'_])"
)
RELATIONS = {"=": "=", "<": "<", ">": ">", "<=": "≤", ">=": "≥", "==": "="}


class NoFormula(Exception):
    """The text is none."""


def tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise NoFormula(text[at:])
        found.append(match[1])
        at = match.end()
    return found


class Parser:
    """Recursive descent; each method returns MathML. names: words that stand for numbers."""

    def __init__(self, text: str, names: Collection[str]):
        self.tokens, self.at, self.names = tokens(text), 0, names
        self.signs = 0  # what makes it more than words

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.next
        if not token or (expected and token not in expected):
            raise NoFormula(token)
        self.at += 1
        return token

    def relation(self) -> str:
        parts = [self.sum()]
        while self.next in RELATIONS:
            self.signs += 1
            parts += [f"<mo>{escape(RELATIONS[self.take()])}</mo>", self.sum()]
        return row(parts)

    def sum(self) -> str:
        parts = []
        if self.next in ("-", "+"):
            parts.append(operator(self.take()))
        parts.append(self.product())
        while self.next in ("+", "-"):
            self.signs += 1
            parts += [operator(self.take()), self.product()]
        return row(parts)

    def product(self) -> str:
        """Quotients bind a sequence of factors on the left: `a b / c` is (a b) / c."""
        factors = [self.power()]
        while True:
            if self.next == "/":
                self.take()
                self.signs += 1
                factors = [f"<mfrac>{row(map(bare, factors))}{bare(self.power())}</mfrac>"]
            elif self.next in ("*", "@"):
                self.signs += 1
                factors += [f"<mo>{'⋅' if self.take() == '*' else '@'}</mo>", self.power()]
            elif re.match(r"[A-Za-z0-9(]", self.next):
                factors += ["<mspace width='0.17em'/>", self.power()]
            else:
                return row(factors)

    def power(self) -> str:
        base = self.atom()
        while self.next in ("^", "**"):
            self.take()
            self.signs += 1
            sign = operator(self.take()) if self.next == "-" else ""
            base = f"<msup>{row([base])}{row([sign, bare(self.atom())])}</msup>"
        return base

    def atom(self) -> str:
        token = self.take()
        if token == "(":
            return f"<mrow><mo>(</mo>{self.items(')')}<mo>)</mo></mrow>"
        if token in ("|", "||"):
            self.signs += 1
            bar = {"|": "|", "||": "‖"}[token]
            inside = self.sum()
            self.take(token)
            found = f"<mrow><mo>{bar}</mo>{inside}<mo>{bar}</mo></mrow>"
            if self.next == "_":
                self.take()
                found = f"<msub>{found}{self.name(self.take())}</msub>"
            return found
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if not token[0].isalpha():
            raise NoFormula(token)
        if self.next == "(" and (token == "sqrt" or token in FUNCTIONS or len(token) == 1):
            self.signs += 1
            self.take()
            inside = self.items(")")
            if token == "sqrt":
                return f"<msqrt>{inside}</msqrt>"
            return f"<mrow><mi>{token}</mi><mo>&#x2061;</mo><mo>(</mo>{inside}<mo>)</mo></mrow>"
        name = self.name(token)
        if self.next == "[":
            self.take()
            name = f"<msub>{name}{row([self.items(']')])}</msub>"
            self.signs += 1
        while self.next in ("'", ".T", ".H"):
            mark = {"'": "<mo>′</mo>", ".T": "<mi>T</mi>", ".H": "<mi>H</mi>"}[self.take()]
            name = f"<msup>{name}{mark}</msup>"
        return name

    def items(self, end: str) -> str:
        parts = [self.relation()]
        while self.next == ",":
            self.take()
            parts += ["<mo>,</mo>", self.relation()]
        self.take(end)
        return row(parts)

    def name(self, token: str) -> str:
        if match := re.fullmatch(r"([A-Za-z]+?)(?:_?(\d+)|_([a-z]))?", token):
            letters, index = match[1], match[2] or match[3]
            if letters in GREEK or len(letters) == 1:
                letter = f"<mi>{GREEK.get(letters, letters)}</mi>"
                if index is None:
                    return letter
                kind = "mn" if index.isdigit() else "mi"
                return f"<msub>{letter}<{kind}>{index}</{kind}></msub>"
        if token in self.names or token in WORDS:
            return f"<mi>{token}</mi>"
        raise NoFormula(token)


def row(parts: object) -> str:
    listed = [part for part in parts if part]  # type: ignore[attr-defined]
    return listed[0] if len(listed) == 1 else f"<mrow>{''.join(listed)}</mrow>"


def bare(part: str) -> str:
    """What parentheses hold, where a line above or below does their work."""
    match = re.fullmatch(r"<mrow><mo>\(</mo>(.*)<mo>\)</mo></mrow>", part)
    whole = match is not None and "<mo>(</mo>" not in match[1]
    return f"<mrow>{match[1]}</mrow>" if match is not None and whole else part


def operator(sign: str) -> str:
    return f"<mo>{'−' if sign == '-' else sign}</mo>"


def formula(text: str, names: Collection[str]) -> str | None:
    """MathML of a text that is a formula of these names; None for another text."""
    try:
        parser = Parser(text, names)
        found = parser.relation()
    except NoFormula:
        return None
    return found if parser.at == len(parser.tokens) and parser.signs else None


ENDS = re.compile(r"[.;:](?=\s|$)|, (?=[a-z0-9(])|\s(?=for |where |with |without |along |over |of |if |in |from |elementwise)")
DENSITY = re.compile(r"Density (in proportion to )?")


def typeset(doc: str, names: Collection[str]) -> str:
    """A docstring that begins with formulas, with these as blocks of MathML on top."""
    rest, blocks, sign = doc, [], ""
    density = DENSITY.match(doc)
    if density:
        rest = doc[density.end() :]
    while True:
        ends = list(ENDS.finditer(rest))[:12]
        for end in reversed(ends):
            found = formula(" ".join(rest[: end.start()].split()), names)
            if found is not None:
                if density and not blocks:
                    found = f"<mrow><mi>p</mi><mo>(</mo><mi>x</mi><mo>)</mo><mo>{'∝' if density[1] else '='}</mo>{found}</mrow>"
                blocks.append(f'<math display="block" xmlns="http://www.w3.org/1998/Math/MathML">{found}</math>')
                sign = end[0].strip()
                rest = rest[end.end() :].lstrip() if sign else rest[end.start() :].lstrip()
                break
        else:
            break
        if sign != ";":
            break
    if not blocks:
        return doc
    shown = "\n".join(blocks)
    if sign in (".", ";") and re.match(r"[a-z]{2,} (?!=)", rest):
        rest = rest[:1].upper() + rest[1:]
    return f'<div class="formula">\n{shown}\n</div>\n\n{rest}'.rstrip()
