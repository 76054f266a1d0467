"""The training steps of a program, found in its text: the lines around a call of `backward()`. In a file without one they are
those around a call of a function that a transform of `func`, such as `grad`, has made.

Such lines become a function, `outputs = step(inputs)`, of the local names that they read; the names that are read later are its
results. The function stands at the end of the same text and keeps the lines' numbers, so errors and reports name them.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

STEP, MAKE, LOSS = "staticgrad_step_", "staticgrad_make_step", "staticgrad_loss"
"""Names that the text of a program gets."""
VALUES = frozenset({"item", "numpy", "tolist", "print", "float", "int"})
"""Calls after `backward()` that need values: lines with them stay outside."""
OUTSIDE = frozenset({"iter", "next", "open", "perf_counter", "print", "time"})
"""Calls before `backward()` that are no part of a step."""
REPORTS = frozenset({"add_scalar", "add_scalars", "debug", "info", "log", "print", "write"})
PURE = REPORTS | {"abs", "cpu", "detach", "exp", "float", "format", "int", "item", "len", "log10", "max", "mean", "min",
                  "numpy", "perf_counter", "round", "size", "sqrt", "str", "sum", "time", "tolist"}  # fmt: skip
"""Calls that say something of values, and those that change nothing: lines of them before `backward()` can wait for the end."""
TRANSFORMS = frozenset({"grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"})
"""Functions of `func` that make a function of gradients."""
DATA = frozenset({"random", "sklearn"})
"""Packages that make data: leading lines with them, or with NumPy's generators, are no part of a step, and give it arrays."""
GENERATORS = frozenset({"Random", "RandomState", "default_rng"})
ASKS = frozenset({"dir", "eval", "exec", "globals", "locals", "vars"})
"""Functions that read names of a file by their texts: where it has one, steps give it all the names that they bind."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
PLAIN = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.With, ast.If, ast.Assert, ast.Pass)
"""Statements that a step may have."""
LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Raise,
           ast.Try, *SCOPES, ast.Import, ast.ImportFrom, ast.Delete, ast.NamedExpr)  # fmt: skip
"""What leaves a step, or binds names in another way than its assignments: lines with it stay outside."""


class TrainingStep:
    """Lines of a program that make one training step.

    kind: "eager", "compiled", or "torch". loss: the place of the loss among the results. whole: whether the lines compute it.
    record: notes the calls.
    """

    def __init__(self, fn: Callable[..., Any], title: str, loss: int | None, whole: bool, kind: str, record: Recorder | None):
        self.fn, self.title, self.loss, self.whole, self.kind, self.record = fn, title, loss, whole, kind, record
        self.calls = 0

    def __call__(self, *args: Any) -> Any:
        if not self.calls:
            self._begin()
        self.calls += 1
        if self.record is None:
            return self.fn(*args)
        return self.record.call(self, args)

    def _begin(self) -> None:
        if self.kind == "compiled" and not self.whole:
            print(f"staticgrad: left as it is {self.title}: the forward pass is outside of these lines", file=sys.stderr)
        elif self.kind == "compiled":
            from ..tracing import compile

            self.fn = compile(self.fn)
            print(f"staticgrad: compiled {self.title}", file=sys.stderr)


class Finished(BaseException):
    """The program has run as many steps as were asked for."""


class Recorder:
    """The losses and times of the first steps, and the parameters after them."""

    def __init__(self, steps: int):
        self.steps = steps
        self.losses: list[float] = []
        self.dtype = "float64"
        """Of the losses."""
        self.seconds: list[float] = []
        self.title = ""
        self.parameters: dict[str, Any] = {}

    def call(self, step: TrainingStep, args: tuple[Any, ...]) -> Any:
        """Call the step. Raises Finished after the last."""
        begin = time.perf_counter()
        results = step.fn(*args)
        value = float("nan")
        if step.loss is not None:
            loss = results[step.loss].detach().sum().numpy()  # waits for the step to end
            value, self.dtype = float(loss), loss.dtype.name
        self.seconds.append(time.perf_counter() - begin)
        self.losses.append(value)
        self.title = self.title or step.title
        if len(self.losses) >= self.steps:
            for arg in args:
                if hasattr(arg, "named_parameters"):
                    self.parameters |= {name: p.detach().numpy().copy() for name, p in arg.named_parameters()}
            raise Finished
        return results


class Steps:
    """Finds steps, and makes the code of a program's files with them. found: titles of those that the files have."""

    def __init__(self, kind: str, record: Recorder | None = None):
        self.kind, self.record = kind, record
        self.found: list[str] = []

    def code(self, text: str, path: str) -> CodeType:
        """The code of a file."""
        tree = ast.parse(text, path)
        if "backward" in text or not TRANSFORMS.isdisjoint(re.findall(r"\w+", text)):
            made = _Text(path, tree).functions
            self.found += [ast.literal_eval(step.args[1]) for _, step in made]
            body = [statement for function, step in made for statement in (function, _named(function.name, step))]
            at = next((i for i, s in enumerate(tree.body) if not _leading(s)), len(tree.body))
            tree.body[at:at] = body
            ast.fix_missing_locations(tree)
            setattr(builtins, MAKE, self.make)
        return compile(tree, path, "exec", dont_inherit=True)

    def make(self, fn: Callable[..., Any], title: str, loss: int | None, whole: bool) -> TrainingStep:
        """The step of a function that a program's text defines."""
        return TrainingStep(fn, title, loss, whole, self.kind, self.record)


