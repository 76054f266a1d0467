"""Write what follows from op records: stubs of public functions and of the methods of tensors, and a table of errors.

Functions are made of op records and methods are bound to classes when the package is imported, which no checker follows.
This program imports the package and writes what it finds: names, parameters, annotations and docstrings. A signature is
mended where it is written, in the package.

    staticgrad-stubs/                a partial stub package, as PEP 561 has it, of what no checker finds in the package:
        __init__.pyi                     the names of the package
        ops/operators/interface.pyi      classes that hold the signatures of functions and methods
        torch_names.pyi, special.pyi, ...    the functions that these modules export
        autograd/, utils/, ...           the modules that stand elsewhere (`namespaces/lookup/paths.py`)
        compat/tf1/                      TensorFlow's namespaces, see `tf1_stubs.py`
    staticgrad/ops/late_names.py     what modules enter that are imported late, see `late_names.py`
    docs/numerics.md                 in its table, the errors of elementary functions

All stubs are there: where there is a stub package, pyright reads no stub of the package itself.

    python -m tools.stubs            write the files
    python -m tools.stubs --check    exit with 1 if a file is not what would be written
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, get_overloads

import staticgrad as sg
from staticgrad import fft
from staticgrad.base.tables import LateMethod
from staticgrad.eager import PublicTensor
from staticgrad.ir import REGISTRY, Pointwise
from staticgrad.namespaces.lookup.paths import HOMES, PATHS, home
from staticgrad.ops import return_types
from staticgrad.ops.linear_algebra import LINALG
from staticgrad.ops.operators import SPECIAL, Operators, Symbol, public_functions
from tools import late_names, tf1_stubs

PACKAGE = Path(__file__).resolve().parent.parent / "staticgrad"
STUBS = PACKAGE.with_name("staticgrad-stubs")
TARGET = STUBS / "ops" / "operators" / "interface.pyi"
NUMERICS = PACKAGE.parent / "docs" / "numerics.md"
WIDTH = 127

HEADER = '"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""'
MODULES = {
    "collections.abc": ("Callable", "Iterable", "Iterator", "Mapping", "Sequence"),
    "typing": ("Any", "Literal", "overload"),
    "...eager.tape": ("Handle", "Record"),
    "...ir": ("Graph", "Node"),
    "..": ("return_types",),
    "...base.types": ("Axis", "DTypeLike", "ShapeLike"),
    ".annotations": ("Array", "Carry", "Index", "Output", "TensorLike", "Tensors"),
    ".dispatch": ("Count", "Size"),
    ".symbols": ("GradFn",),
}
"""Where the stub imports the names of annotations from; classes that a signature's own module knows need no entry."""
OTHER_NAMES = {"AnyTensor": "Tensor", "PublicTensor": "Tensor"}
"""What the package calls the tensor of any mode where `Tensor` is the eager one."""

