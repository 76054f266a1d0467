"""The site: MkDocs hooks that add generated pages, and a Griffe extension that documents functions made at run time."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import inspect
import itertools
import math
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import staticgrad as sg
from staticgrad.namespaces.lookup.paths import HOMES, PATHS, home

ROOT = Path(__file__).resolve().parent.parent
COPIES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Page -> the file of the checkout that it shows."""

REFERENCE: dict[str, Any] = {}
"""The menu's place of the API reference, whose pages are computed."""

MENU = [
    {"Home": "index.md"},
    {
        "Start": [
            {"Start here": "start.md"},
            {"Questions and answers": "questions.md"},
            {"The same model three ways": "modes.md"},
            {"From PyTorch": "from_torch.md"},
            {"From TensorFlow 1": "from_tf1.md"},
            {"From JAX": "from_jax.md"},
            {"How it compares": "compares.md"},
        ]
    },
    {
        "Guides": [
            {"How a step is compiled": "tour.md"},
            {"Debugging": "debugging.md"},
            {"Performance": "speed.md"},
            {"What it costs": "costs.md"},
            {"Several machines": "scale.md"},
            {"Extending": "extending.md"},
            {"Interchange": "interchange.md"},
            {"Examples": "examples.md"},
            {"Numerics": "numerics.md"},
        ]
    },
    {
        "Recipes": [
            {"A tabular model": "recipes/tabular.md"},
            {"Forecasts of a time series": "recipes/forecaster.md"},
            {"A physics-informed network": "recipes/pinn.md"},
            {"A Hamiltonian Monte Carlo sampler": "recipes/hmc.md"},
            {"From PyTorch to a shipped step": "recipes/ship.md"},
        ]
    },
    {
        "Reference": [
            {"All names": "reference/index.md"},
            REFERENCE,
            {"PyTorch's names": "torch_coverage.md"},
            {"Packages that import torch": "torch_packages.md"},
            {"TensorFlow 1's names": "tf1_names.md"},
            {"ONNX's cases": "onnx_cases.md"},
        ]
    },
    {
        "Benchmarks": [
            {"Steps and peers": "performance.md"},
            {"Programs": "programs.md"},
            {"A step, microsecond by microsecond": "digits.md"},
        ]
    },
    {
        "Development": [
            {"Stability": "stability.md"},
            {"Contributing": "contributing.md"},
            {"Architecture": "architecture.md"},
            {"Glossary": "glossary.md"},
            {"Changelog": "changelog.md"},
        ]
    },
]


