"""Write the examples of the API reference: `docs/reference/*.txt`, for public names whose docstrings have none.

    python -m tools.reference_examples          # renews what the examples print, adds those that follow from a rule
    python -m tools.reference_examples --check  # exits with 1 if a file is not what would be written

To give a name an example, write its lines (`>>> ...`) under the name, in the file of its page; this program runs them and
writes what they print. A name without lines gets them by the first rule of `RULES` that fits: functions that compute elements
of tensors, in-place variants, copies, values, modules without arguments. `facts.txt` is measured by calling each function of
tensors as its example does, with operands of each dtype.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib.util
import inspect
import io
import os
import re
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import functional, nn, optim
from staticgrad.eager import generator

ROOT = Path(__file__).resolve().parent.parent
NAMES = {"np": np, "sg": sg, "F": functional, "nn": nn, "optim": optim}
"""Names that every example may use without importing them; the reference's pages say so."""


def _reference() -> Any:
    """`docs/reference.py`; a folder of documents is no package."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = _reference()


# running an example -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """Those of every example: seed 0, and the generator's state as it was afterward."""
    before = generator.state
    sg.manual_seed(0)
    try:
        with sg.enable_grad():
            yield
    finally:
        generator.state = before


def builds_a_graph(source: str) -> bool:
    return any(word in source for word in ("sg.placeholder", "sg.Variable", "sg.constant"))


def statements(text: str, name: str = "") -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(text, name)


def printed(text: str, name: str) -> str:
    """The example with what it prints; an error by its first line."""
    scope: dict[str, Any] = dict(NAMES)
    lines = []
    parts = statements(text, name)
    graph = sg.Graph().as_default() if builds_a_graph(text) else contextlib.nullcontext()
    with surroundings(), graph, warnings.catch_warnings():
        warnings.simplefilter("error")
        for part in parts:
            head, *rest = part.source.rstrip("\n").split("\n")
            lines += [f">>> {head}", *(f"... {line}" for line in rest)]
            out = io.StringIO()
            try:
                with contextlib.redirect_stdout(out):
                    exec(compile(part.source, f"<{name}>", "single"), scope)
            except Exception as error:
                if part.exc_msg is None:
                    raise RuntimeError(f"{name}: {part.source}") from error
                kind = type(error)
                first, *more = str(error).splitlines() or [""]
                lines += ["Traceback (most recent call last):", f"{kind.__module__}.{kind.__qualname__}: {first}"]
                lines += ["..."] if more else []
                continue
            if part.exc_msg is not None:
                raise RuntimeError(f"{name}: {part.source} raises nothing")
            found = out.getvalue().rstrip("\n")
            lines += (part.want.rstrip("\n") if _elided(part.want, found) else found).split("\n") if found else []
    return "\n".join(line if line else "<BLANKLINE>" for line in lines)


def _elided(want: str, found: str) -> bool:
    """Whether the written output leaves out parts by "..." and still holds."""
    return "..." in want and doctest.OutputChecker().check_output(want, found + "\n", doctest.ELLIPSIS)


# rules --------------------------------------------------------------------------------------------------------------------

SHORT = {"staticgrad.functional": "F", "staticgrad.nn": "nn", "staticgrad.optim": "optim"}
VECTORS: list[list[float]] = [[-1.5, 0.5, 2.0], [0.25, 0.5, 0.75], [1.0, 2.0, 3.0]]
PAIRS: list[tuple[list[float], list[float]]] = [([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]), ([12, 10], [10, 6])]


def called(path: str) -> str:
    """The expression by which examples name a path."""
    module, _, name = path.rpartition(".")
    return f"{SHORT[module]}.{name}" if module in SHORT else f"sg{path.removeprefix('staticgrad')}"


def computes(function: Callable[..., Any], *operands: Sequence[float]) -> bool:
    """Whether it makes a tensor of numbers of these operands, of their shape, that differs from the first."""
    try:
        with surroundings(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*(sg.tensor(list(x)) for x in operands))
            values = found.detach().numpy()
    except Exception:
        return False
    return values.shape == np.shape(operands[0]) and bool(np.isfinite(values).all() and (values != operands[0]).any())


def of_a_value(path: str, value: Any) -> str:
    return "" if callable(value) else f">>> {called(path)}"


def of_a_vector(path: str, value: Any) -> str:
    for x in VECTORS if inspect.isfunction(value) else ():
        if computes(value, x):
            if path.endswith("_"):
                return f">>> x = sg.tensor({x})\n>>> {called(path)}(x)\n>>> x"
            return f">>> {called(path)}(sg.tensor({x}))"
    return ""


def of_two_vectors(path: str, value: Any) -> str:
    for x, y in PAIRS if inspect.isfunction(value) else ():
        if computes(value, x, y):
            return f">>> {called(path)}(sg.tensor({x}), sg.tensor({y}))"
    return ""