def _leading(statement: ast.stmt) -> bool:
    """Whether a statement has to stay at the beginning: the docstring, or an import from the future."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _named(name: str, value: ast.expr) -> ast.stmt:
    """`name = value`."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


# what a text says ---------------------------------------------------------------------------------------------------


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of functions and classes in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, SCOPES):
            yield from _own(child)


def _calls(node: ast.AST) -> set[str]:
    """Names of the functions and methods that are called in it."""
    called = [part.func for part in _own(node) if isinstance(part, ast.Call)]
    return {f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in called}


def _names(node: ast.AST, context: type) -> list[str]:
    """Names that are read, or bound, in order; those of comprehensions are their own."""
    inner = {x.id for part in _own(node) if isinstance(part, ast.comprehension)
             for x in ast.walk(part.target) if isinstance(x, ast.Name)}  # fmt: skip
    found = [part.id for part in _own(node) if isinstance(part, ast.Name) and isinstance(part.ctx, context)]
    if context is ast.Load:
        found += [p.target.id for p in _own(node) if isinstance(p, ast.AugAssign) and isinstance(p.target, ast.Name)]
    return [name for name in dict.fromkeys(found) if name not in inner]


def _needed(statement: ast.stmt, bound: set[str]) -> list[str]:
    """The names that a statement reads before it binds them, and that are not bound; those that it binds are, then."""
    if not hasattr(statement, "body"):
        parts: list[ast.AST] = [statement]
    elif isinstance(statement, ast.For):
        parts = [statement.iter, statement.target, *statement.body, *statement.orelse]
    else:
        parts = [*ast.iter_child_nodes(statement)]  # in the order in which they run
    found: list[str] = []
    for part in parts:
        if isinstance(part, ast.stmt) and part is not statement:
            found += _needed(part, bound)
        else:
            found += [name for name in _names(part, ast.Load) if name not in bound]
            bound |= {*_names(part, ast.Store)}
    return found


def _fits(statement: ast.stmt) -> bool:
    return isinstance(statement, PLAIN) and not any(isinstance(x, LEAVING) for x in ast.walk(statement))


def _says(line: ast.stmt) -> bool:
    """Whether a line, under a condition or not, only says something of values."""
    body = line.body if isinstance(line, ast.If) and not line.orelse else [line]
    return bool(_calls(line) & REPORTS) and _calls(line) <= PURE and all(isinstance(part, ast.Expr) for part in body)


def _waits(line: ast.stmt, lines: list[Any]) -> bool:
    """Whether a line of a step says the same after the step: it reads what lines before it compute, and otherwise nothing that
    the step reads or computes."""
    if not _says(line):
        return False
    at, read = lines.index(line), {*_names(line, ast.Load)}
    before = {name for other in lines[:at] for name in _names(other, ast.Store)}
    after = {name for other in lines[at + 1 :] for name in _names(other, ast.Store)}
    others = {name for other in lines if not _says(other) for name in _names(other, ast.Load)}
    return read.isdisjoint(after) and (read - before).isdisjoint(others)


def _repeats(statement: ast.stmt, differentiates: Callable[[ast.stmt], bool]) -> bool:
    """Whether a loop in the statement computes gradients: the steps are in there, as in a main program under an `if`."""
    return any(isinstance(part, (ast.For, ast.While)) and differentiates(part) for part in _own(statement))


def _calls_backward(statement: ast.stmt) -> bool:
    return "backward" in _calls(statement)


class _Transformed:
    """Tells calls of a file's functions of gradients: `step(...)` after `step = vmap(grad(f))`, and `grad(f)(...)`."""

    def __init__(self, tree: ast.Module):
        parts = [*ast.walk(tree)]
        imports = [part for part in parts if isinstance(part, ast.ImportFrom)]
        aliases = [x for part in imports if str(part.module).rpartition(".")[2] in ("func", "functorch") for x in part.names]
        self.imported = {x.asname or x.name for x in aliases if x.name in TRANSFORMS}
        self.bound: set[str] = set()
        for part in parts:
            if isinstance(part, ast.Assign) and any(map(self._transforms, _own(part.value))):
                self.bound |= {name for target in part.targets if (name := _last_name(target))}

    def _transforms(self, part: ast.AST) -> bool:
        """Whether it is `grad(f)` or `torch.func.grad(f)`."""
        if not isinstance(part, ast.Call):
            return False
        f = part.func
        if isinstance(f, ast.Attribute):
            return f.attr in TRANSFORMS and _last_name(f.value) in ("func", "functorch")
        return _last_name(f) in self.imported

    def __call__(self, statement: ast.stmt) -> bool:
        calls = [part.func for part in _own(statement) if isinstance(part, ast.Call)]
        return any(
            any(map(self._transforms, _own(f))) if isinstance(f, ast.Call) else _last_name(f) in self.bound for f in calls
        )


