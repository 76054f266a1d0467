"""Programs that change views in place, made of every combination of a few lines. `m` is staticgrad or PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

BASES = {
    "leaf": "b = x",
    "result": "b = x * 2",
    "plain": "b = m.tensor([5.0, 6.0, 7.0, 8.0])",
    "detached": "b = (x * 2).detach()",
    "alias": "r = x * 2\nb = r.detach()",
    "unrecorded result": "with m.no_grad():\n    b = x * 2",
}
VIEWS = {
    "slice": "v = b[1:3]",
    "element": "v = b[1]",
    "shape": "v = b.view(2, 2)",
    "part": "v = b.split(2)[1]",
    "view of a view": "c = b.view(2, 2)\nv = c[1]",
    "detached": "v = b.detach()",
    "data": "v = b.data",
}
UNRECORDED = {
    **{f"{name}, unrecorded": "with m.no_grad():\n    " + text.replace("\n", "\n    ") for name, text in VIEWS.items()},
    "unrecorded view of a view": "c = b.view(2, 2)\nwith m.no_grad():\n    v = c[1]",
    "view of an unrecorded view": "with m.no_grad():\n    c = b.view(2, 2)\nv = c[1]",
}
CHANGES = ["{}.mul_(2)", "{}.mul_(w)", "{}[...] = 3.0", "{}[...] = w", "{}.zero_()", "{} += w * w"]
KEPT = [("", ""), ("b.retain_grad()", ""), ("v.retain_grad()", ""), ("", "b.retain_grad()"), ("", "v.retain_grad()")]
LOSSES = {
    "b": "loss = (b * b).sum() + w",
    "v": "loss = (v * v).sum() + w",
    "both": "loss = (b * b).sum() + (v * v).sum() * 3 + w",
    "another view": "loss = (o * o).sum() + (b * 3).sum() + w",
}


class ViewProgram(NamedTuple):
    """lines: statements. unrecorded_view, unrecorded_change: made under `no_grad`."""

    lines: tuple[str, ...]
    unrecorded_view: bool
    unrecorded_change: bool

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def programs() -> Iterator[ViewProgram]:
    views = {**VIEWS, **UNRECORDED}
    for base, view, change, target, quiet, (before, after), loss in itertools.product(
        BASES.values(), views, CHANGES, "bvo", (False, True), KEPT, LOSSES
    ):
        changes = change.format(target)
        another = "o = b[2:]" if target == "o" or loss == "another view" else ""
        parts = [
            *_statements(base),
            another,
            *_statements(views[view]),
            before,
            f"with m.no_grad():\n    {changes}" if quiet else changes,
            after,
            LOSSES[loss],
            "loss.backward()",
        ]
        yield ViewProgram(tuple(part for part in parts if part), view in UNRECORDED, quiet)


def _statements(text: str) -> list[str]:
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith(" "):
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


class Outcome(NamedTuple):
    """error: (the statement, what was raised); values and flags of tensors, and gradients, by name."""

    error: tuple[str, Exception] | None
    values: Mapping[str, Any]
    flags: Mapping[str, Any]
    grads: Mapping[str, Any]


def run(m: Any, program: ViewProgram) -> Outcome:
    names = leaves(m)
    error = None
    for line in program.lines:
        try:
            exec(line, names)
        except Exception as raised:  # one of staticgrad's or of PyTorch's, to be compared
            error = line, raised
            break
    known = [name for name in "bvoc" if name in names]
    values = {name: array(names[name]) for name in known}
    if error is not None:
        return Outcome(error, values, {}, {})
    flags = {}
    for name in known:
        try:
            flags[name] = names[name].requires_grad, names[name].is_leaf
        except RuntimeError:  # PyTorch refuses to look at some views
            flags[name] = None
    return Outcome(None, values, flags, {name: _grad(names[name]) for name in ("x", "w", "b", "v")})


def leaves(m: Any) -> dict[str, Any]:
    x, w = m.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True), m.tensor(1.5, requires_grad=True)
    return {"m": m, "x": x, "w": w}


def array(x: Any) -> list[float]:
    return np.asarray(x.detach().numpy(), np.float64).round(4).tolist()


def _grad(x: Any) -> Any:
    """None for a gradient of zeros as well: no gradient at all is one."""
    try:
        found = None if not (x.is_leaf or x.retains_grad) or x.grad is None else array(x.grad)
    except RuntimeError:
        return None
    return found if np.any(found) else None