PRIVATE = (
    "__init__", "__getitem__", "__setitem__", "__len__", "__iter__", "__contains__", "__bool__", "__int__", "__float__",
    "__index__", "__format__", "__deepcopy__", "__array__", "__dlpack__", "__dlpack_device__", "__add__", "__radd__", "__sub__",
    "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__",
    "__pow__", "__rpow__", "__matmul__", "__rmatmul__", "__and__", "__rand__", "__or__", "__ror__", "__xor__", "__rxor__",
    "__neg__", "__pos__", "__abs__", "__invert__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__hash__",
    "_version",
)  # fmt: skip
WORDS = ("axis", "dim", "keepdim", "keepdims")
"""Names of arguments that stand in signatures beside a function's own; other synonyms are for callers without a checker."""
RETURNS = dict.fromkeys(("grad_fn", "creator"), "Record | GradFn | None")
"""What differs from mode to mode."""
IN_PARTS = frozenset(
    ("atleast_1d", "broadcast_tensors", "chunk", "meshgrid", "split", "split_copy", "split_with_sizes", "split_with_sizes_copy",
     "tensor_split", "unbind", "unbind_copy", "unravel_index", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes")
)  # fmt: skip
"""Functions whose tuples are of tensors. Their own annotations leave it open, because a tensor of any mode is one."""
GRAPH_ONLY = ("eval", "graph", "node", "op")
"""What tensors of a graph have beyond the others."""
ATTRIBUTES = {"graph": "Graph", "name": "str", "node": "Node"}
"""Attributes that are neither methods nor properties."""


class Names(ast.NodeTransformer):
    """Annotations as they are written in the stub, where methods hide builtins of the same name."""

    def __init__(self, hidden: set[str]):
        self.hidden = hidden
        self.scope: Mapping[str, Any] = {}
        """The names of the module whose annotations are read."""
        self.origins: dict[str, str] = {"overload": "typing"}
        """Where names come from that the stub has to import."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = OTHER_NAMES.get(node.id, node.id)
        if hasattr(builtins, name):
            return ast.Attribute(ast.Name("builtins"), name) if name in self.hidden else ast.Name(name)
        if name not in ("Tensor", "builtins", "np"):
            self.origins[name] = self.origin(name)
        return ast.Name(name)

    def origin(self, name: str) -> str:
        for module, names in MODULES.items():
            if name in names:
                return module
        found = getattr(self.scope.get(name), "__module__", "")
        if not found.startswith("staticgrad."):
            raise LookupError(f"the stub can't import {name}, of an annotation: add it to MODULES")
        return ".." + found.removeprefix("staticgrad")


class Writer:
    """The text of one class of the stub."""

    def __init__(self, name: str, doc: str, members: set[str], *, static: bool):
        self.lines = [f"class {name}:", f'    """{doc}"""', ""]
        self.names = Names(members)
        self.static = static

    def annotation(self, value: Any) -> str:
        text = value if isinstance(value, str) else getattr(value, "__name__", str(value))
        return ast.unparse(self.names.visit(ast.parse(text, mode="eval").body))

    def parameter(self, p: inspect.Parameter) -> str:
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        kind = "Any" if p.annotation is p.empty else self.annotation(p.annotation)
        plain = isinstance(p.default, (bool, int, float, str, type(None), tuple))
        default = "" if p.default is p.empty else f" = {p.default!r}" if plain else " = ..."
        return f"{stars}{p.name}: {kind}{default}"

    def signature(self, parameters: list[inspect.Parameter], returns: Any) -> str:
        """As it stands between the name and the colon. Parameters that can be given by keyword only follow a star."""
        parts = [] if self.static else ["self"]
        starred = False
        for p in parameters:
            if p.kind is p.KEYWORD_ONLY and not starred:
                parts.append("*")
            starred = starred or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
            parts.append(self.parameter(p))
        result = "Any" if returns is inspect.Signature.empty else self.annotation(returns)
        return f"({', '.join(parts)}) -> {result}"

    def function(self, name: str, signatures: list[str], doc: str | None, *decorators: str) -> None:
        ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        for i, signature in enumerate(signatures):
            if len(signatures) > 1:
                self.lines.append("    @overload")
            self.lines += [f"    @{decorator}" for decorator in (*decorators, *(("staticmethod",) if self.static else ()))]
            text = f"    def {name}{signature}:"
            if len(text) + 4 > WIDTH:
                text = self.folded(text)
            last = doc is not None and i == len(signatures) - 1
            if not last or doc is None:
                self.lines.append(f"{text} ...{ignore}")
                continue
            self.lines.append(f"{text}{ignore}")
            body = f'"""{inspect.cleandoc(doc)}' + ('\n"""' if "\n" in doc.strip() else '"""')
            self.lines += [line for text in body.split("\n") for line in self.wrapped(text)]
        self.lines.append("")

    @staticmethod
    def wrapped(text: str) -> list[str]:
        """A line of a docstring in the stub's indentation."""
        return textwrap.wrap(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8, break_long_words=False) or [""]

    @staticmethod
    def folded(text: str) -> str:
        """A long signature, one parameter to a line."""
        head, _, rest = text.partition("(")
        inner, _, tail = rest.rpartition(") ->")
        depth, parts = 0, [""]
        for letter in inner:
            depth += (letter in "[(") - (letter in "])")
            if letter == "," and not depth:
                parts.append("")
            else:
                parts[-1] += letter
        return "\n".join([f"{head}(", *(f"        {part.strip()}," for part in parts), f"    ) ->{tail}"])


def spellings(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> list[list[inspect.Parameter]]:
    """The signatures of a function that takes other names of its arguments (`function.synonyms`: other name -> its own):
    PyTorch's `dim` for NumPy's `axis`, as one more keyword or, where the argument has to be given, instead of it. Of `*sizes`
    it takes a sequence by name, too."""
    own = {p.name: p for p in parameters}
    synonyms: dict[str, str] = getattr(function, "synonyms", {})
    if synonyms and any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [parameters, [p.replace(kind=p.KEYWORD_ONLY) if p.kind is p.VAR_POSITIONAL else p for p in parameters]]
    others = {other: own[name] for other, name in synonyms.items() if other in WORDS and name in own}
    if all(p.default is not p.empty for p in others.values()):
        return [parameters + [p.replace(name=other, kind=p.KEYWORD_ONLY) for other, p in others.items()]]
    renamed = {p.name: other for other, p in others.items()}
    return [parameters, [p.replace(name=renamed.get(p.name, p.name), kind=p.KEYWORD_ONLY) for p in parameters]]


def with_out(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """The parameters of a function, and `out=` where `spelled` takes it for the function."""
    if not getattr(function, "takes_out", False):
        return parameters
    named = [p for p in parameters if p.kind is p.VAR_KEYWORD]
    out = inspect.Parameter(
        "out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Tensor | tuple[Tensor, ...] | None"
    )
    return [*(p for p in parameters if p not in named), out, *named]


def signatures(function: Callable[..., Any]) -> list[inspect.Signature]:
    """Those of a function's overloads, or its own."""
    return [inspect.signature(variant) for variant in get_overloads(function) or [function]]


def member(name: str) -> Any:
    """A method or property of tensors: as the base class has it, whose signature the eager tensor's faster ones share."""
    for owner in (Operators, PublicTensor, Symbol):
        for kind in owner.__mro__[:-1]:
            if name in vars(kind):
                found = vars(kind)[name]
                return getattr(kind, name) if isinstance(found, LateMethod) else found
    raise AttributeError(name)


def tensor_class() -> Writer:
    public = {name for name in dir(PublicTensor) if not name.startswith("_") and hasattr(PublicTensor, name)} | set(GRAPH_ONLY)
    writer = Writer("Tensor", "A tensor of any mode: eager, traced by `@sg.compile`, or of a graph.", public, static=False)
    for name in (*PRIVATE, *sorted(public)):
        if name in ATTRIBUTES:
            writer.lines += [f"    {name}: {writer.annotation(ATTRIBUTES[name])}", ""]
            continue
        found = member(name)
        function = found.fget if isinstance(found, property) else inspect.unwrap(found)
        writer.names.scope = getattr(function, "__globals__", {})
        if name == "__hash__":
            writer.function(name, ["(self) -> builtins.int"], None)
        elif isinstance(found, property):
            assert found.fget is not None
            kind = RETURNS.get(name, inspect.signature(found.fget).return_annotation)
            writer.function(name, [writer.signature([], kind)], found.__doc__, "property")
            if found.fset is not None:
                parameters = list(inspect.signature(found.fset).parameters.values())[1:]
                writer.lines.pop()
                writer.function(name, [writer.signature(parameters, "None")], None, f"{name}.setter")
        else:
            texts = []
            for signature in signatures(found):
                parameters = list(signature.parameters.values())[1:]
                returns = "None" if name == "__init__" else returned(name, signature)
                texts += [writer.signature(ps, returns) for ps in spellings(found, parameters)]
            writer.function(name, texts, found.__doc__)
    return writer


def returned(name: str, signature: inspect.Signature, matrices: bool = False) -> Any:
    """The annotation of a function's result; of matrices, what is left open there is a named tuple or a tensor."""
    found = signature.return_annotation
    if matrices and found == "Any":
        return f"return_types.{name}" if hasattr(return_types, name) else "Tensor"
    return "tuple[Tensor, ...]" if name in IN_PARTS and found == "tuple[Any, ...]" else found


def functions_class(name: str, doc: str, functions: Mapping[str, Callable[..., Any]], matrices: bool = False) -> Writer:
    writer = Writer(name, doc, set(functions), static=True)
    for name, function in sorted(functions.items()):
        writer.names.scope = inspect.unwrap(function).__globals__
        texts = [
            writer.signature(parameters, returned(name, signature, matrices))
            for signature in signatures(function)
            for parameters in spellings(function, with_out(function, list(signature.parameters.values())))
        ]
        writer.function(name, texts, function.__doc__)
    return writer


def imports(origins: Iterable[tuple[str, str]]) -> list[str]:
    """Import statements for (name, module), in the order of ruff: libraries, then the package from the outside in."""
    names: dict[str, set[str]] = {}
    for name, module in origins:
        names.setdefault(module, set()).add(name)
    lines = {
        module: f"from {module} import {', '.join(sorted(found, key=lambda name: (name[0].islower(), name)))}"
        for module, found in names.items()
    }
    own = sorted((m for m in lines if m.startswith(".")), key=lambda m: (len(m.lstrip(".")) - len(m), m))
    libraries = [lines[m] for m in sorted(lines) if not m.startswith(".")]
    return ["import builtins", *libraries, "", "import numpy as np", "", *(lines[m] for m in own), ""]


def stub() -> str:
    """The whole file."""
    writers = [
        tensor_class(),
        functions_class("Functions", "The public functions of tensors: `F` inside the package.", public_functions()),
    ]
    origins = {pair for writer in writers for pair in writer.names.origins.items()}
    text = "\n".join([HEADER, "", *imports(origins), *(line for writer in writers for line in (*writer.lines, ""))])
    return text.rstrip("\n").replace("\n\n\n\n", "\n\n\n") + "\n"


def module_stub(
    functions: Mapping[str, Callable[..., Any]], elsewhere: Mapping[str, Callable[..., Any]], matrices: bool = False
) -> str:
    """The stub of a module that exports these functions, of which it imports those that `torch_names` has (`elsewhere`).

    A function that has several names is defined under its own, where that is one of them.
    """
    own: dict[int, str] = {id(f): name for name, f in elsewhere.items()}
    own |= {id(f): name for name, f in (elsewhere or functions).items() if name == f.__name__}
    taken = sorted((own[id(f)], name) for name, f in functions.items() if id(f) in own)
    defined: dict[str, Callable[..., Any]] = {}
    aliases: list[str] = []
    for name, function in sorted(functions.items()):
        if elsewhere and id(function) in own:
            continue
        first = own.setdefault(id(function), name)
        if first == name:
            defined[name] = function
        else:
            aliases.append(f"{name} = {first}")
    writer = functions_class("", "", defined, matrices)
    text = textwrap.dedent("\n".join(line for line in writer.lines[3:] if line.strip() != "@staticmethod"))
    origins = {(name, _beside(m)) for name, m in writer.names.origins.items() if name != "overload" or "@overload" in text}
    listed = textwrap.wrap(", ".join(f'"{name}"' for name in sorted(functions)) + ",", WIDTH - 4, break_long_words=False)
    names = ["__all__ = [", *(f"    {line}" for line in listed), "]  # fmt: skip"]
    head = imports({*origins, ("Tensor", ".ops.operators.interface")})
    unused = {"import builtins": "builtins.", "import numpy as np": "np."}
    head = [line for line in head[:-1] if line not in unused or unused[line] in text]
    if elsewhere:
        head += [f"from .torch_names import {theirs} as {name}" for theirs, name in taken]
        start = next(i for i, line in enumerate(head) if line.startswith("from ."))
        head[start:] = sorted(head[start:], key=lambda line: line.split()[1])
    head = [line for i, line in enumerate(head) if line or (i and head[i - 1])]
    body = [*head, "", text, *aliases, *([""] if aliases else []), *names]
    return "\n".join([HEADER, "", *body]) + "\n"


def place(path: str) -> str:
    """The module that has the names of a public one, below the package."""
    return f"namespaces.{path}" if PATHS.get(path) == (f"namespaces.{path}",) else home(path)


def partial_stubs() -> dict[Path, str]:
    """The stubs of public modules that are elsewhere, each in a file under its own name."""
    files = {STUBS / "py.typed": "partial\n"}
    for name in sorted({*HOMES, *vars(sg)["_LAZY_MODULES"]} - {"operators", "torch_names"}):
        base = PACKAGE.joinpath(*place(name).split("."))
        if place(name) == name:
            continue
        for source in base.rglob("*.py") if base.is_dir() else [base.with_suffix(".py")]:
            below = source.relative_to(base.parent).with_suffix("").parts
            module = ".".join(["." * len(below) + place(name), *below[1:]]).removesuffix(".__init__")
            lines = [HEADER, f"from {module} import *  # noqa: F403"]
            if "__all__ = " in source.read_text(encoding="utf-8"):
                lines.append(f"from {module} import __all__ as __all__")
            files[STUBS.joinpath(*below).with_suffix(".pyi")] = "\n".join(lines) + "\n"
    return files


def linalg_stub() -> str:
    """The stub of `sg.linalg`, which has its error too."""
    text = module_stub(LINALG, {}, matrices=True)
    text = text.replace("from .ops", "from .errors import LinAlgError\nfrom .ops", 1)
    return text.replace("__all__ = [\n", '__all__ = [\n    "LinAlgError",\n')


def package_stub() -> str:
    """The stub of the package itself, from its tables of names."""
    own = vars(sg)
    late, now = own["_LATE"], own["_NOW"]
    lines = [
        "import builtins",
        "",
        *(f"from . import {name} as {name}" for name in sorted({*own["_LAZY_MODULES"], *HOMES} - {"operators", "torch_names"})),
    ]
    for module in sorted({*late, *now}):
        both = f"{late.get(module, '')} {now.get(module, '')}".split()
        if module in (".torch_names", ".namespaces.functional.torch_layers"):
            lines.append(f"from {module} import *")
        else:
            pairs = [name.partition("=") for name in sorted(both)]
            lines += [f"from {module} import {theirs or shown} as {shown}" for shown, _, theirs in pairs]
    constants = [
        f"{name} = builtins.str" if x is str else f"{name}: builtins.{type(x).__name__}"
        for name, x in own["_CONSTANTS"].items()
    ]
    constants = [line.replace("builtins.NoneType", "None") for line in constants]
    listed = textwrap.wrap(", ".join(f'"{name}"' for name in sg.__all__) + ",", WIDTH - 4, break_long_words=False)
    body = [*lines, "", *sorted(constants), "", "__all__ = [", *(f"    {line}" for line in listed), "]  # fmt: skip"]
    return "\n".join([HEADER, "", *body]) + "\n"


def _beside(module: str) -> str:
    """A module that a stub in `ops/operators/` imports, as one beside the stub of the package does."""
    levels, name = len(module) - len(module.lstrip(".")), module.lstrip(".")
    inside = ("ops.operators.", "ops.", "")[levels - 1]
    return f".{inside}{name}".rstrip(".") if levels else module


def files() -> dict[Path, str]:
    """The text of each file."""
    return {
        STUBS / "__init__.pyi": package_stub(), TARGET: stub(),
        STUBS / "torch_names.pyi": module_stub(public_functions(), {}),
        PACKAGE / "ops" / "late_names.py": late_names.text(),
        STUBS / "special.pyi": module_stub(SPECIAL, public_functions()),
        STUBS / "fft.pyi": module_stub({name: getattr(fft, name) for name in fft.__all__}, {}),
        STUBS / "linalg.pyi": linalg_stub(),
        **tf1_stubs.files(),
        **partial_stubs(),
        NUMERICS: numerics(NUMERICS.read_text(encoding="utf-8")),
    }  # fmt: skip


def numerics(text: str) -> str:
    """The page with the errors that records state in its table. Its last rows, of other ops, stay."""
    known = [(op.name, op.emit.error) for op in REGISTRY.values() if isinstance(op.emit, Pointwise) and op.emit.error]
    rows = "".join(f"| `{name}` | {single:.2f} | {double:.2f} |\n" for name, (single, double) in known)
    head, rule, rest = text.partition("| function | float32 | float64 |\n|---|---|---|\n")
    assert rule, f"{NUMERICS} has no table of errors"
    return head + rule + rows + rest[rest.index("| `sqrt`, ") :]


def left_over(paths: Iterable[Path]) -> list[Path]:
    """Stubs of modules that are gone."""
    return sorted(set(STUBS.rglob("*.pyi")).difference(paths))


def main(arguments: list[str]) -> int:
    stale, texts = 0, files()
    for path in left_over(texts):
        if "--check" not in arguments:
            path.unlink()
        else:
            print(f"{path} is made of nothing: run python -m tools.stubs", file=sys.stderr)
            stale = 1
    for path, text in texts.items():
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path} is out of date: run python -m tools.stubs", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