def _last_name(part: ast.expr) -> str:
    """The name of a variable or attribute; "" for anything else."""
    return part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""


def _sources(tree: ast.Module) -> set[str]:
    """Names of a file that data come from: packages, generators of random numbers, and functions that use these."""
    found: set[str] = set()
    for part in ast.walk(tree):
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            module = part.module if isinstance(part, ast.ImportFrom) else None
            for alias in part.names:
                path = f"{module}.{alias.name}" if module else alias.name
                if path == "numpy":
                    found.add(f"{alias.asname or path}.random")
                elif path.partition(".")[0] in DATA or path == "numpy.random":
                    found.add((alias.asname or alias.name).partition(".")[0])
    for part in ast.walk(tree):
        if isinstance(part, ast.Assign) and _calls(part.value) & GENERATORS and _mentions(part.value, found):
            found |= {*_names(part, ast.Store)}
    return found | {part.name for part in tree.body if isinstance(part, ast.FunctionDef) and _mentions(part, found)}


def _mentions(node: ast.AST, names: set[str]) -> bool:
    """Whether a name occurs, or an attribute of one such as `np.random`."""
    parts = [*ast.walk(node)]
    read = {part.id for part in parts if isinstance(part, ast.Name)}
    read |= {f"{x.value.id}.{x.attr}" for x in parts if isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name)}
    return not names.isdisjoint(read)


def _locals(function: Any) -> set[str]:
    """The local names of a function."""
    a = function.args
    given = {x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if x is not None}
    outer, own = set(), set()
    for statement in function.body:
        for part in _own(statement):
            own |= {part.id} if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) else set()
            outer |= {*part.names} if isinstance(part, (ast.Global, ast.Nonlocal)) else set()
    own |= {statement.name for statement in ast.walk(function) if isinstance(statement, SCOPES) and hasattr(statement, "name")}
    return given | (own - outer)


