"""Write `docs/onnx_cases.md`: which of ONNX's node cases a loaded model passes, and why others don't.

python -m tools.onnx_cases                   # all cases eagerly: about a minute
python -m tools.onnx_cases --mode compiled   # under sg.compile; prints, and writes nothing
python -m tools.onnx_cases -k reduce -v      # those whose name contains a text, with their errors
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg

PAGE = Path(__file__).resolve().parent.parent / "docs" / "onnx_cases.md"
FREE = {"Bernoulli", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial"}
"""Ops whose values are drawn: shapes and dtypes are compared."""


class Outcome(NamedTuple):
    """What became of a case: "" where it passes, or the reason."""

    name: str
    op: str
    reason: str


def cases() -> Iterator[Any]:
    """The official node cases."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        yield from load_model_tests(kind="node")


def outcome(case: Any, mode: str = "eager") -> Outcome:
    """Run a case in a mode and compare its results with the official ones."""
    op = case.model.graph.node[0].op_type if case.model.graph.node else ""
    op = next((part.op_type for part in case.model.graph.node if part.op_type not in ("Constant", "CastLike")), op)
    try:
        model = sg.onnx.load(case.model)
        for inputs, expected in case.data_sets:
            found = results(model, inputs, mode)
            free = any(node.op_type in FREE for node in case.model.graph.node)
            for i, (have, want) in enumerate(zip(found, expected, strict=True)):
                problem = difference(have, want, case.rtol, case.atol, free)
                if problem:
                    return Outcome(case.name, op, f"output {i}: {problem}")
    except sg.StaticgradError as error:
        return Outcome(case.name, op, f"refused: {error.summary}")
    except Exception as error:
        return Outcome(case.name, op, f"{type(error).__name__}: {error}".splitlines()[0])
    return Outcome(case.name, op, "")


def results(model: Any, inputs: Sequence[Any], mode: str) -> list[Any]:
    """The outputs of a model on arrays."""
    if mode == "session":
        with sg.Graph().as_default() as graph:
            inputs = list(map(_array, inputs))
            fed = [sg.placeholder(x.dtype, x.shape) for x in inputs]
            found = model(*fed)
            with sg.Session(graph=graph) as session:
                session.run(sg.global_variables_initializer())
                several = isinstance(found, tuple)
                results = list(found) if several else [found]
                symbols = [x for x in results if isinstance(x, sg.ops.operators.Symbol)]  # others follow from the model alone
                values = iter(session.run(symbols, dict(zip(fed, inputs, strict=True))))
                return [next(values) if isinstance(x, sg.ops.operators.Symbol) else x for x in results]
    call = sg.compile(model) if mode == "compiled" else model
    found = call(*map(_tensor, inputs))
    return list(found) if isinstance(found, tuple) else [found]


def _tensor(x: Any) -> Any:
    if x is None or isinstance(x, list):
        return x if x is None else [_tensor(item) for item in x]
    x = _array(x)
    if x.dtype.kind not in "biufc":
        raise sg.DTypeError(f"dtype {x.dtype if x.dtype.kind == 'V' else 'string'} is not supported")
    return sg.tensor(x)


def _array(x: Any) -> np.ndarray:
    """An operand or expected result; some come as TensorProto."""
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(x) if isinstance(x, TensorProto) else np.asarray(x)


def difference(have: Any, want: Any, rtol: float, atol: float, free: bool) -> str:
    """How a result differs from the expected one; "" where it does not."""
    if want is None or isinstance(want, list):
        if want is None or have is None:
            return "" if want is None and have is None else "one is empty"
        if len(have) != len(want):
            return f"length {len(have)}, expected {len(want)}"
        return next(filter(None, (difference(h, w, rtol, atol, free) for h, w in zip(have, want, strict=True))), "")
    array = np.asarray(have.detach() if hasattr(have, "detach") else have)
    want = _array(want)
    if array.dtype != want.dtype:
        return f"dtype {array.dtype}, expected {want.dtype}"
    if array.shape != want.shape:
        return f"shape {array.shape}, expected {want.shape}"
    if free or np.allclose(array, want, rtol, atol, equal_nan=True):
        return ""
    return f"values differ by {np.nanmax(np.abs(array.astype(float) - want.astype(float))):.2g}"


def run(mode: str, part: str = "") -> list[Outcome]:
    """The outcomes of all cases whose name contains `part`."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases():
            if part in case.name:
                found.append(outcome(case, mode))
    return found


def page(outcomes: Iterable[Outcome]) -> str:
    """The document of the outcomes."""
    outcomes = list(outcomes)
    by_op: dict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        by_op[each.op].append(each)
    passed = sum(not each.reason for each in outcomes)
    reasons = Counter(kind(each.reason) for each in outcomes if each.reason)
    import onnx

    lines = [
        "# ONNX's node cases",
        "",
        f"`sg.onnx.load` passes {passed:,} of the {len(outcomes):,} node cases of ONNX {onnx.__version__}, run eagerly. "
        "`python -m tools.onnx_cases` writes this page.",
        "",
        "| why a case does not pass | cases |",
        "|---|---|",
        *(f"| {reason} | {count} |" for reason, count in reasons.most_common()),
        "",
        "A case is listed under its first op beside constants. Cases whose names end in `_expanded` write an op in others.",
        "",
        "| op | pass | cases | reasons of the others |",
        "|---|---|---|---|",
    ]
    for op, group in sorted(by_op.items()):
        why = Counter(kind(each.reason) for each in group if each.reason)
        text = "; ".join(f"{reason} ({count})" for reason, count in why.most_common())
        lines.append(f"| {op} | {sum(not each.reason for each in group)} | {len(group)} | {text} |")
    return "\n".join(lines) + "\n"


def kind(reason: str) -> str:
    """A reason without what differs from case to case."""
    for text in ("dtype",):
        if reason.startswith("refused") and text in reason:
            words = reason.removeprefix("refused: ONNX: ").removeprefix("refused: ")
            return words.split(" of opset")[0].replace("|", "/")[:80]
    words = reason.split(" of opset")[0].split(" by ")[0]  # by how much: random numbers differ from run to run
    return words.removeprefix("refused: ").replace("|", "/")[:80]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=("eager", "compiled", "session"), default="eager")
    parser.add_argument("-k", default="", metavar="TEXT", help="only cases whose name contains this")
    parser.add_argument("-v", action="store_true", help="print the reason of each case that does not pass")
    given = parser.parse_args()
    outcomes = run(given.mode, given.k)
    if given.v:
        for each in outcomes:
            if each.reason:
                print(f"{each.name}: {each.reason}")
    print(f"{sum(not each.reason for each in outcomes)} of {len(outcomes)} cases pass, {given.mode}")
    if given.mode == "eager" and not given.k:
        PAGE.write_text(page(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
