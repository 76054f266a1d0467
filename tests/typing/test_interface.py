"""The stub of functions and tensor methods, and the annotations that it is made of."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_overloads

import pytest

import staticgrad as sg
from staticgrad import autograd, functional, nn, operators, optim
from staticgrad.eager import PublicTensor
from tools import stubs

UNTYPED = {
    "as_subclass": "a tensor of the class",
    "tolist": "a number, or nested lists",
    "__dlpack__": "a capsule",
    "__dlpack_device__": "a pair that the array-API standard defines",
    "storage_type": "raises",
}
"""Members of a tensor whose result has no useful type."""


def test_the_stubs_are_what_the_records_say():
    files = stubs.files()
    assert {path: path.read_text(encoding="utf-8") for path in files} == files, "run python -m tools.stubs"
    assert not stubs.left_over(files), "run python -m tools.stubs"


def classes() -> dict[str, ast.ClassDef]:
    tree = ast.parse(stubs.TARGET.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def test_the_stub_has_every_function_and_every_method():
    members = {
        name: {
            getattr(node, "name", None) or node.target.id
            for node in found.body
            if isinstance(node, (ast.FunctionDef, ast.AnnAssign))
        }
        for name, found in classes().items()
    }
    assert members["Functions"] == set(operators.public_functions())
    assert members["Tensor"] >= {name for name in dir(PublicTensor) if not name.startswith("_") and hasattr(PublicTensor, name)}


@pytest.mark.parametrize("name", ["Tensor", "Functions", "special.pyi", "torch_names.pyi"])
def test_results_in_the_stub_have_types(name):
    file = stubs.STUBS / name
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else classes()[name].body
    untyped = {
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "Any"
    }
    assert untyped <= UNTYPED.keys()


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (sg, functional, nn, nn.init, optim, autograd):
        for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
            found = getattr(module, name)
            if inspect.isfunction(found) and found.__module__.startswith("staticgrad"):
                yield f"{module.__name__}.{name}", found
            elif inspect.isclass(found) and issubclass(found, nn.Module) and _has_its_own(found):
                yield f"{module.__name__}.{name}.forward", found.forward


def _has_its_own(module: type[nn.Module]) -> bool:
    """Whether a class has a `forward` that it does not inherit: tests set methods of classes and put inherited ones back."""
    own = vars(module).get("forward")
    return own is not None and not any(own is vars(base).get("forward") for base in module.__mro__[1:])


def test_public_functions_say_what_they_return():
    found = {
        (name, inspect.signature(variant).return_annotation)
        for name, function in public_functions()
        for variant in get_overloads(function) or [function]
    }
    untyped = {name for name, returns in found if returns in ("Any", inspect.Signature.empty)}
    assert untyped <= {"staticgrad.nn.Module.forward", "staticgrad.nn.DataParallel.forward"}, "every module has its own"
