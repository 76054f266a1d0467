"""The runtime compiler: from the Python functions of `runtime/` to LLVM code.

Its language is the part of Python in which every value is an int64: assignments (of tuples too), `if`, `while`, `for` over
a `range` with a positive step, `break`, `continue`, `return`, arithmetic (`//` and `%` by positive numbers), comparisons,
`and`, `or`, `not` in conditions, `min` and `max`, calls of other such functions and of the builtins in
`runtime_builtins.py`, and constants of modules. Numbers wrap at 64 bits. A function that does not return a value returns 0.

Routines with vectors, with several types, or with code that Python generates are written with `llvm.py`, which says why.
"""

from __future__ import annotations

import ast
import sys
from functools import cache, partial, reduce
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from llvmlite import ir

from ...errors import CompileError
from .llvm import I64
from .runtime_builtins import Builtin
from .translation import Translation

BINARY: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.LShift: "shl", ast.RShift: "ashr", ast.BitAnd: "and_",
    ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
COMPARE: dict[type, str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
CHOICE = {"min": "<", "max": ">"}


def translated(entries: dict[str, Any]) -> str:
    """An LLVM module with these functions, by name, and all functions that they call.

    Raises CompileError, with file and line, for syntax that the language does not have.
    """
    module = ir.Module("runtime")
    functions: dict[Any, ir.Function] = {}
    for name, function in entries.items():
        _declared(module, functions, function, name)
    waiting = list(entries.values())
    while waiting:
        waiting += _Function(module, functions, waiting.pop()).write()
    return str(module)


def _declared(module: Any, functions: dict[Any, Any], function: Any, name: str) -> Any:
    kind = ir.FunctionType(I64, [I64] * function.__code__.co_argcount)
    functions[function] = ir.Function(module, kind, name)
    return functions[function]


@cache
def _definitions(file: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(Path(file).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


class _Function(Translation):
    """The translation of one function. Variables are memory at first; LLVM's first pass puts them into registers."""

    def __init__(self, module: Any, functions: dict[Any, Any], function: FunctionType):
        self.module, self.functions, self.llvm = module, functions, functions[function]
        self.file = function.__code__.co_filename
        self.scope = vars(sys.modules[function.__module__])
        self.definition = _definitions(self.file)[function.__name__]
        self.called: list[FunctionType] = []
        self.loops: list[tuple[Any, Any]] = []
        """The blocks that `continue` and `break` jump to."""
        super().__init__(ir.IRBuilder(self.llvm.append_basic_block()))
        names = [*function.__code__.co_varnames]  # parameters come first
        self.places = {name: self.builder.alloca(I64, name=name) for name in names}
        for name, operand in zip(names, self.llvm.args, strict=False):
            self.builder.store(operand, self.places[name])

    def write(self) -> list[FunctionType]:
        """Translate the body. Returns the functions that it calls and that are not translated yet."""
        self.run(self.definition.body)
        if not self.builder.block.is_terminated:
            self.builder.ret(I64(0))
        return self.called

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        line = getattr(node, "lineno", 0)
        raise CompileError(f"the runtime's language has no {what}", f"{self.file}:{line}   {ast.unparse(node)}")

    # statements

    def run(self, body: list[ast.stmt]) -> None:
        for node in body:
            if self.builder.block.is_terminated:
                self.refuse(node, "statement that is never reached")
            method = getattr(self, f"do_{type(node).__name__}", None)
            if method is None:
                self.refuse(node, type(node).__name__)
            method(node)

    def do_Assign(self, node: ast.Assign) -> None:
        [target] = node.targets
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
        values = [self.value(value) for _, value in pairs]
        for (to, _), value in zip(pairs, values, strict=True):
            self.builder.store(value, self.place(to))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        place = self.place(node.target)
        self.builder.store(self.binary(node, node.op, self.builder.load(place), self.value(node.value)), place)

    def place(self, target: ast.expr) -> Any:
        if not isinstance(target, ast.Name):
            self.refuse(target, "assignment to this")
        return self.places[target.id]

    def do_Return(self, node: ast.Return) -> None:
        self.builder.ret(I64(0) if node.value is None else self.value(node.value))

    def do_If(self, node: ast.If) -> None:
        then, orelse, after = (self.llvm.append_basic_block() for _ in range(3))
        self.branch(node.test, then, orelse)
        for block, body in ((then, node.body), (orelse, node.orelse)):
            self.builder.position_at_end(block)
            self.run(body)
            self.go(after)
        self.builder.position_at_end(after)
        if not after.is_terminated and not _reached(after):
            self.builder.unreachable()

    def do_While(self, node: ast.While) -> None:
        head, body, after = (self.llvm.append_basic_block() for _ in range(3))
        self.go(head)
        self.builder.position_at_end(head)
        if isinstance(node.test, ast.Constant):
            self.go(body)
        else:
            self.branch(node.test, body, after)
        self.loop(node, body, head, after)

    def do_For(self, node: ast.For) -> None:
        first, stop, step = (I64(x) if isinstance(x, int) else x for x in self.bounds(node))
        with self.builder.goto_entry_block():
            counter = self.builder.alloca(I64)
        self.builder.store(first, counter)
        head, body, again, after = (self.llvm.append_basic_block() for _ in range(4))
        self.go(head)
        self.builder.position_at_end(head)
        self.builder.cbranch(self.builder.icmp_signed("<", self.builder.load(counter), stop), body, after)
        self.builder.position_at_end(again)
        self.builder.store(self.builder.add(self.builder.load(counter), step), counter)
        self.go(head)
        self.builder.position_at_end(body)
        self.builder.store(self.builder.load(counter), self.place(node.target))
        self.loop(node, body, again, after)

    def loop(self, node: ast.While | ast.For, body: Any, again: Any, after: Any) -> None:
        if node.orelse:
            self.refuse(node, "loop with an else")
        self.builder.position_at_end(body)
        self.loops.append((again, after))
        self.run(node.body)
        self.loops.pop()
        self.go(again)
        self.builder.position_at_end(after)
        if not _reached(after):
            self.builder.unreachable()

    def do_Continue(self, node: ast.Continue) -> None:
        self.go(self.loops[-1][0])

    def do_Break(self, node: ast.Break) -> None:
        self.go(self.loops[-1][1])

    # values

    def truth(self, x: Any) -> Any:
        return self.builder.icmp_signed("!=", x, I64(0))

    def of_Constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, int):
            self.refuse(node, "constant but integers")
        return I64(int(node.value))

    def of_Name(self, node: ast.Name) -> Any:
        if node.id in self.places:
            return self.builder.load(self.places[node.id])
        return self.constant(node)

    def of_Attribute(self, node: ast.Attribute) -> Any:
        return self.constant(node)

    def constant(self, node: ast.expr) -> Any:
        found = self.found(node)
        if not isinstance(found, int):
            self.refuse(node, "such name")
        return I64(found)

    def found(self, node: ast.expr) -> Any:
        """The value of a name, or of a module's attribute, in the file."""
        if isinstance(node, ast.Attribute):
            owner = self.found(node.value)
            return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
        return self.scope.get(node.id) if isinstance(node, ast.Name) else None

    def of_BinOp(self, node: ast.BinOp) -> Any:
        return self.binary(node, node.op, self.value(node.left), self.value(node.right))

    def binary(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Any:
        b_ = self.builder
        if type(op) in BINARY:
            return getattr(b_, BINARY[type(op)])(a, b)
        if not isinstance(op, (ast.FloorDiv, ast.Mod)):
            self.refuse(node, "such arithmetic")
        rest = b_.srem(a, b)
        below = b_.icmp_signed("<", rest, I64(0))
        if isinstance(op, ast.Mod):
            return b_.select(below, b_.add(rest, b), rest)
        return b_.sub(b_.sdiv(a, b), b_.zext(below, I64))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.USub):
            return self.builder.neg(self.value(node.operand))
        return self.refuse(node, "such operator here")

    def of_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1 or type(node.ops[0]) not in COMPARE:
            self.refuse(node, "such comparison")
        a, b = self.value(node.left), self.value(node.comparators[0])
        return self.builder.zext(self.builder.icmp_signed(COMPARE[type(node.ops[0])], a, b), I64)

    def of_IfExp(self, node: ast.IfExp) -> Any:
        then, orelse, after = (self.llvm.append_basic_block() for _ in range(3))
        self.branch(node.test, then, orelse)
        ways = []
        for block, part in ((then, node.body), (orelse, node.orelse)):
            self.builder.position_at_end(block)
            ways.append((self.value(part), self.builder.block))
            self.go(after)
        self.builder.position_at_end(after)
        result = self.builder.phi(I64)
        for value, block in ways:
            result.add_incoming(value, block)
        return result

    def of_Call(self, node: ast.Call) -> Any:
        called = self.found(node.func)
        operands = [self.value(operand) for operand in node.args]
        if isinstance(node.func, ast.Name) and node.func.id in CHOICE and called is None:
            return reduce(partial(self.choice, CHOICE[node.func.id]), operands)
        if isinstance(called, Builtin):
            self.takes(node, called.operands)
            return called.emit(self.builder, *operands)
        if not isinstance(called, FunctionType):
            self.refuse(node, "such function")
        self.takes(node, called.__code__.co_argcount)
        function = self.functions.get(called)
        if function is None:
            self.called.append(called)
            function = _declared(self.module, self.functions, called, f"{called.__module__}.{called.__name__}")
            function.linkage = "internal"
        return self.builder.call(function, operands)

    def choice(self, relation: str, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed(relation, a, b), a, b)

    def takes(self, node: ast.Call, count: int) -> None:
        if len(node.args) != count or node.keywords:
            self.refuse(node, f"call of it with other than {count} positional arguments")


def _reached(block: Any) -> bool:
    """Whether any block of its function jumps there."""
    return any(block in other.terminator.operands for other in block.parent.blocks if other.is_terminated)
