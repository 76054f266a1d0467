"""Totals of PyTorch's operator samples by dtype and mode.

    python -m tests.ops.torch_totals [--dtypes complex64 ...] [--modes eager compiled graph] [--samples 2] [--ops fft.fft ...]

An op agrees where no sample of a dtype differs in values or first gradients. Ops of `test_torch_ops.KNOWN` are left out. What a
mode can't have is counted as refused: a graph has no results whose extents depend on values, say. With `--list`,
differences are printed.
"""

from __future__ import annotations

import argparse
import faulthandler
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import staticgrad as sg
from tests.ops import test_torch_ops, torch_samples

REFUSALS = ("TraceError", "DataDependentError", "NeedsValue", "UnknownExtentError", "NoGraphError")


def compiled(fn: Callable[..., Any]) -> Callable[..., Any]:
    return sg.compile(fn)


def in_graph(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose tensors are fed to a session; results are tensors without a tape."""

    def call(*args: Any, **named: Any) -> Any:
        with sg.Graph().as_default() as graph:
            feeds: dict[Any, Any] = {}

            def fed(value: Any) -> Any:
                if isinstance(value, sg.Tensor):
                    holder = sg.placeholder(value.dtype, list(value.shape))
                    feeds[holder] = value.detach().numpy()
                    return holder
                if isinstance(value, dict):
                    return {k: fed(v) for k, v in value.items()}
                return type(value)(map(fed, value)) if type(value) in (list, tuple) else value

            out = fn(*fed(list(args)), **fed(named))
            found = torch_samples.tensors(sg.Tensor, out)
            with sg.Session(graph=graph) as session:
                values = dict(zip(map(id, found), session.run(found, feeds), strict=True))

        def given(value: Any) -> Any:
            if id(value) in values:
                return sg.tensor(values[id(value)])
            return [given(v) for v in value] if isinstance(value, (list, tuple)) else value

        return given(out)

    return call


MODES: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "eager": lambda fn: fn, "compiled": compiled, "graph": in_graph,
}  # fmt: skip


def totals(torch: Any, dtype: str, mode: str, names: list[str], listed: bool) -> dict[str, int]:
    """How many ops agree, differ, and are refused."""
    found = {"agree": 0, "differ": 0, "refused": 0}
    own = torch_samples.twin
    torch_samples.twin = lambda *args: MODES[mode](own(*args))  # type: ignore[assignment]
    try:
        for name, variants in test_torch_ops.table().items():
            if test_torch_ops.known(name, dtype) or not any(fnmatchcase(name, pattern) for pattern in names):
                continue
            wrong = [text for op in variants for text in torch_samples.failures(torch, op, dtype)]
            if not any(getattr(torch, dtype) in op.dtypes for op in variants) or wrong == ["missing"] * len(wrong) != []:
                continue
            refused = [text for text in wrong if any(error in text for error in REFUSALS)]
            found["agree" if not wrong else "refused" if len(refused) == len(wrong) else "differ"] += 1
            if listed and wrong:
                print(f"    {name}: {wrong[0]}", flush=True)
    finally:
        torch_samples.twin = own
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypes", nargs="+", choices=torch_samples.DTYPES, default=[*torch_samples.DTYPES])
    parser.add_argument("--modes", nargs="+", choices=[*MODES], default=[*MODES])
    parser.add_argument("--samples", type=int, default=2, help="of each op")
    parser.add_argument("--ops", nargs="+", default=["*"], help="names or patterns")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    faulthandler.enable()
    import torch

    torch_samples.MOST = options.samples
    for mode in options.modes:
        for dtype in options.dtypes:
            found = totals(torch, dtype, mode, options.ops, options.list)
            print(f"{mode:<10}{dtype:<12}" + ", ".join(f"{count} {what}" for what, count in found.items()), flush=True)


if __name__ == "__main__":
    main()