def of_a_module(path: str, value: Any) -> str:
    """A module without arguments, of one tensor."""
    if not (inspect.isclass(value) and issubclass(value, nn.Module)):
        return ""
    return f">>> {called(path)}()(sg.tensor({VECTORS[0]}))" if computes(lambda x: value()(x), VECTORS[0]) else ""


def of_a_loss(path: str, value: Any) -> str:
    """A module without arguments, of a prediction and a target, and its gradient."""
    if not (inspect.isclass(value) and issubclass(value, nn.Module)):
        return ""
    try:
        if value()(sg.tensor([1.0, 2.0, 3.0]), sg.tensor([1.0, 2.0, 5.0])).shape != ():
            return ""
    except Exception:
        return ""
    return (
        ">>> x = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
        f">>> loss = {called(path)}()(x, sg.tensor([1.0, 2.0, 5.0]))\n>>> loss\n>>> loss.backward()\n>>> x.grad"
    )


COMPUTED = "functions", "functional", "special", "linalg", "fft"
"""Pages of functions of tensors: calling them changes nothing else."""
RULES = {of_a_vector: COMPUTED, of_two_vectors: COMPUTED, of_a_module: ("nn",), of_a_loss: ("nn",), of_a_value: ()}
"""Rules in their order, and the pages to which they apply, if not all."""


def by_rule(path: str) -> str:
    value, page = reference.value_of(path), reference.page_of()[path]
    return next(filter(None, (rule(path, value) for rule, pages in RULES.items() if page in pages or not pages)), "")


# measured facts -----------------------------------------------------------------------------------------------------------

DTYPES = "bool", "int64", "float32", "float64", "complex64"


def documented(path: str) -> str:
    """The example of a path: that of its docstring, or the stored one."""
    doc = inspect.getdoc(reference.value_of(path)) or ""
    return doc if ">>>" in doc else reference.examples().get(reference.names()[path], "")


def first_call(path: str) -> tuple[Any, ...] | None:
    """The arguments with which the example of a function calls it first: (positional, named)."""
    function, calls = reference.value_of(path), []
    text = "\n".join(f">>> {e.source}".replace("\n", "\n... ").removesuffix("... ") for e in statements(documented(path)))
    homes = [(sys.modules[p.rpartition(".")[0]], p.rpartition(".")[2])
             for p, key in reference.names().items() if key == path]  # fmt: skip

    def recording(*args: Any, **named: Any) -> Any:
        calls.append((tuple(map(_kept, args)), {k: _kept(v) for k, v in named.items()}))
        return function(*args, **named)

    for home, name in homes:
        setattr(home, name, recording)
    try:
        with contextlib.suppress(RuntimeError):
            printed(text, path)
    finally:
        for home, name in homes:
            setattr(home, name, function)
    return calls[0] if calls else None


