"""Plans that outlast their program: the first plan of a program is kept on disk, and templates serve several shapes.

A process that finds the plan in the kernel cache runs none of the compiler's passes. The user's code is traced as always, so
guards, effects and errors are those of this process; the key is a text of what was traced. `STATICGRAD_PLANS=0` compiles each
plan.
"""

from __future__ import annotations

import hashlib
import marshal
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import interpreter
from ..base.communicators import group
from ..base.types import StackType, TensorType, TupleType
from ..ir import Cell, Literal, Node, OpDef, Subgraph, built_in
from ..ops.leaves import Source
from .backend import abi, object_code
from .backend import disk_cache as disk
from .passes.specialize import FunctionalGraph

if TYPE_CHECKING:
    from .execute.plan import Plan
    from .execute.stored_plan import StoredPlan
    from .rebinding import Template

# decisions that several shapes share ----------------------------------------------------------------------------------

# The store in which a program, or a function that is traced for each shape, keeps decisions that several shapes share.

KEPT = 4
"""Templates of one program."""
VAIN = 3
"""The number of useless templates after which no more are made."""


Axes = list[tuple[int, int]]
"""(number of a feed, axis) of the extents that are symbols."""
State = tuple[int, list[tuple[str, "Axes | None"]]]
"""`Templates.vain`, and the names of the templates; the axes of that which was made of a program itself."""


class LateTemplate:
    """A template that is made when a program asks for it. name: tells other processes which one it is."""

    def __init__(self, name: str, axes: Axes, make: Callable[[], Template]):
        self.name, self.axes = name, axes
        self._make = make
        self._template: Template | None = None

    def made(self) -> Template:
        """The template."""
        if self._template is None:
            self._template = self._make()
        return self._template


class Templates:
    """Templates of programs that may differ only in extents: the latest that was used comes first. axes: those of the symbols
    of the first one, where they are known.

    What plans of programs follow from besides the programs is `name`: it is a part of the names of files of plans. Such a file
    also says which templates there are after its plan (`state`), so that a process that reads it needs none of them (`read`).
    """

    def __init__(self, kept: Sequence[Template | LateTemplate] = (), vain: int = 0, axes: Axes | None = None) -> None:
        self.kept = [*kept]
        self.vain = vain
        """How often extents could not be symbols, or had to keep their values."""
        self.axes = axes
        self.error = ""
        """Why the latest template was not made, in words."""

    def copy(self) -> Templates:
        return Templates(self.kept, self.vain)

    @property
    def name(self) -> str | None:
        """The same in two processes that have the same templates; None where those have no names."""
        names = [template.name for template in self.kept if isinstance(template, LateTemplate)]
        return f"{self.vain} {names}" if len(names) == len(self.kept) else None

    def enter(self, name: str) -> None:
        """Name the template that was made of a program, if there is one."""
        self.kept = [t if isinstance(t, LateTemplate) else LateTemplate(name, t.axes, t.made) for t in self.kept]

    def state(self, name: str) -> State:
        """What `read` reads. name: of the template of the latest program."""
        return self.vain, [(t.name, t.axes if t.name == name else None) for t in self.kept if isinstance(t, LateTemplate)]

    def read(self, state: State, make: Callable[[Axes], Template]) -> None:
        """Follow a program whose plan was read. make: gives the template of that program."""
        known = {template.name: template for template in self.kept if isinstance(template, LateTemplate)}
        self.vain, kept = state
        for name, axes in kept:
            if axes is not None:
                known[name] = LateTemplate(name, symbols := [(number, axis) for number, axis in axes], partial(make, symbols))
        self.kept = [known[name] for name, _ in kept]

    def failed(self, error: BaseException) -> None:
        self.vain += 1
        self.error = str(error).partition("\n")[0]

    def add(self, template: Template) -> None:
        """One that was just made. One that serves a single shape only tells why; it is the first to go."""
        if template.pinned:
            self.vain += 1
            self.kept = [*self.kept[: KEPT - 1], template]
        else:
            self.kept = [template, *self.kept][:KEPT]

    def served(self, template: Template | LateTemplate) -> None:
        self.vain = 0
        self.kept = [template, *[other for other in self.kept if other is not template]]


# the key of a program -------------------------------------------------------------------------------------------------

# The identity of a program on disk: a text that says all that its plan depends on, and in which two processes agree.
#
# It lists the operations of the functional graph with attributes, types and operands, by number, and the settings of the
# compiler. Bodies of loops and branches are listed where they occur. Names and the lines of the user's code are left out: no
# plan depends on them. A program that Python code takes part in (functions of the user's as attributes, ops of their own) has
# no such text.

