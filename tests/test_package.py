"""The package as a whole: what it exports, what importing it costs, and which module may import which."""

from __future__ import annotations

import ast
import functools
import importlib
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

import staticgrad as sg
from staticgrad.namespaces.lookup.paths import HOMES
from staticgrad.operators import public_functions
from staticgrad.tracing import frames
from tools import pythons

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "staticgrad"
HEAVY = ("numba", "llvmlite", "networkx", "scipy", "matplotlib", "safetensors")


def run(program: str) -> str:
    """The output of a program in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# what importing loads -----------------------------------------------------------------------------------------------

LOADED = f"import sys; print(*sorted(set({HEAVY!r}).intersection(sys.modules)))"


def test_versions_that_are_tested_are_those_whose_instructions_are_known():
    assert tuple(f"{major}.{minor}" for major, minor in frames.PROBED) == pythons.VERSIONS


def test_the_conda_recipe_has_the_requirements_and_the_version_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    run = recipe[recipe.index("  run:\n") : recipe.index("\ntest:")]
    listed = [line.removeprefix("    - ").replace(" ", "") for line in run.splitlines() if line.startswith("    - ")]
    assert listed == [f"python{project['requires-python']}", *project["dependencies"]]
    assert f'set version = "{project["version"]}"' in recipe
    [entry] = [f"{name} = {target}" for name, target in project["scripts"].items()]
    assert f"    - {entry}\n" in recipe


def test_a_free_threaded_python_is_refused():
    program = "import sys; sys.version = '3.14.0 free-threading build'; import staticgrad"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "free-threaded build of Python" in done.stderr.splitlines()[-1]


def test_import_loads_no_heavy_library():
    assert run(f"import staticgrad\n{LOADED}").split() == []


def test_import_leaves_the_lazy_modules_alone():
    loaded = run("import staticgrad, sys; print(*[m for m in sys.modules if m.startswith('staticgrad.')])").split()
    assert not {"staticgrad.nn", "staticgrad.optim", "staticgrad.static", "staticgrad.viz.draw"}.intersection(loaded)


def test_eager_programs_import_neither_the_tracer_nor_the_compiler():
    """Nor parts of the standard library that take milliseconds."""
    loaded = run("from staticgrad import functional, nn, optim; import sys; print(*sys.modules)").split()
    rooms = [
        name for name in loaded if name.startswith(("staticgrad.tracing.", "staticgrad.compiler.", "staticgrad.ops.rewrites"))
    ]
    assert rooms == ["staticgrad.tracing.settings", "staticgrad.tracing.after_run"]
    assert not {"decimal", "fractions", "json", "pathlib", "subprocess", "sysconfig"} & ({*loaded} - {*numpys()})


def numpys() -> list[str]:
    return run("import numpy, sys; print(*sys.modules)").split()


def test_an_eager_program_never_imports_llvm():
    program = f"""
        import staticgrad as sg
        from staticgrad import functional as F
        from staticgrad import nn, optim

        sg.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        opt = optim.Adam(model.parameters(), lr=0.01)
        losses = []
        for _ in range(3):
            loss = F.cross_entropy(model(sg.ones(5, 4)), sg.tensor([0, 1, 2, 0, 1]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        assert losses[2] < losses[0], losses
        {LOADED}
    """
    assert run(program).split() == []


# what is exported ---------------------------------------------------------------------------------------------------


def test_every_operation_is_exported():
    missing = [name for name, function in public_functions().items() if getattr(sg, name, None) is not function]
    assert missing == []


def test_every_public_name_exists_and_is_listed():
    listed = dir(sg)
    assert [name for name in sg.__all__ if getattr(sg, name, None) is None or name not in listed] == []


def test_public_names_are_sorted_and_unique():
    assert list(sg.__all__) == sorted(set(sg.__all__))


def test_type_checkers_read_the_names_that_there_are():
    """The stub of the package imports each public name from the module that the tables name."""
    tree = ast.parse((ROOT / "staticgrad-stubs" / "__init__.pyi").read_text(encoding="utf-8"))
    told = {}
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            module = importlib.import_module("." + statement.module, "staticgrad")
            for alias in statement.names:
                names = module.__all__ if alias.name == "*" else [alias.name]
                told |= {alias.asname or name: getattr(module, name) for name in names}
    assert [name for name, value in told.items() if getattr(sg, name) is not value] == []
    assert set(sg.__all__) <= {*told, *vars(sg)["_LAZY_MODULES"], *vars(sg)["_CONSTANTS"], "version"}


def test_the_root_shows_the_rooms():
    """Not every module of a public name: `namespaces/lookup/paths.py` is the table of these."""
    assert len([path for path in PACKAGE.iterdir() if path.name != "__pycache__"]) <= 20


def test_no_function_has_the_name_of_a_module():
    """Importing staticgrad.x sets the attribute x of the package: a function x would be gone."""
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()} | {*HOMES}
    assert modules.intersection(sg.__all__) == {
        *("autograd", "compiler", "distributed", "distributions", "func", "functional", "nn", "optim", "utils"),
        "version",
    }


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'staticgrad' has no attribute 'relu6'"):
        _ = sg.relu6


def test_version_is_that_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert sg.__version__ == project["version"]


# layers -------------------------------------------------------------------------------------------------------------

ORDER = [
    "errors",
    "base",
    "ir",
    "ops.operators",
    "ops",
    "autodiff",
    "compiler",
    "eager",
    "interchange.serialization",
    "namespaces",
    "distributed",
    "namespaces.autograd",
    "namespaces.functional",
    "static",
    "tracing",
    "nn",
    "namespaces.func",
    "interchange.numba_ops",
    "optim",
    "viz",
    "namespaces.utils",
    "namespaces.distributions",
    "interchange",
    "compat",
    "command_line",
    "__main__",
]
"""A room imports from itself and from those before it. A room inside another one has a place of its own."""

COMPILER_ORDER = [
    "backend",
    "kernels",
    "runtime",
    "fusion",
    "schedule",
    "codegen",
    "passes",
    "lower",
    "memory_budget",
    "execute",
    "rebinding",
    "plan_store",
    "pipeline",
    "program",
    "warm",
]
"""The same inside `compiler/`."""


class Import(NamedTuple):
    module: str
    line: int
    target: str
    runs: bool
    """Not only for type checkers."""


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
MODULES = {module_name(path) for path in FILES}
PACKAGES = {module_name(path) for path in FILES if path.name == "__init__.py"}


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imports_of(path: Path) -> list[Import]:
    """The project's modules that a file imports: at its top, in functions, and for type checkers."""
    package, found = path.relative_to(PACKAGE).parent.parts, []
    tree = tree_of(path)
    running = {id(node) for node, _ in walk(tree, False)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)] + tuple(node.module.split(".") if node.module else ())
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "staticgrad":
            base = tuple((node.module or "").split(".")[1:])
        else:
            continue
        for alias in node.names:
            full = ".".join((*base, alias.name))
            target = full if full in MODULES else ".".join(base)
            found.append(Import(module_name(path), node.lineno, target, id(node) in running))
    return found


def room_of(module: str) -> str:
    """The folder of the package, or of the compiler, or one inside that has its own place, or the module that stands there."""
    parts = module.split(".")
    inner = ".".join(parts[:2])
    return inner if parts[0] == "compiler" or inner in ORDER else parts[0]


def positions(module: str) -> tuple[int, ...]:
    """Where a module stands: its room, and inside the compiler its room there."""
    room, _, inner = room_of(module).partition(".")
    return (ORDER.index(room), COMPILER_ORDER.index(inner)) if room == "compiler" and inner else (ORDER.index(room_of(module)),)


def test_modules_import_only_from_those_above():
    wrong = [
        f"{module_name(path)}, line {found.line}: {found.module} imports {found.target}"
        for path in FILES
        for found in imports_of(path)
        if found.target and positions(found.target)[: len(positions(module_name(path)))] > positions(module_name(path))
    ]
    assert wrong == []


def test_no_room_of_the_package_is_unlisted():
    assert {room_of(name) for name in MODULES if not name.startswith("compiler")} == {*ORDER} - {"compiler"}
    assert {name.split(".")[1] for name in MODULES if name.startswith("compiler.")} == set(COMPILER_ORDER)


def test_rooms_have_no_cycle():
    """By all imports, those for type checkers included."""
    graph = nx.DiGraph((room_of(i.module), room_of(i.target)) for path in FILES for i in imports_of(path) if i.target)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    assert list(nx.simple_cycles(graph)) == []


def test_no_modules_import_each_other_when_they_run():
    edges = ((i.module, i.target) for path in FILES for i in imports_of(path) if i.runs and i.target in MODULES - PACKAGES)
    graph = nx.DiGraph(edge for edge in edges if edge[0] != edge[1])
    cycles = [sorted(component) for component in nx.strongly_connected_components(graph) if len(component) > 1]
    assert cycles == []


def walk(tree: ast.AST, lazy: bool) -> Iterator[tuple[ast.AST, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node, lazy
        yield from walk(node, lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def test_only_the_compiler_imports_heavy_libraries_outside_functions():
    found = []
    for path in FILES:
        for node, lazy in walk(tree_of(path), False):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            heavy = [name for name in names if name.split(".")[0] in HEAVY]
            if heavy and not lazy and not module_name(path).startswith("compiler."):
                found.append(f"{module_name(path)}, line {node.lineno}: {', '.join(heavy)}")
    assert found == []


OUTER = ("compat", "interchange", "viz", "namespaces.distributions", "namespaces.utils")
"""Rooms that stand on the core and that the core does not know."""


def test_the_dialect_takes_the_core_through_one_module():
    """`compat/tf1/core.py` lists what TensorFlow 1's dialect takes of other rooms."""
    taken = {i.module for path in FILES for i in imports_of(path) if i.target and room_of(i.target) != "compat"}
    assert [module for module in sorted(taken) if module.startswith("compat")] == ["compat.tf1.core"]


def test_outer_rooms_take_what_others_give():
    """Public names, and from a room itself where it has them, not from the module in it that defines them."""
    found = []
    for path in FILES:
        parts = path.relative_to(PACKAGE).parts
        for node in ast.walk(tree_of(path)) if room_of(module_name(path)) in OUTER else ():
            if not isinstance(node, ast.ImportFrom) or node.level <= len(parts) - 1:
                continue
            room = (node.module or "").partition(".")[0]
            room = room if room == "compiler" else room_of(node.module or "")
            inner = (node.module or "") != room
            given = vars(importlib.import_module(f"staticgrad.{room}")) if inner else {}
            wrong = [alias.name for alias in node.names if alias.name.startswith("_") or alias.name in given]
            found += [f"{module_name(path)}, line {node.lineno}: {', '.join(wrong)}"] if wrong else []
    assert found == []


REACH = {
    "compat": {"compiler": 1, "ir": 1, "namespaces": 1, "ops": 12, "ops.operators": 1, "static": 4},
    "interchange": {"compiler": 2, "eager": 1, "ir": 1, "namespaces": 2, "nn": 3, "ops": 7},
    "viz": {"autodiff": 1, "compiler": 8, "eager": 3, "ir": 1, "ops": 1, "tracing": 5},
    "namespaces.distributions": {"eager": 1, "namespaces": 1, "ops": 2},
    "namespaces.utils": {"compiler": 1, "distributed": 1, "eager": 5, "namespaces": 2, "ops": 1},
}
"""How many modules inside the core's rooms the outer rooms import, beside what the rooms themselves give. A number may fall:
where one more is needed, let its room give it."""


def test_outer_rooms_reach_no_deeper_into_the_core():
    found: dict[str, dict[str, set[str]]] = {room: {} for room in OUTER}
    for path in FILES:
        for i in imports_of(path):
            outer, inner = room_of(i.module), room_of(i.target)
            inner = "compiler" if inner.startswith("compiler") else inner
            if outer in OUTER and inner not in (*OUTER, "base", outer) and i.target in MODULES - PACKAGES and "." in i.target:
                found[outer].setdefault(inner, set()).add(i.target)
    assert {outer: {room: len(into) for room, into in sorted(rooms.items())} for outer, rooms in found.items()} == REACH
