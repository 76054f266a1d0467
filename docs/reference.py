"""The pages of the API reference, computed from the package's exports: no name is typed by hand."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import itertools
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

import staticgrad as sg
from staticgrad.eager import conversion
from staticgrad.namespaces.lookup import torch_names as functions_of_tensors
from staticgrad.namespaces.lookup.paths import HOMES
from staticgrad.ops.operators import Operators


def _beside(name: str) -> Any:
    """A module in this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


typeset = _beside("formulas").typeset

ROOMS = {
    "tensors": ("Tensors", ("eager", "base", "random", "amp")),
    "functions": ("Functions of tensors", ("functions", "torch_names", "functional", "ops", "operators", "func")),
    "graphs": ("Graphs and sessions", ("static",)),
    "compile": ("Compile", ("tracing", "compiler", "numba_ops")),
    "training": ("Training", ("utils",)),
    "inspect": ("Inspect and exchange", ("ir", "interchange", "serialization", "viz", "namespaces")),
    "errors": ("Errors", ("errors",)),
}
"""Page -> its title, and the rooms of the package whose exports in `sg.__all__` it lists."""

UNLISTED = ("staticgrad.safetensors",)
"""Public modules that no other module exports."""

RETURNED = {
    "compile": ("staticgrad.tracing.function.CompiledFunction", "staticgrad.compiler.execute.plan.Plan"),
    "inspect": ("staticgrad.viz.comparison.Comparison",),
    "training": ("staticgrad.utils.training.History",),
}
"""Classes that have no public name, because users get their instances from public functions."""


PRESUMED = """Examples presume these imports:

```python
import numpy as np
import staticgrad as sg
from staticgrad import functional as F, nn, optim
```
"""


class Page(NamedTuple):
    name: str
    title: str
    about: str
    paths: tuple[str, ...]
    """Dotted paths of what it documents."""

    @property
    def file(self) -> str:
        return f"reference/{self.name}.md"

    @property
    def files(self) -> dict[str, str]:
        """The page, and those of its classes and families where it has more than fit on one: titles and texts by file."""
        return {file: text for file, _, text in self.parts()}

    def parts(self) -> list[tuple[str, str, str]]:
        """(file, title, text) of the page, whose tables have all its names, and of those below it."""
        found = families([path for path in self.paths if names()[path] == path])
        others = [path for path in self.paths if names()[path] != path]
        head = [f"# {self.title}", self.about]
        tables = [table(others)] if others else []
        if len(found) < 2:
            whole = [table(paths) for paths in found.values()] + tables + [PRESUMED]
            directives = [directive(path) for paths in found.values() for path in paths]
            return [(self.file, self.title, "\n\n".join([*head, *whole, *directives]) + "\n")]
        parts = []
        for title, paths in found.items():
            file = f"reference/{self.name}/{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')}.md"
            head += [f"## [{title}]({file.removeprefix('reference/')})", table(paths)]
            own = [f"# {title}", *([table(paths)] if len(paths) > 1 else []), PRESUMED, *map(directive, paths)]
            parts.append((file, title, "\n\n".join(own) + "\n"))
        return [(self.file, self.title, "\n\n".join([*head, *tables]) + "\n"), *parts]


MOST = 25
"""Names on one page."""
MEMBERS = 11
"""Own methods from which on a class has a page of its own."""
FAMILIES = {
    "rules": "Elementwise",
    "elementwise": "Elementwise",
    "torch_names": "Others",
    "staticgrad": "Others",
    "builtins": "Others",
}
"""Titles of families whose modules tell less."""


def families(paths: Sequence[str]) -> dict[str, list[str]]:
    """Names by the title of their page: large classes, and what one module defines. One family where all fit on one page."""
    large = [path for path in paths if inspect.isclass(value_of(path)) and len(members(value_of(path))) >= MEMBERS]
    if len(paths) <= MOST and len(large) < 2:
        return {"": list(paths)}
    found: dict[str, list[str]] = {}
    for path in paths:
        home = str(getattr(value_of(path), "__module__", None) or "builtins").rpartition(".")[2]
        title = path.rpartition(".")[2] if path in large else FAMILIES.get(home, home.replace("_", " ").capitalize())
        found.setdefault(title, []).append(path)
    few = [title for title, own in found.items() if len(own) < 3 and own[0] not in large and title != "Others"]
    for title in few:
        found.setdefault("Others", []).extend(found.pop(title))
    parted: dict[str, list[str]] = {}
    for title in sorted(found, key=lambda title: (title == "Others", title.lower())):
        own = sorted(found[title], key=str.lower)
        for part in _even(own):
            ends = " to ".join(path.rpartition(".")[2] for path in (part[0], part[-1]))
            parted[title if len(own) <= MOST else f"{title}: {ends}"] = part
    return parted