PACKAGE = os.path.dirname(os.path.dirname(__file__))
PLAIN = frozenset({int, float, bool, str, bytes, type(None)})


class Unkept(Exception):
    """Why a program has no identity on disk."""


class Description:
    """Values as texts in which two processes agree: numbers, types, ops and functions of the package, and tuples of them."""

    def text(self, value: Any) -> str:
        """Raises Unkept for a value without such a text."""
        kind = value.__class__
        if kind in PLAIN:
            return repr(value)
        if kind is tuple:
            return f"({','.join([repr(x) if x.__class__ in PLAIN else self.text(x) for x in value])})"
        if kind is FunctionType or isinstance(value, type):
            return _of_package(value)
        if isinstance(value, np.dtype):
            return f"dtype {_name(value)}"
        if isinstance(value, TensorType):
            return _type(value)
        if kind is OpDef:
            if not (built_in(value) or value.identity):
                raise Unkept(f"{value.name} is not the package's")
            return f"op {value.name}{value.identity}"
        if isinstance(value, tuple):
            return f"{kind.__name__}({','.join(map(self.text, value))})"
        if isinstance(value, Mapping):
            return f"{{{','.join([f'{name}={self.text(each)}' for name, each in value.items()])}}}"
        raise Unkept(f"a {kind.__name__}")


@cache
def _of_package(value: Any) -> str:
    """A function or class of the package, or of those that it is made with. Raises Unkept for others."""
    if value.__module__.partition(".")[0] not in ("staticgrad", "numpy", "builtins") or "<" in value.__qualname__:
        raise Unkept(f"{value.__qualname__} is not the package's")
    return f"{value.__module__}.{value.__qualname__}"


class ProgramKey(Description):
    """The key of a program, and the objects of this process that a stored plan refers to by number.

    Raises Unkept.
    """

    def __init__(self, prepared: FunctionalGraph, known: dict[Node, TensorType], threads: int):
        if prepared.deferred:
            raise Unkept("sizes are known in the run")
        self.cells: dict[Cell, int] = {}
        self.sources: dict[Source, int] = {}
        self.owners: dict[int, int] = {}
        self.constants: dict[tuple[int, int], int] = {}
        """By the address and the bytes of its memory, the number of a constant."""
        self.arrays: list[np.ndarray] = []
        self.bodies: dict[Subgraph, int] = {}
        number: dict[Node, int] = {}
        lines = [setting(), f"{threads} {prepared.graph.intern} {prepared.draws}"]
        lines += self._operations(prepared.graph.nodes, number)
        at = [number.get(feed, -1) for feed in prepared.feeds]
        types = [_type(known[feed]) for feed in prepared.feeds]
        assigns = [(self._cell(cell), number[value]) for cell, value in prepared.assigns]
        lines.append(f"{at} {types} {[number[x] for x in prepared.fetches]} {assigns} {len(prepared.needs)}")
        self.key = hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def _operations(self, nodes: Iterable[Node], number: dict[Node, int]) -> list[str]:
        """A line for each node. number: gets their numbers. Raises Unkept."""
        lines = []
        for node in nodes:
            op = node.op
            if not (built_in(op) or op.identity) or node.after:
                raise Unkept(f"{op.name} is not the package's")
            attrs = [f"{name}={self.text(value)}" for name, value in sorted(node.attrs.items())]
            if op.exchanges:  # its group has a number in all processes; each has plans of its own
                members = group(node.attrs["group_number"])
                attrs.append(f"{members.rank} of {members.size}, {members.present} present {members.native}")
            lines.append(f"{op.name}{op.identity} {[number[x] for x in node.inputs]} {_type(node.type)} {attrs}")
            number[node] = len(number)
        return lines

    def _body(self, body: Subgraph) -> str:
        """A body in full where it occurs first, then its number: operations whose bodies are the same object may be one."""
        if body in self.bodies:
            return f"body {self.bodies[body]}"
        self.bodies[body] = len(self.bodies)
        number: dict[Node, int] = {}
        lines = self._operations(body.params, number)
        lines += self._operations(body.nodes, number)
        inside = "\n".join(lines)
        return f"body of {len(body.params)} {{\n{inside}\n}} {[number[x] for x in body.results]} {body.graph.intern}"

    def text(self, value: Any) -> str:
        """Objects of this process are numbers in it."""
        kind = value.__class__
        if kind is Literal:
            return self._array(value.array)
        if kind is Cell:
            return f"cell {self._cell(value)} {_type(value.type)} {value.stream is None}"
        if kind is Source:
            owner = self.owners.setdefault(id(value.owner), len(self.owners))
            return f"source {self.sources.setdefault(value, len(self.sources))} of {owner} {value.key!r}"
        if kind is Subgraph:
            return self._body(value)
        return super().text(value)

    def _cell(self, cell: Cell) -> int:
        return self.cells.setdefault(cell, len(self.cells))

    def _array(self, array: np.ndarray) -> str:
        if array.dtype.hasobject:
            raise Unkept("an array of objects")
        self.constants.setdefault((array.ctypes.data, array.nbytes), len(self.arrays))
        self.arrays.append(array)
        held = np.ascontiguousarray(array).reshape(-1).view(np.uint8)  # no copy: a constant may be large
        content = hashlib.sha256(held.data).hexdigest()
        return f"array {array.dtype.name} {array.shape} {array.flags.c_contiguous} {content}"


