"""Totals of PyTorch's operator samples by dtype and mode.

    python -m tests.ops.torch_totals [--dtypes complex64 ...] [--modes eager compiled graph] [--order 2] [--samples 2]
                                     [--ops fft.fft ...] [--list] [--page]

An op agrees where no sample of a dtype differs in values or in gradients up to `--order`, which are compared in float64,
complex128 and 16 bits. Ops of `test_torch_ops.KNOWN` are left out, and for order 2 those whose second gradient PyTorch does not
have. What a mode can't have is counted as refused: a graph has no results whose extents depend on values, say. With `--list`,
differences are printed; with `--page`, `docs/numerics.md` gets the totals.
"""

from __future__ import annotations

import argparse
import faulthandler
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import staticgrad as sg
from staticgrad.operators import Symbol
from tests.ops import test_torch_ops, torch_samples

REFUSALS = (
    "not changed in place",
    "only variables have a value to change",
    "TraceError",
    "DataDependentError",
    "NeedsValue",
    "UnknownExtentError",
    "NoGraphError",
)
PAGE = Path(__file__).parents[2] / "docs" / "numerics.md"
HEADING = "| samples | eager | compiled | graph |\n|---|---|---|---|\n"
COLUMNS = ("eager", "compiled", "graph")


class Compiled(torch_samples.Mode):
    def function(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return sg.compile(fn)


class InGraph(torch_samples.Mode):
    """Tensors are fed to a session."""

    graph: Any
    feeds: dict[Any, Any]

    def fed(self, value: Any) -> Any:
        """The same with placeholders in the place of tensors."""
        if isinstance(value, sg.Tensor):
            return self.leaf(value)
        if isinstance(value, dict):
            return {k: self.fed(v) for k, v in value.items()}
        return type(value)(map(self.fed, value)) if type(value) in (list, tuple) else value

    def function(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            with self.around():
                out = fn(*self.fed(list(args)), **self.fed(named))
                values = iter(self.values(torch_samples.tensors(sg.Tensor, out)))

            def given(value: Any) -> Any:
                if isinstance(value, (list, tuple)):
                    return (list if isinstance(value, list) else tuple)(map(given, value))
                return next(values) if isinstance(value, sg.Tensor) else value

            return given(out)

        return call

    def differentiated(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn

    @contextmanager
    def around(self) -> Iterator[None]:
        self.graph, self.feeds = sg.Graph(), {}
        with self.graph.as_default():
            yield

    def leaf(self, x: Any) -> Any:
        holder = sg.placeholder(x.dtype, list(x.shape))
        self.feeds[holder] = x.detach().numpy()
        return holder

    def smooth(self, x: Any) -> bool:
        return isinstance(x, Symbol)

    def grad(self, results: list[Any], leaves: list[Any], weights: list[Any], again: bool) -> Sequence[Any]:
        return sg.gradients(results, leaves, weights)

    def values(self, found: Sequence[Any]) -> Sequence[Any]:
        symbols = [x for x in found if isinstance(x, Symbol)]
        with sg.Session(graph=self.graph) as session:
            values = iter(session.run(symbols, self.feeds) if symbols else ())
        return [sg.tensor(next(values)) if isinstance(x, Symbol) else x for x in found]


MODES: dict[str, Callable[[], torch_samples.Mode]] = {
    "eager": torch_samples.Mode, "compiled": Compiled, "graph": InGraph,
}  # fmt: skip


def totals(torch: Any, dtype: str, mode: str, names: list[str], order: int, listed: bool) -> dict[str, int]:
    """How many ops agree, differ, and are refused."""
    found = {"agree": 0, "differ": 0, "refused": 0}
    for name, every in test_torch_ops.table().items():
        if test_torch_ops.known(name, dtype, order) or not any(fnmatchcase(name, pattern) for pattern in names):
            continue
        variants = [op for op in every if order == 1 or torch_samples.has_gradients(torch, op, dtype, order)]
        wrong = [text for op in variants for text in torch_samples.failures(torch, op, dtype, MODES[mode](), order)]
        if not any(getattr(torch, dtype) in op.dtypes for op in variants) or wrong == ["missing"] * len(wrong) != []:
            continue
        refused = [text for text in wrong if any(error in text for error in REFUSALS)]
        found["agree" if not wrong else "refused" if len(refused) == len(wrong) else "differ"] += 1
        if listed and wrong:
            print(f"    {name}: {wrong[0]}", flush=True)
    return found


def entered(page: str, row: str, mode: str, found: dict[str, int]) -> str:
    """The page with the totals of a row in the column of a mode."""
    before, heading, rest = page.partition(HEADING)
    table = re.match(r"(\|.*\n)*", rest)
    assert heading
    assert table is not None
    rows = {cells[0]: cells[1:] for line in table[0].splitlines() if (cells := [c.strip() for c in line.strip("|").split("|")])}
    cells = rows.setdefault(row, [""] * len(COLUMNS))
    cells[COLUMNS.index(mode)] = f"{found['agree']} of {sum(found.values())}" + (
        f", {found['refused']} refused" if found["refused"] else ""
    )
    text = "".join(f"| {' | '.join([name, *cells])} |\n" for name, cells in rows.items())
    return before + heading + text + rest[table.end() :]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypes", nargs="+", choices=torch_samples.DTYPES, default=[*torch_samples.DTYPES])
    parser.add_argument("--modes", nargs="+", choices=[*MODES], default=[*MODES])
    parser.add_argument("--order", type=int, choices=(1, 2), default=1, help="of gradients")
    parser.add_argument("--samples", type=int, default=2, help="of each op")
    parser.add_argument("--ops", nargs="+", default=["*"], help="names or patterns")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    faulthandler.enable()
    import torch

    torch_samples.MOST = options.samples
    for mode in options.modes:
        for dtype in options.dtypes:
            found = totals(torch, dtype, mode, options.ops, options.order, options.list)
            row = dtype if options.order == 1 else f"{dtype}, second order"
            print(f"{mode:<10}{row:<26}" + ", ".join(f"{count} {what}" for what, count in found.items()), flush=True)
            if options.page:
                PAGE.write_text(entered(PAGE.read_text(encoding="utf-8"), row, mode, found), encoding="utf-8")


if __name__ == "__main__":
    main()
