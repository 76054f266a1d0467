"""From Python's syntax to LLVM code: what the languages of kernels and of the runtime have in common."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from llvmlite import ir


class Translation:
    """Writes the code of a function. `do_For` writes a statement `for`, `of_Name` the value of a name, and so on."""

    def __init__(self, builder: ir.IRBuilder):
        self.builder = builder

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        """Raise the error that the language does not have this."""
        raise NotImplementedError

    def truth(self, x: Any) -> Any:
        """Whether a value is not 0, as a bit."""
        raise NotImplementedError

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def value(self, node: ast.expr) -> Any:
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            self.refuse(node, type(node).__name__)
        return method(node)

    def go(self, block: Any) -> None:
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    def branch(self, test: ast.expr, yes: Any, no: Any) -> None:
        """Branch to `yes` or `no`. Operands of `and` and `or` that don't decide are not evaluated."""
        if isinstance(test, ast.BoolOp):
            for part in test.values[:-1]:
                more = self.builder.append_basic_block()
                self.branch(part, *((more, no) if isinstance(test.op, ast.And) else (yes, more)))
                self.builder.position_at_end(more)
            self.branch(test.values[-1], yes, no)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.branch(test.operand, no, yes)
        else:
            self.builder.cbranch(self.truth(self.value(test)), yes, no)

    def bounds(self, node: ast.For) -> tuple[Any, Any, Any]:
        """The first value of a loop over a range, that at which it stops, and the step."""
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
            self.refuse(call, "loop over anything but a range")
        given = [self.value(bound) for bound in call.args]
        first, stop, step = (0, *given, 1) if len(given) == 1 else (*given, 1)[:3]
        return first, stop, step