def _kept(value: Any) -> Any:
    """An argument as it is before the call."""
    if isinstance(value, sg.Tensor):
        return value.detach().clone()
    return type(value)(map(_kept, value)) if type(value) in (list, tuple) else value


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with its tensors changed."""
    if isinstance(value, sg.Tensor):
        return change(value)
    return type(value)(replaced(v, change) for v in value) if type(value) in (list, tuple) else value


def tensors(value: Any) -> list[Any]:
    if isinstance(value, sg.Tensor):
        return [value]
    return [t for part in value for t in tensors(part)] if isinstance(value, (list, tuple)) else []


def tried(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any], change: Callable[[Any], Any]) -> Any:
    """The tensors of a call, or the error that it raises."""
    try:
        with surroundings(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*(replaced(a, change) for a in args), **{k: replaced(v, change) for k, v in named.items()})
            return tensors(found)
    except Exception as error:
        return error


def joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _of_dtype(kinds: str, dtype: Any, t: Any) -> Any:
    return t.detach().to(dtype) if t.dtype.kind in kinds else t


def _instead(odd: Any, longer: Any, t: Any) -> Any:
    return longer if t is odd else t


def total(parts: Sequence[Any]) -> Any:
    """The sum of the elements of tensors, by their real parts."""
    sums: list[Any] = [sg.real(t).sum() if t.dtype.kind == "c" else t.sum() for t in parts]
    return sum(sums[1:], sums[0])


def dtypes_of(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> str:
    """Which dtypes of its operands a function takes, and which dtype its (first) result has."""
    given = tensors([*args, *named.values()])
    if not given:
        return ""
    kinds = "fc" if any(t.dtype.kind in "fc" for t in given) else "bi"
    results: dict[str, list[str]] = defaultdict(list)
    for name in DTYPES:
        found = tried(function, args, named, partial(_of_dtype, kinds, getattr(sg, name)))
        if isinstance(found, sg.errors.DTypeError):
            results["DTypeError"].append(name)
        elif not isinstance(found, Exception) and found:
            gives = str(found[0].dtype)
            results["" if gives == name else gives].append(name)
    same, refused = results.pop("", []), results.pop("DTypeError", [])
    parts = [joined(same)] if same else []
    parts += [f"{joined(takes)} {'gives' if len(takes) == 1 else 'give'} {gives}" for gives, takes in results.items()]
    parts += [f"DTypeError for {joined(refused)}"] if refused else []
    return "; ".join(parts)


def gradients_of(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> str:
    leaves: list[Any] = []

    def leaf(t: Any) -> Any:
        if t.dtype.kind not in "fc":
            return t
        leaves.append(t.detach().clone().requires_grad_())
        return leaves[-1].clone()

    found = tried(function, args, named, leaf)
    roots = [] if isinstance(found, Exception) else [t for t in found if t.requires_grad]
    if not leaves or isinstance(found, Exception):
        return ""
    if not roots:
        return "none"
    try:
        first = sg.grad(total(roots), leaves, create_graph=True, allow_unused=True)
        again = [g for g in first if g is not None and g.requires_grad]
        if not again:
            return "first; the second is 0"
        sg.grad(total(again), leaves, allow_unused=True)
    except sg.StaticgradError:
        return "first"
    return "first and second"


def errors_of(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> str:
    """Errors of operands that don't fit, and of an axis that there is not."""
    found = []
    given = [t for t in tensors([*args, *named.values()]) if t.ndim]
    for odd in given if len(given) > 1 else ():
        longer = sg.cat([odd, odd[..., :1]], -1)
        error = tried(function, args, named, partial(_instead, odd, longer))
        if isinstance(error, sg.StaticgradError):
            found.append(f"{type(error).__name__} where shapes do not fit")
    try:
        bound = inspect.signature(function).bind(*args, **named)
    except (TypeError, ValueError):
        bound = None
    for word in ("dim", "axis"):
        if bound is not None and word in bound.signature.parameters:
            error = tried(function, (), {**_by_name(bound), word: 9}, lambda t: t)
            if isinstance(error, sg.errors.AxisError):
                found.append(f"{type(error).__name__} for an axis that is not there")
    return "; ".join(dict.fromkeys(found))


def _by_name(bound: inspect.BoundArguments) -> dict[str, Any]:
    kinds = {p.name: p.kind for p in bound.signature.parameters.values()}
    return {k: v for k, v in bound.arguments.items() if kinds[k] is not inspect.Parameter.VAR_POSITIONAL}


def measured() -> dict[str, str]:
    """A line per function of tensors."""
    found = {}
    for path, key in reference.names().items():
        function = reference.value_of(path)
        if path != key or reference.page_of()[path] not in COMPUTED or inspect.isclass(function) or not callable(function):
            continue
        call = first_call(path)
        if call is None:
            continue
        parts = {
            "Dtypes": dtypes_of(function, *call),
            "Gradients": gradients_of(function, *call),
            "Errors": errors_of(function, *call),
        }
        found[path] = " ".join(f"{word}: {text}." for word, text in parts.items() if text)
    return {path: line for path, line in found.items() if line}


# files --------------------------------------------------------------------------------------------------------------------


def text_of(entries: dict[str, str]) -> str:
    return "\n".join(f"{path}\n" + re.sub(r"(?m)^(?=.)", "    ", lines) + "\n" for path, lines in entries.items())


def wanted() -> dict[str, list[str]]:
    """The paths that need a stored example, by page."""
    found = defaultdict(list)
    for path, key in reference.names().items():
        if path == key and ">>>" not in (inspect.getdoc(reference.value_of(path)) or ""):
            found[reference.page_of()[path]].append(path)
    return found


def files() -> dict[Path, str]:
    """Each file of the folder, as it should be. Examples of names that are gone are left out."""
    texts = {}
    for page, paths in wanted().items():
        entries = {}
        for path in paths:
            lines = reference.examples().get(path) or by_rule(path)
            if lines:
                entries[path] = printed(lines, path)
        if entries:
            texts[reference.EXAMPLES / f"{page}.txt"] = text_of(entries)
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/reference/*.txt")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a file is not what would be written")
    check = parser.parse_args().check
    changed = False

    def written(path: Path, text: str) -> None:
        nonlocal changed
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed = True
            if check:
                print(f"{path.relative_to(ROOT)} is not current: run python -m tools.reference_examples")
            else:
                path.write_text(text, encoding="utf-8")

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some examples write files
        for path, text in files().items():
            written(path, text)
        reference.examples.cache_clear()
        written(reference.FACTS, text_of(measured()))
        os.chdir(ROOT)
    missing = [path for paths in wanted().values() for path in paths if path not in reference.examples()]
    print("\n".join(f"{path} has no example" for path in missing), end="\n" if missing else "")
    sys.exit(1 if missing or (check and changed) else 0)


if __name__ == "__main__":
    main()
