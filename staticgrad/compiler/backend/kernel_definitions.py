"""The source of functions that kernels are made of, and facts about their names."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType
from typing import NamedTuple


class Definition(NamedTuple):
    """A function's source. assigned: all names that are assigned to; once: those that have one value."""

    node: ast.FunctionDef
    parameters: list[str]
    assigned: frozenset[str]
    once: frozenset[str]


TEXT = "__text__"
"""The global name of a module's text, where that is no file."""
KEPT = 512
"""Definitions that are kept. Those of kernels are read once, those of other functions by many kernels."""


@lru_cache(KEPT // 16)
def _parsed(text: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """Definitions by name and first line, which is that of a decorator where there is one."""
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return {(node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])): node for node in found}


@cache
def _text(file: str) -> str:
    return Path(file).read_text()


@lru_cache(KEPT)
def definition_of(function: FunctionType) -> Definition:
    """The definition of a function, from the text of its module, or its file."""
    text = function.__globals__.get(TEXT)
    code = function.__code__
    node = _parsed(_text(code.co_filename) if text is None else text)[function.__name__, code.co_firstlineno]
    stores, loads = _names(node.body, ast.Store), _names(node.body, ast.Load)
    parameters = [a.arg for a in node.args.args]
    once = frozenset(_once(node.body, stores, loads) - {*parameters})
    return Definition(node, parameters, frozenset(stores), once)


def _names(body: Sequence[ast.AST], kind: type[ast.expr_context]) -> dict[str, int]:
    """How often names are read or assigned to."""
    counts: dict[str, int] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, kind):
                counts[node.id] = counts.get(node.id, 0) + 1
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                counts[node.target.id] = counts.get(node.target.id, 0) + 1
    return counts


def _once(body: Sequence[ast.stmt], stores: dict[str, int], loads: dict[str, int]) -> set[str]:
    """Names that are assigned to once, and read only where that assignment has been executed: in its block."""
    here = set()
    for statement in body:
        if isinstance(statement, ast.Assign):
            here |= {n.id for n in ast.walk(statement.targets[0]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    here = {name for name in here if stores[name] == 1}
    inside = _names(body, ast.Load) if here else {}
    found = {name for name in here if inside.get(name, 0) == loads.get(name, 0)}
    for statement in body:
        for block in (getattr(statement, "body", ()), getattr(statement, "orelse", ())):
            found |= _once(block, stores, loads)
    for statement in body:
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            if stores[name] == 1 and _names(statement.body, ast.Load).get(name, 0) == loads.get(name, 0):
                found.add(name)
    return found