def _reference() -> Any:
    """`reference.py` beside this file; a folder of documents is no package."""
    spec = importlib.util.spec_from_file_location("reference", Path(__file__).with_name("reference.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_config(config: Any) -> Any:
    """Raises PluginError for public names that no sentence describes."""
    if silent := _reference().silent():
        raise PluginError(f"public names without a sentence of their own: {', '.join(silent)}")
    REFERENCE["API"] = []
    for page in _reference().pages():
        (file, title, _), *below = page.parts()
        TITLES.update({file: title, **{part: f"{title}: {name}" for part, name, _ in below}})
        REFERENCE["API"].append({title: [{"Overview": file}, *({name: part} for part, name, _ in below)] if below else file})
    config["nav"] = MENU
    if not config["site_url"]:
        del config["extra"]["version"]  # a site in a checkout is of one version, and has no list of them
    return config


def on_files(files: Any, config: Any) -> Any:
    files.append(File.generated(config, "reference/index.md", content=_reference().index()))
    for page in _reference().pages():
        for file, text in page.files.items():
            files.append(File.generated(config, file, content=text))
    for file, text in recipes().items():
        files.append(File.generated(config, file, content=text))
    for name, source in COPIES.items():
        files.append(File.generated(config, name, content=_at_the_site((ROOT / source).read_text(encoding="utf-8"))))
    return files


def recipes() -> dict[str, str]:
    """A page for each program in `examples/recipes/`: what its docstring says, and the program."""
    found = {}
    for program in sorted((ROOT / "examples" / "recipes").glob("*.py")):
        text = program.read_text(encoding="utf-8")
        doc = ast.get_docstring(ast.parse(text)) or ""
        title, _, about = doc.partition("\n")
        code = text[text.index("from __future__") :].partition("\n")[2].strip()
        found[f"recipes/{program.stem}.md"] = f"# {title.rstrip('.')}\n{about}\n\n```python\n{code}\n```\n"
    return found


PROMINENT = {
    **dict.fromkeys(("start.md", "questions.md"), 4.0),
    **dict.fromkeys(("modes.md", "from_", "tour.md", "debugging.md", "speed.md", "costs.md", "scale.md", "extending.md"), 3.0),
    **dict.fromkeys(("interchange.md", "numerics.md", "reference/nn/"), 3.0),
    **dict.fromkeys(("architecture.md", "torch_", "tf1_names.md", "onnx_cases.md"), 0.2),
    **dict.fromkeys(("glossary.md", "contributing.md", "programs.md", "performance.md", "digits.md"), 0.3),
    **dict.fromkeys(("changelog.md", "reference/index.md"), 0.1),
    "reference/functional/": 1.2,
    "reference/cuda/": 0.1,
    "reference/tensors/": 0.8,
    "reference/distributions/": 0.5,
}
"""How much more than other pages a page counts in the search, by the beginning of its path."""

TITLES: dict[str, str] = {}
"""Titles of the pages of the reference, each of its own; the menu has shorter ones."""


def on_page_markdown(markdown: str, page: Any, **given: Any) -> str:
    path = page.file.src_uri
    page.meta["search"] = {"boost": next((boost for start, boost in PROMINENT.items() if path.startswith(start)), 1.0)}
    if path == "index.md":
        page.meta["hide"] = ["navigation"]  # a menu of itself
    if path in TITLES:
        page.meta["title"] = TITLES[path]
    return bars(markdown) if path == "performance.md" else markdown


def _at_the_site(text: str) -> str:
    """A page with the links that it has at the site, where `docs/` is the root."""
    for name, source in COPIES.items():
        text = text.replace(f"]({source})", f"]({name})")
    return text.replace("](docs/", "](")


TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
NAME = re.compile(r"<td([^>]*)>([^<\s]{1,40})</td>")
"""A cell that is one word, which a line break at its hyphens would part."""


PYTHONS = re.compile(r'<autoref\b[^>]*\bidentifier="?staticgrad\.(?:bool|float|int)\b[^>]*>(bool|float|int)</autoref>')
"""Python's own types in signatures, which Griffe takes for the dtypes of these names."""


def on_page_content(html: str, page: Any, **given: Any) -> str:
    """Tables get a box in which they scroll, also by the keyboard."""
    html = PYTHONS.sub(r"\1", html)
    numbers = itertools.count(1)

    def boxed(table: re.Match[str]) -> str:
        kind = "table names" if "<th>in short</th>" in table[0] else "table"
        cells = NAME.sub(r'<td\1><span class="name">\2</span></td>', table[0])
        return f'<div class="{kind}" role="region" aria-label="Table {next(numbers)}" tabindex="0">{cells}</div>'

    return TABLE.sub(boxed, html)


def on_post_page(output: str, page: Any, **given: Any) -> str:
    """The theme's search has no name for screen readers."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def on_post_build(config: Any) -> None:
    """The search leaves out the words of a question that say nothing of its subject; see `search.js`."""
    (worker,) = (Path(config["site_dir"]) / "assets/javascripts/workers").glob("search.*.js")
    theirs = worker.read_text(encoding="utf-8")
    worker.write_text(Path(__file__).with_name("search.js").read_text(encoding="utf-8") + theirs, encoding="utf-8")


def bars(markdown: str) -> str:
    """The table of steps as a chart: how many times as long the fastest peer takes, on a logarithmic axis."""
    lines = markdown[markdown.index("## Steps") :].splitlines()
    head = [cell.strip() for cell in lines[2].strip("|").split("|")]
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[4:])
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    ratio, peer = head.index("peer / ours"), head.index("fastest peer")
    found = [(row[0], float(row[ratio]), row[peer].split()[0]) for row in cells if row[ratio] and "malloc keeps" not in row[0]]
    found.sort(key=lambda row: -row[1])
    left, right, height = 190, 560, 18

    def at(value: float) -> float:
        return left + (right - left) * math.log(value / 0.5) / math.log(max(r for _, r, _ in found) / 0.5)

    parts = []
    for i, (name, value, beside) in enumerate(found):
        y, kind = 8 + i * height, "ours" if value >= 1 else "behind"
        start, end = sorted((at(1), at(value)))
        parts.append(
            f'<text x="{left - 24}" y="{y + 11}" text-anchor="end">{name}</text>'
            f'<rect class="{kind}" x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{height - 5}"/>'
            f'<text x="{end + 5:.1f}" y="{y + 11}">{value:.1f} {beside}</text>'
        )
    tall = 12 + len(found) * height
    line = f'<line class="one" x1="{at(1):.1f}" x2="{at(1):.1f}" y1="0" y2="{tall}"/>'
    label = "Times of the fastest peer in ours, from largest to smallest: the table below has them"
    picture = f'<svg class="bars" role="img" aria-label="{label}" viewBox="0 0 680 {tall}">{line}{"".join(parts)}</svg>'
    words = "How many times as long as our compiled step the fastest peer's takes; the dashed line is 1."
    return markdown.replace("## Steps", f"## At a glance\n\n{words}\n\n{picture}\n\n## Steps", 1)


# functions made at run time ---------------------------------------------------------------------------------------------


STUBS = Path(__file__).resolve().parents[1] / "staticgrad-stubs"
"""What type checkers read of the names that modules of the package don't have in their source."""


class RunTime(griffe.Extension):
    """Functions and methods that op records make have a signature and a docstring only once the package is imported."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        for name in HOMES:
            pkg.set_member(name, griffe.Alias(name, f"staticgrad.{home(name)}", parent=pkg))
        for file in sorted(STUBS.glob("*.pyi")):
            stub = griffe.visit(file.stem, filepath=file, code=file.read_text(encoding="utf-8"), parent=pkg)
            if file.stem == "__init__":
                named = {name: x for name, x in stub.members.items() if x.is_alias and name not in pkg.members}
                for name, member in named.items():
                    pkg.set_member(name, griffe.Alias(name, member.target_path.replace(".__init__", ""), parent=pkg))
            elif f"namespaces.{file.stem}" in (PATHS.get(file.stem) or ()):
                pkg.set_member(file.stem, griffe.Alias(file.stem, f"staticgrad.namespaces.{file.stem}", parent=pkg))
            elif file.stem not in HOMES or file.stem == "torch_names":
                pkg.set_member(file.stem, stub)
        for path in ("staticgrad.torch_names", *_reference().modules()):
            module, source = importlib.import_module(path), pkg[path.partition(".")[2]]
            source = source.final_target if source.is_alias else source
            for name in _reference().exports(module):
                member, value = source.members.get(name), getattr(module, name)
                if callable(value) and (member is None or _is_attribute(member)):
                    source.set_member(name, _made(name, value))
        functions = importlib.import_module("staticgrad.namespaces.lookup.torch_names").__all__
        for name in _reference().exports(sg):
            value, member = getattr(sg, name), pkg.members.get(name)
            if member is None and name in functions:  # exported without being named in the source
                pkg.set_member(name, griffe.Alias(name, f"staticgrad.torch_names.{name}", parent=pkg))
            elif callable(value) and (member is None or _is_attribute(member)):
                pkg.set_member(name, _made(name, value))
            elif not callable(value):  # a number, or a dtype: `bool` in annotations is not the alias of `sg.bool_`
                plain = isinstance(value, (int, float, str))
                other = member.target_path.rpartition(".")[2] if member is not None and member.is_alias else name
                shown = repr(value) if plain else other if other != name else None
                text = griffe.Docstring("" if plain else inspect.getdoc(value) or "")
                pkg.set_member(name, griffe.Attribute(name, value=shown, docstring=text, parent=pkg))
            elif member.is_alias and member.final_target.is_module:  # a name that a module has too
                pkg.set_member(name, griffe.Alias(name, f"{value.__module__}.{value.__qualname__}", parent=pkg))
        _complete(pkg)
        tensor = pkg["eager.tensor.Tensor"]  # sg.Tensor is made of it, with a metaclass of its own
        pkg.set_member("Tensor", griffe.Alias("Tensor", tensor.path, parent=pkg))
        known = {name for base in inspect.getmro(sg.Tensor) for name in _written(pkg, base)}
        for name, value in inspect.getmembers(sg.Tensor, callable):
            if not name.startswith("_") and name not in known:
                tensor.set_member(name, _function(name, value))


def _complete(pkg: griffe.Module) -> None:
    """Docstrings get the facts and the examples that are stored beside the package; of aliases, that of their target once."""
    reference, done = _reference(), set()
    for path in reference.names():
        member: Any = pkg[path.removeprefix("staticgrad.")]
        member = member.final_target if member.is_alias else member
        if id(member) not in done:
            done.add(id(member))
            doc = member.docstring.value if member.docstring else ""
            member.docstring = griffe.Docstring(reference.completed(path, doc), parent=member)
            if member.is_class:
                for base in inspect.getmro(reference.value_of(path)):
                    _hide_data(pkg, base)
                _complete_members(member, reference.value_of(path))


ATTRIBUTES = frozenset(
    ("Distribution.arg_constraints", "DistributedDataParallel.require_forward_param_sync", "Graph.outputs",
     "Module.call_super_init", "Plan.ir", "Plan.strict", "Variable.initializer")
)  # fmt: skip
"""Data of objects that users read or set."""


def _hide_data(pkg: griffe.Module, cls: type) -> None:
    """What is no method and no property of a class is not public."""
    for name, member in _written(pkg, cls).items():
        if member.is_attribute and "property" not in member.labels and f"{cls.__name__}.{name}" not in ATTRIBUTES:
            member.parent.del_member(name)


def _complete_members(source: griffe.Class, cls: type) -> None:
    """Methods get their parameters as lists, as functions do."""
    for name, member in source.members.items():
        value = getattr(cls, name, None)
        if not name.startswith("_") and member.is_function and callable(value) and member.docstring:
            text, sign, example = member.docstring.value.partition("\n\nExamples:\n")
            whole = _reference().described_with_parameters(value, text) + sign + example
            member.docstring = griffe.Docstring(whole, parent=member)


def _resolves(member: griffe.Alias) -> bool:
    try:
        return member.final_target is not None
    except griffe.AliasResolutionError:
        return False


def _written(pkg: griffe.Module, base: type) -> dict[str, Any]:
    """The members of a class that its source has; none of a class that a function makes."""
    path = f"{base.__module__}.{base.__qualname__}".partition(".")[2]
    with contextlib.suppress(KeyError):
        return dict(pkg[path].members) if base.__module__.startswith("staticgrad.") else {}
    return {}


def _is_attribute(member: Any) -> bool:
    """Whether the source has an assignment there: what is assigned has a signature only at run time."""
    if not member.is_alias:
        return bool(member.is_attribute)
    return not _resolves(member) or member.final_target.is_attribute


def _made(name: str, value: Any) -> griffe.Class | griffe.Function:
    """A class or a function made at run time."""
    if not inspect.isclass(value):
        return _function(name, value)
    made = griffe.Class(name)
    made.docstring = griffe.Docstring(inspect.getdoc(value) or "", parent=made)
    start = _function("__init__", value)
    start.docstring = None  # that of the class says it
    made.set_member("__init__", start)
    return made


def _function(name: str, value: Any) -> griffe.Function:
    parameters = [
        griffe.Parameter(
            p.name,
            annotation=None,
            kind=griffe.ParameterKind[p.kind.name.lower()],
            default=None if p.default is p.empty else repr(p.default),
        )
        for p in inspect.signature(value).parameters.values()
    ]
    made = griffe.Function(name, parameters=griffe.Parameters(*parameters))
    made.docstring = griffe.Docstring(inspect.getdoc(value) or "", parent=made)
    return made