def _type(kind: Any) -> str:
    if kind.__class__ is TupleType:
        return f"({','.join(map(_type, kind.parts))})"
    if kind.__class__ is StackType:
        return f"stack of {_type(kind.item)}"
    if kind.__class__ is not TensorType:
        raise Unkept(f"a {kind.__class__.__name__}")
    return f"{_name(kind.dtype)}{kind.shape}"


_name = cache(operator.attrgetter("name"))
"""The name of a dtype, which NumPy takes 2 us to write."""


def setting() -> str:
    """What plans depend on besides the program."""
    return f"{_code()} {object_code.tools(object_code.compiler())} {abi.FASTCALL}"


@cache
def _code() -> str:
    """The package's modules, as Python tells whether its bytecode of them is up to date; the tools, and the CPU."""
    facts = [np.__version__]
    folders = [PACKAGE]
    for place in folders:
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found = entry.stat()
                    facts.append(f"{entry.path} {found.st_mtime_ns} {found.st_size}")
                elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    facts.sort()
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


PLANS = "STATICGRAD_PLANS"
"""The environment variable by which plans are neither read nor written where it is 0."""


class Entry:
    """The place of a program's plan in the kernel cache. templates: which the plan may follow from. Raises Unkept for a program
    that has none."""

    def __init__(self, prepared: FunctionalGraph, known: dict[Node, TensorType], threads: int, templates: Templates):
        if (name := templates.name) is None:
            raise Unkept("it may take the template of a program that is not kept")
        self.templates = templates
        self.types = [TensorType(known[feed].shape, feed.type.dtype) for feed in prepared.feeds]
        self.program = ProgramKey(prepared, known, threads)
        self.key = hashlib.sha256(f"{name} {self.program.key}".encode()).hexdigest()
        self.name = f"p{self.key[:24]}.plan"

    def read(self, remake: Callable[[Templates], Plan]) -> StoredPlan | None:
        """The plan, if it is stored; its templates are read with it. remake: compiles the plan anew."""
        content = disk.read(self.name, self.key)
        if content is None:
            return None
        from .execute.stored_plan import opened, unpacked

        def template(axes: Axes) -> Template:
            anew = Templates(axes=axes)
            remake(anew)
            return anew.kept[0].made()

        program, before = self.program, self.templates.copy()
        state, packed = marshal.loads(content)
        found = opened(packed)
        interpreter.debug(
            "a plan %s", "from the kernel cache" if found is not None else "whose kernels are not in the cache any more"
        )
        if found is None:
            return None
        self.templates.read(state, template)
        return unpacked(found, self.types, [*program.cells], [*program.sources], program.arrays, lambda: remake(before))

    def write(self, plan: Plan) -> None:
        """Keep a plan that was just made."""
        from .execute.stored_plan import packed

        program = self.program
        content = packed(plan, program.cells, program.sources, program.constants)
        if content is not None:
            disk.keep(self.name, self.key, marshal.dumps((self.templates.state(self.key), content)))

    def enter(self) -> None:
        """Name the template that was made of the program."""
        self.templates.enter(self.key)


def kept() -> bool:
    """Whether plans are read and written."""
    return os.environ.get(PLANS, "1") != "0"


def entry(prepared: FunctionalGraph, known: dict[Node, Any], threads: int, templates: Templates) -> Entry | None:
    """The place of a program's plan for so many threads; None where it has none."""
    if not kept():
        return None
    try:
        return Entry(prepared, known, threads, templates)
    except Unkept as why:
        interpreter.debug("the plan is not kept: %s", why)
        return None
