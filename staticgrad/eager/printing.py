"""The text of an array, as PyTorch prints tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Options:
    """How tensors are printed."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = Options()
PROFILES = {
    "default": Options(),
    "short": Options(precision=2, edgeitems=2),
    "full": Options(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None, linewidth: int | None = None,
    profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """How tensors are printed: digits after the point, elements from which on they are summarized, elements at each end,
    characters of a line, whether in scientific notation (None: where numbers ask for it). profile: "default", "short", "full".
    """
    if profile is not None:
        chosen = PROFILES[profile]
        options.precision, options.threshold = chosen.precision, chosen.threshold
        options.edgeitems, options.linewidth = chosen.edgeitems, chosen.linewidth
    for name, value in (
        ("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems), ("linewidth", linewidth),
    ):  # fmt: skip
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


class _Format:
    """How the elements of an array are written: all in one form and width."""

    def __init__(self, values: np.ndarray):
        self.floating = values.dtype.kind == "f"
        self.whole = True
        self.scientific = False
        self.width = 1
        if not self.floating:
            self.width = max([self.width, *(len(str(v)) for v in values.reshape(-1))])
            return
        finite = values[np.isfinite(values) & (values != 0)].astype(np.float64)
        if not finite.size:
            if options.sci_mode:
                self.scientific = True
            return
        size = np.abs(finite)
        low, high = float(size.min()), float(size.max())
        self.whole = bool((finite == np.ceil(finite)).all())
        if self.whole:
            self.scientific = high / low > 1000.0 or high > 1.0e8
        else:
            self.scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if options.sci_mode is not None:
            self.scientific = options.sci_mode
        self.width = max(len(self._plain(v)) for v in finite)

    def _plain(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        number = float(value)
        if self.scientific:
            return f"{number:.{options.precision}e}"
        if not math.isfinite(number):
            return f"{number}"
        return f"{number:.0f}." if self.whole else f"{number:.{options.precision}f}"

    def text(self, value: Any) -> str:
        return self._plain(value).rjust(self.width)


class _ComplexFormat:
    """How complex numbers are written: both parts in forms of their own."""

    def __init__(self, values: np.ndarray):
        self.parts = _Format(values.real), _Format(values.imag)
        self.width = self.parts[0].width + self.parts[1].width + 1

    def text(self, value: Any) -> str:
        re, im = self.parts[0].text(value.real), self.parts[1].text(value.imag).lstrip()
        return f"{re}{im}j" if im[0] in "+-" else f"{re}+{im}j"


Form = _Format | _ComplexFormat


def _vector(values: np.ndarray, indent: int, form: Form, summarize: bool) -> str:
    edge = options.edgeitems
    per_line = max(1, math.floor((options.linewidth - indent) / (form.width + 2)))
    if summarize and len(values) > 2 * edge:
        texts = [form.text(v) for v in values[:edge]] + [" ..."] + [form.text(v) for v in values[len(values) - edge :]]
    else:
        texts = [form.text(v) for v in values]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _text(values: np.ndarray, indent: int, form: Form, summarize: bool) -> str:
    if values.ndim == 0:
        return form.text(values[()])
    if values.ndim == 1:
        return _vector(values, indent, form, summarize)
    edge = options.edgeitems
    if summarize and len(values) > 2 * edge:
        parts = [_text(v, indent + 1, form, summarize) for v in values[:edge]] + ["..."]
        parts += [_text(v, indent + 1, form, summarize) for v in values[len(values) - edge :]]
    else:
        parts = [_text(v, indent + 1, form, summarize) for v in values]
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _ends(values: np.ndarray) -> np.ndarray:
    """The elements that a summary shows."""
    edge = options.edgeitems
    for axis, extent in enumerate(values.shape):
        if extent > 2 * edge:
            places = [*range(edge), *range(extent - edge, extent)]
            values = np.take(values, places, axis)
    return values


def array_text(values: np.ndarray, indent: int) -> str:
    """The elements of an array as PyTorch writes them, its later lines indented."""
    if not values.size:
        return "[]"
    summarize = values.size > options.threshold
    values = values.astype(np.float32) if values.dtype.kind == "V" else values
    shown = _ends(values) if summarize else values
    form = _ComplexFormat(shown) if values.dtype.kind == "c" else _Format(shown)
    return _text(values, indent, form, summarize)


def tensor_text(values: np.ndarray, notes: list[str], name: str = "tensor") -> str:
    """`tensor(...)`, with notes (dtype, grad_fn) on the last line, or on one of their own where they don't fit."""
    prefix = f"{name}("
    text = prefix + array_text(values, len(prefix))
    if not values.size and values.shape != (0,):
        notes = [f"size={tuple(values.shape)}", *notes]
    width = len(text) - text.rfind("\n") + 1  # as PyTorch counts
    for note in notes:
        if width + len(note) + 2 > options.linewidth:
            text += ",\n" + " " * len(prefix) + note
            width = len(prefix) + len(note)
        else:
            text += ", " + note
            width += len(note) + 2
    return text + ")"


__all__ = ["set_printoptions", "tensor_text"]