def described(cls: type) -> list[type]:
    """The bases of a class that have an entry of their own; of all kinds of tensors `sg.Tensor` is one."""
    found = [base for base in inspect.getmro(cls)[1:] if _is_public(base)]
    return [*found, sg.Tensor] if issubclass(cls, Operators) and cls is not sg.Tensor else found


def _even(paths: list[str]) -> list[list[str]]:
    """Parts of nearly one size."""
    count = -(-len(paths) // MOST)
    ends = [len(paths) * i // count for i in range(count + 1)]
    return [paths[a:b] for a, b in itertools.pairwise(ends)]


def table(paths: Sequence[str]) -> str:
    """Names with their first sentences."""
    rows = [f"| [`{short(path)}`][{names()[path]}] | {sentence(path)} |" for path in paths]
    return "\n".join(["| name | in short |", "|---|---|", *rows])


def short(path: str) -> str:
    return f"sg.{path.removeprefix('staticgrad.')}"


def sentence(path: str) -> str:
    """What a name's description begins with, for a cell of a table."""
    value = value_of(path)
    text = explained((inspect.getdoc(value) or "") if callable(value) or inspect.isclass(value) else "")
    first = re.split(r"(?<=[.:])\s+[A-Z`\[]|\n\n", f"{text}\n\n", maxsplit=1)[0]
    return plain(" ".join(first.split()).replace("|", "\\|"))


def plain(text: str) -> str:
    """Prose in which stars are stars: the sign of a product, and of a power."""
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(part if part.startswith("`") else part.replace("*", "\\*") for part in parts)


REFERS = re.compile(r"(?:As )?`(?:nn\.)?functional\.(\w+)`[.,]")
"""A description that begins with a function in place of words: layers, and PyTorch's other names of functions."""


def explained(doc: str) -> str:
    """A docstring in which a function that it refers to at once is followed by what that does."""
    found = REFERS.match(doc)
    own = inspect.getdoc(getattr(importlib.import_module("staticgrad.functional"), found[1], None)) if found else None
    if found is None or not own:
        return doc
    first = re.split(r"\.\s", f"{own} ", maxsplit=1)[0]
    return f"{found[0][:-1].replace('As ', '')}: {first[:1].lower()}{first[1:]}. {doc[found.end() :].strip()}".rstrip()


def index() -> str:
    """All public names by their first letter."""
    letters: dict[str, list[str]] = {}
    for path in sorted(names(), key=lambda path: (path.rpartition(".")[2].lower(), path)):
        letters.setdefault(path.rpartition(".")[2].strip("_")[:1].upper(), []).append(path)
    parts = [
        f"## {letter}\n\n" + ", ".join(f"[`{short(p)}`][{names()[p]}]" for p in own) for letter, own in sorted(letters.items())
    ]
    return "\n\n".join(["# Index of names", "Every public name. The search finds them, too.", *parts]) + "\n"


def directive(path: str) -> str:
    """The line that mkdocstrings replaces; a class has the members of its bases too where these have no page entry."""
    value = value_of(path)
    if not inspect.isclass(value):
        return f"::: {path}"
    inherits = not described(value)
    options = ["inherited_members: true"] if inherits else []
    if hidden := internal(value):
        options.append(f'filters: ["!^_", "!^({"|".join(sorted(hidden))})$"]')
    return "\n      ".join([f"::: {path}", *options]).replace("\n", "\n    options:\n", 1)


INTERNAL = {
    "AccumulateGrad": "previous_functions",
    "Adam": "moments",
    "Adamax": "moments",
    "CompiledFunction": "keywords marks moving of on_break run_steps segmented specialization_of templates",
    "Generator": "take",
    "Graph": "add append awaited by_name claim_name finish generated_base give_name given_name name_key name_of of prune "
    "reaching standing_for unique_name updates_needed_by uses withdraw",
    "LRScheduler": "closed_form momenta",
    "Module": "structure",
    "MultivariateNormal": "half_log_det",
    "LowRankMultivariateNormal": "half_log_det mahalanobis",
    "NAdam": "moments",
    "Node": "add_hook began free freed leads_to node place previous_functions requires_grad result siblings where",
    "Optimizer": "ascent check counts first has_rule kept parameters scalars sense start structure updates",
    "PackedSequence": "with_data",
    "ParamGroup": "check structure uses",
    "Plan": "alone assemble atomic bind call_host execute fail finish give_back held only_moves paused place "
    "read_hyperparameters read_numbers run run_one run_unjitted run_watched sparse stage start stopped_at take_draws written",
    "RAdam": "moments",
    "RNNBase": "cell nonlinearity",
    "SpectralNorm": "iterate matrix",
    "Tensor": "creator",
    "Variable": "cell creator describe operand",
    "Wishart": "digammas",
    "_Activation": "function",
    "_Amount": "chosen",
    "_Decorator": "again",
    "_FractionalMaxPool": "function",
    "LazyModuleMixin": "extent_of shapes",
    "profile": "note",
}
"""Names of members that other rooms of the package use, and users don't: they are no part of the reference, and may change."""


def internal(cls: type) -> frozenset[str]:
    """The names of a class's members that are internal."""
    return frozenset(name for kind in inspect.getmro(cls) for name in INTERNAL.get(kind.__name__, "").split())


# examples ---------------------------------------------------------------------------------------------------------------


EXAMPLES = Path(__file__).with_name("reference")
"""A file per page: the examples of names whose docstrings have none. `python -m tools.reference_examples` writes them."""

FACTS = EXAMPLES / "facts.txt"
"""A line per function of tensors, module and optimizer, measured by the same program: shapes, dtypes, gradients, errors."""


def value_of(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def members(cls: type) -> list[str]:
    """The methods and properties that a class's entry documents."""
    inherited = {name for base in described(cls) for name in dir(base)}
    own = [name for name in dir(cls) if not name.startswith("_") and name not in inherited | internal(cls)]
    return [
        name for name in own if isinstance(inspect.getattr_static(cls, name), property) or callable(getattr(cls, name, None))
    ]


def silent() -> list[str]:
    """Public names and members without a sentence."""
    found = []
    for path, key in names().items():
        value = value_of(path)
        if path == key and callable(value) and not (inspect.getdoc(value) or "").strip():
            found.append(path)
        if path == key and inspect.isclass(value):
            static = {name: inspect.getattr_static(value, name) for name in members(value)}
            texts = {
                name: inspect.getdoc(at if isinstance(at, property) else getattr(value, name)) for name, at in static.items()
            }
            found += [f"{path}.{name}" for name, text in texts.items() if not (text or "").strip()]
    return found


@cache
def names() -> dict[str, str]:
    """Each documented path, and the first path of the same function or class: examples are stored under that."""
    first: dict[int, str] = {}
    found = {}
    for page in pages():
        for path in page.paths:
            value = value_of(path)
            found[path] = first.setdefault(id(value), path) if callable(value) else path
    return found


@cache
def page_of() -> dict[str, str]:
    """Each documented path, and the name of the first page that lists it."""
    return {path: page.name for page in reversed(pages()) for path in page.paths}


def parsed(text: str) -> dict[str, str]:
    """The entries of a file: a name that begins a line, and the indented lines below it."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith(" "):
            lines = found[line] = []
        else:
            lines.append(line.removeprefix("    "))
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}


@cache
def examples() -> dict[str, str]:
    """The stored examples, by path."""
    files = sorted(EXAMPLES.glob("*.txt"))
    return {k: v for file in files if file != FACTS for k, v in parsed(file.read_text(encoding="utf-8")).items()}


@cache
def facts() -> dict[str, str]:
    return parsed(FACTS.read_text(encoding="utf-8")) if FACTS.exists() else {}


TORCH = {"staticgrad": "torch", "staticgrad.functional": "torch.nn.functional"}
"""PyTorch's names of our modules, where these differ by more than the first word."""


@cache
def modes() -> dict[str, str]:
    """Where functions of PyTorch's names work, by their full names there: `torch_coverage.md` has the measured table."""
    found, space = {}, ""
    for line in Path(__file__).with_name("torch_coverage.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("### `"):
            space = line.strip("# `")
        elif line.startswith("#"):
            space = ""  # the tables of other parts have other columns
        elif line.startswith("| `") and space:
            name, *cells = (cell.strip(" `") for cell in line.strip("|").split("|"))
            compiled = {"native": ["native code when compiled"], "host": ["a call of the host when compiled"]}.get(cells[4], [])
            words = [*compiled, *(word for word, cell in zip(("vmap", "jvp"), cells[5:], strict=True) if cell == "✓")]
            found[f"{space}.{name}"] = f"Modes: {', '.join(words)}." if words else ""
    return found


def in_modes(path: str) -> str:
    module, _, name = path.rpartition(".")
    return modes().get(f"{TORCH.get(module, module.replace('staticgrad', 'torch', 1))}.{name}", "")


def completed(path: str, doc: str) -> str:
    """A docstring as the site shows it: typeset formulas, its parameters as a list, the measured facts, PyTorch's page, and the
    stored example where it has none."""
    key = names()[path]
    text, _, example = explained(doc).partition("\n\nExamples:\n")
    example = example or indent(examples().get(key, ""), "    ")
    known = " ".join(filter(None, (facts().get(key, ""), in_modes(key))))
    listed = "\n".join(f"- **{name}**: {fact}" for name, fact in FACT.findall(known))
    theirs = "\n".join(filter(None, (listed, f"- **In PyTorch**: {in_torch(key)}" if in_torch(key) else "")))
    alias = f"The same as [`sg{key.removeprefix('staticgrad')}`][{key}]." if key != path else ""
    parts = (described_with_parameters(value_of(path), text), alias, theirs, f"Examples:\n{example}" if example else "")
    return "\n\n".join(filter(None, parts)).strip()


FACT = re.compile(r"([A-Z][a-z]+(?: in the example)?): (.*?)\.(?=\s[A-Z][a-z]+(?: in the example)?: |$)", re.DOTALL)
"""One of the measured facts."""

PARAMETERS = Path(__file__).with_name("parameters.txt")
"""What parameters of a name mean wherever a docstring does not say more."""


@cache
def meanings() -> dict[str, str]:
    lines = PARAMETERS.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)


def meaning(name: str, place: str) -> str:
    """What a name means where a docstring says nothing of it; `name@word` is its meaning in places whose name has the word."""
    for key, text in meanings().items():
        if "@" in key and key.partition("@")[0] == name and key.partition("@")[2] in place:
            return text
    return meanings().get(name, "")


def parameters_of(value: Any) -> list[inspect.Parameter]:
    """Those that callers write."""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    passed_on = {("args", inspect.Parameter.VAR_POSITIONAL), ("kwargs", inspect.Parameter.VAR_KEYWORD)}
    hidden = ("self", "cls")
    return [p for p in found if p.name not in hidden and not p.name.startswith("_") and (p.name, p.kind) not in passed_on]


def described_with_parameters(value: Any, text: str) -> str:
    """A description with its formulas typeset and a list of parameters: what it says of each, or what the name means."""
    given = parameters_of(value)
    shown = typeset(text, {p.name for p in given})
    shown = shown if shown != text else plain(text)
    if not given or re.search(r"^(Args|Arguments|Parameters):$", text, re.MULTILINE):
        return shown
    prose, place = " ".join(text.split()), getattr(value, "__qualname__", "").lower()
    lines = [f"    {p.name}: {said_of(p.name, prose) or meaning(p.name, place)}".rstrip() for p in given]
    return "\n\n".join(filter(None, (shown, "Args:\n" + "\n".join(line if ": " in line else f"{line} " for line in lines))))


def said_of(name: str, prose: str) -> str:
    """The clause of a description that is about a parameter."""
    written = rf"`{re.escape(name)}`|{re.escape(name)}"
    found = re.search(rf"(?:^|[.;,:] )(?:{written})(?: \([^)]*\))?: ([^;]+?)(?=[.;](?:\s|$)|$)", prose)
    found = found or re.search(
        rf"(?:^|[.;:] )`{re.escape(name)}` ((?:is|are|adds?|gives?|says?|names?|may)\b[^;]+?)(?=[.;](?:\s|$)|$)", prose
    )
    return found[1].strip() if found else ""


TORCH_PAGES = {
    "torch": "torch.{}",
    "torch.nn": "torch.nn.{}",
    "torch.nn.functional": "torch.nn.functional.{}",
    "torch.optim": "torch.optim.{}",
    "torch.optim.lr_scheduler": "torch.optim.lr_scheduler.{}",
    "torch.linalg": "torch.linalg.{}",
    "torch.fft": "torch.fft.{}",
    "torch.func": "torch.func.{}",
}
"""The pages of PyTorch's documentation that have one name each."""


@cache
def torch_names() -> dict[str, frozenset[str]]:
    known = json.loads((Path(__file__).parents[1] / "tools" / "torch_names.json").read_text(encoding="utf-8"))
    return {space: frozenset(own) for space, own in known.items() if isinstance(own, list)}


def in_torch(path: str) -> str:
    """A link to the page of PyTorch's documentation, for names that it documents."""
    module, _, name = path.rpartition(".")
    space = TORCH.get(module, module.replace("staticgrad", "torch", 1))
    if space not in TORCH_PAGES or name not in torch_names().get(space, ()):
        return ""
    page = TORCH_PAGES[space].format(name)
    return f"[`{page}`](https://docs.pytorch.org/docs/stable/generated/{page}.html)"


def _is_public(cls: type) -> bool:
    homes = [sg, *map(importlib.import_module, modules())]
    return any(getattr(home, cls.__name__, None) is cls and cls.__name__ in exports(home) for home in homes)


def exports(module: Any) -> list[str]:
    """The public names of a module, without its submodules: `__all__`, or where there is none what it defines."""
    if hasattr(module, "__all__"):
        names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
        return [name for name in names if not name.startswith("__")]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


@cache
def modules() -> tuple[str, ...]:
    """The public modules: those that the package exports, those that these export, and so on."""
    found: dict[str, None] = {}

    def visit(module: Any) -> None:
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.ismodule(value) and value.__name__.startswith("staticgrad."):
                of_root = f"staticgrad.{name}" if module is sg and name in HOMES else None
                path = of_root or value.__name__.replace("staticgrad.namespaces.", "staticgrad.", 1)
                if path not in found and path != "staticgrad.cuda.amp":  # the former names of `sg.amp`
                    found[path] = None
                    visit(value)

    visit(sg)
    return (*found, *UNLISTED)


def room_of(name: str) -> str:
    """The room of the package that a public name comes from."""
    if name in sg._LAZY:
        return _top(sg._LAZY[name].removeprefix("."))
    value = getattr(sg, name)
    if name in conversion.__all__ or name in functions_of_tensors.__all__:
        return "functions"
    module = getattr(value, "__module__", None) or "staticgrad.base.types"  # dtypes are objects of NumPy
    root, _, below = module.replace("staticgrad.namespaces.", "staticgrad.", 1).partition(".")
    return "eager" if module == "staticgrad" else _top(below) if root == "staticgrad" else "base"


def _top(module: str) -> str:
    """The first word of a module's public name below the package."""
    at = {place: name for name, place in HOMES.items() if f"{module}.".startswith(f"{place}.")}
    return at[max(at, key=len)] if at else module.partition(".")[0]


def pages() -> list[Page]:
    """All pages of the reference, in the order of the site's menu."""
    names = exports(sg)
    by_room = [
        Page(
            page,
            title,
            "",
            (
                *(f"staticgrad.{name}" for name in sorted(names, key=str.lower) if room_of(name) in rooms),
                *RETURNED.get(page, ()),
            ),
        )
        for page, (title, rooms) in ROOMS.items()
    ]
    by_module = []
    for path in modules():
        module, name = importlib.import_module(path), path.removeprefix("staticgrad.")
        paths = tuple(f"{path}.{export}" for export in exports(module))
        if paths:
            by_module.append(Page(name.replace(".", "-"), f"sg.{name}", inspect.getdoc(module) or "", paths))
    return by_room + by_module