class _Text:
    """A file whose steps have become calls. functions: what to put at its beginning, functions and the expressions that make
    steps of them."""

    def __init__(self, path: str, tree: ast.Module):
        self.file, self.tree = os.path.basename(path), tree
        self.sources = _sources(tree)
        self.asks = any(isinstance(part, ast.Name) and part.id in ASKS for part in ast.walk(tree))
        """Whether the file may read a name that is written nowhere in it."""
        self.backward = any(isinstance(part, ast.stmt) and _calls_backward(part) for part in ast.walk(tree))
        self.differentiates = _calls_backward if self.backward else _Transformed(tree)
        self.functions: list[tuple[ast.FunctionDef, ast.Call]] = []
        self._statements(tree.body, None, set())

    def _statements(self, statements: list[Any], function: Any, known: set[str]) -> None:
        """function: the innermost around; known: names that change from step to step: local ones, and those that loops bind."""
        once = not self.backward and not known  # which tracing would not pay for
        places = [] if once else [i for i, s in enumerate(statements) if _fits(s) and self.differentiates(s)]
        at = next((i for i in places if not _repeats(statements[i], self.differentiates)), None)
        if at is not None and self._extract(statements, at, function, known):
            return
        for statement in statements:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._statements(statement.body, statement, known | _locals(statement))
                continue
            inside = known | ({*_names(statement, ast.Store)} if isinstance(statement, (ast.For, ast.While)) else set())
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                found = getattr(statement, field, None)
                if isinstance(found, list) and found:
                    self._statements(found, function, known if isinstance(statement, ast.ClassDef) else inside)

    def _extract(self, statements: list[Any], at: int, function: Any, known: set[str]) -> bool:
        """Replace the step around `statements[at]` by a call. False where there is none."""
        begin, end = at, at + 1
        while begin and _fits(line := statements[begin - 1]) and (not _calls(line) & OUTSIDE or _says(line)):
            begin -= 1
        while end < len(statements) and _fits(statements[end]) and not _calls(statements[end]) & VALUES:
            end += 1
        while (odd := _unsure(statements[begin:end])) is not None:
            if begin + odd < at:
                begin += odd + 1
            elif begin + odd > at:
                end = begin + odd
            else:
                return False
        late = [line for line in statements[begin:at] if _waits(line, statements[begin:end])]
        begin += max((i for i, x in enumerate(statements[begin:at], 1) if _calls(x) & OUTSIDE and x not in late), default=0)
        begin += self._data(statements[begin:at])
        late = [line for line in late if line in statements[begin:at]]
        lines = [line for line in statements[begin:end] if line not in late]
        _name_loss(statements[at])
        bound: set[str] = set()
        inputs: dict[str, None] = {}
        for line in lines:
            inputs |= dict.fromkeys(name for name in _needed(line, bound) if name in known)
        if any(name.startswith("__") and not name.endswith("__") for line in lines for name in _words(line)):
            return False  # names that Python changes inside of classes
        results = sorted(bound) if function is None and self.asks else self._read_elsewhere(function, lines, bound)
        whole = True
        lost = next((name for part in _own(statements[at]) if (name := _differentiated(part))), None)
        if (lost in bound and lost not in results) or (lost is not None and lost not in bound):
            whole = lost in bound
            results.append(lost)
        name = f"{STEP}{lines[0].lineno}"
        first, last = lines[0].lineno, lines[-1].end_lineno
        title = f"{self.file}:{first}-{last}  {', '.join(inputs)} -> {', '.join(results) or 'nothing'}"
        end_line = ast.Return(ast.Tuple([ast.Name(x, ast.Load()) for x in results], ast.Load()))
        arguments = ast.arguments([], [ast.arg(x) for x in inputs], None, [], [], None, [])
        made = ast.FunctionDef(name, arguments, [*lines, end_line], [], None, None, lineno=first, col_offset=0)
        if sys.version_info >= (3, 12):
            made.type_params = []
        loss = None if lost is None else results.index(lost)
        step = ast.Call(
            ast.Name(MAKE, ast.Load()),
            [ast.Name(name, ast.Load()), ast.Constant(title), ast.Constant(loss), ast.Constant(whole)],
            [],
        )
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(x, ast.Load()) for x in inputs], [])
        for node in (made, end_line, call):
            ast.copy_location(node, lines[0])
        self.functions.append((made, step))
        stores: list[ast.expr] = [ast.Name(x, ast.Store()) for x in results]
        replacement = ast.Assign([ast.Tuple(stores, ast.Store())], call) if results else ast.Expr(call)
        statements[begin:end] = [ast.copy_location(replacement, lines[0]), *late]
        return True

    def _data(self, lines: list[Any]) -> int:
        """How many of these lines come before the step, up to the last that makes data: such lines, and `zero_grad()`."""
        found = 0
        for i, line in enumerate(lines, 1):
            if _mentions(line, self.sources):
                found = i
            elif not (isinstance(line, ast.Expr) and _calls(line) == {"zero_grad"}):
                break
        return found

    def _read_elsewhere(self, function: Any, lines: list[Any], bound: set[str]) -> list[str]:
        """The names that lines bind and the rest of a function, or of the file, or the same lines of the next step, read."""
        inside = {id(part) for line in lines for part in ast.walk(line)}
        around = [self.tree, *(step for step, _ in self.functions)] if function is None else [function]
        read: set[str] = set()
        for part in (part for tree in around for part in ast.walk(tree) if id(part) not in inside):
            if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store):
                read.add(part.id)
            elif isinstance(part, ast.AugAssign):
                read |= {*_names(part.target, ast.Store)}
        seen: set[str] = set()
        for line in lines:
            read |= {*_needed(line, seen)}
        return sorted(bound & read)


def _differentiated(part: ast.AST) -> str | None:
    """The name of the loss in a call `loss.backward()`."""
    if not isinstance(part, ast.Call) or not isinstance(part.func, ast.Attribute) or part.func.attr != "backward":
        return None
    loss = part.func.value.target if isinstance(part.func.value, ast.NamedExpr) else part.func.value
    return loss.id if isinstance(loss, ast.Name) else None


def _name_loss(statement: ast.stmt) -> None:
    """Give the loss of a statement `(a + b).backward()` or `self.loss.backward()` a name."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or isinstance(call.func.value, ast.Name):
        return
    if call.func.attr == "backward" and "autograd" not in _words(call.func.value):
        call.func.value = ast.NamedExpr(ast.Name(LOSS, ast.Store()), call.func.value)


def _words(node: ast.AST) -> Iterator[str]:
    for part in _own(node):
        if isinstance(part, (ast.Name, ast.Attribute)):
            yield part.id if isinstance(part, ast.Name) else part.attr


def _unsure(lines: list[Any]) -> int | None:
    """The first line that binds a name on one road alone, which no line before it has bound."""
    bound: set[str] = set()
    for i, line in enumerate(lines):
        if isinstance(line, ast.If) and not {*_names(line, ast.Store)} <= bound:
            return i
        bound |= {*_names(line, ast.Store)}
    return None
