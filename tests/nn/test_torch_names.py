"""The public names of `torch.nn` and `torch.nn.functional`, with their arguments, against ours."""

from __future__ import annotations

import inspect
import re
import types
from typing import Any

import pytest

from staticgrad import nn
from staticgrad.namespaces.lookup.advice import FUNCTIONAL_REPLACED, NN_REPLACED
from staticgrad.nn import functional as F

pytestmark = pytest.mark.oracle

NO_PART_OF_IT = frozenset({"Callable", "DType", "Optional", "ScalingType", "SwizzleType", "TYPE_CHECKING", "Tensor"})
"""What PyTorch's modules import."""

OTHER_ARGUMENTS = {
    "functional.batch_norm": "running statistics may be left out",
    "functional.normalize": "out= is refused",
    "functional.scaled_dot_product_attention": "its documentation has no signature in one line",
    "functional.conv_tbc": "its documentation has no signature",
    "functional.boolean_dispatch": "internal",
    "Module": "subclasses define the arguments",
    "RNNBase": "the base of RNN, LSTM and GRU, for isinstance",
    "Identity": "takes any arguments",
    "UninitializedParameter": "the default dtype takes the place of a keyword",
}
"""Names whose arguments are not compared, and why."""


def public(module: Any) -> list[str]:
    names = (name for name in dir(module) if not name.startswith("_") and name not in NO_PART_OF_IT)
    return sorted(n for n in names if callable(getattr(module, n)) and not isinstance(getattr(module, n), types.ModuleType))


@pytest.mark.parametrize(("name", "ours", "refused"), [("nn", nn, NN_REPLACED), ("functional", F, FUNCTIONAL_REPLACED)])
def test_every_name_is_here_or_refused(torch: Any, name: str, ours: Any, refused: dict[str, str]):
    theirs = torch.nn if name == "nn" else torch.nn.functional
    missing = {n for n in public(theirs) if not hasattr(ours, n)}
    assert missing - refused.keys() == set()


@pytest.mark.parametrize(("module", "refused"), [(nn, NN_REPLACED), (F, FUNCTIONAL_REPLACED)])
def test_a_refused_name_says_what_to_write(module: Any, refused: dict[str, str]):
    for name, text in refused.items():
        if name in module.__all__:
            continue
        with pytest.raises(AttributeError, match=re.escape(f"has no attribute {name!r}; {text}")):
            getattr(module, name)


def arguments(function: Any) -> list[tuple[str, Any]] | None:
    """(name, default) of each argument, from the signature or the first line of the documentation; None for neither."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        line = re.search(r"\w+\((.*?)\)\s*->", " ".join((function.__doc__ or "").split("\n\n")[0].split()))
        if line is None:
            return None
        parts = [part.strip().partition("=") for part in line[1].replace("*,", "").split(",")]
        return [(name.strip(), eval(value, {}) if mark else inspect.Parameter.empty) for name, mark, value in parts]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(p.kind in variadic for p in found):
        return None
    return [(p.name, p.default) for p in found]


def test_arguments_are_those_of_functions(torch: Any):
    different = compared(torch.nn.functional, F, "functional.")
    assert different == [], "\n".join(different)


def test_arguments_are_those_of_modules(torch: Any):
    different = compared(torch.nn, nn, "")
    assert different == [], "\n".join(different)


def plain(argument: tuple[str, Any]) -> tuple[str, Any]:
    """A default that is a function, by its name."""
    name, default = argument
    return name, default.__name__ if inspect.isfunction(default) else default


def compared(theirs: Any, ours: Any, prefix: str) -> list[str]:
    different = []
    for name in public(theirs):
        if prefix + name in OTHER_ARGUMENTS or not hasattr(ours, name):
            continue
        wanted, found = arguments(getattr(theirs, name)), arguments(getattr(ours, name))
        if wanted is not None and (found is None or [*map(plain, found)] != [*map(plain, wanted)]):
            different.append(f"{name}: {found}, not {wanted}")
    return different
