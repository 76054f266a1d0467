"""What LLVM's vectorizer is told of a loop.

LLVM interleaves iterations of a loop with a sum or a maximum, four vectors at a time, so that an addition need not wait for the
one before it. A row that such a step does not divide leaves up to four vectors to slower loops: of 100 float32 elements in
vectors of 16, 36. In a loop with an elementary function the additions wait for nothing: an iteration takes longer than an
addition, and the CPU overlaps iterations by itself. Such loops are vectorized only, and compile in less time. Of the longest
ones, which are chains of a polynomial's steps, the CPU overlaps too few: two vectors at a time save up to a fifth.

A maximum that passes NaN on takes several instructions, and the slower loops are slowest there. Two vectors at a time save a
quarter of a softmax along 100 elements, and cost nothing along 512.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

LONG, LONGER = 16, 28
"""Instructions of arithmetic in an iteration that takes longer than an addition, and in one of which a CPU holds too few."""

OTHERS = (ir.AllocaInstr, ir.LoadInstr, ir.StoreInstr, ir.GEPInstr, ir.PhiInstr, ir.CastInstr, ir.instructions.Terminator)
"""Instructions that are no arithmetic."""


def hint(latch: Any, blocks: list[Any]) -> None:
    """Tell LLVM how many iterations to interleave. latch: the loop's jump to the next one; blocks: of its body."""
    if any("head" in block.name.split(".") for block in blocks):
        return  # loops within
    found = [one for block in blocks for one in block.instructions if not isinstance(one, OTHERS)]
    if len(found) >= LONG:
        _interleave(latch, 1 if len(found) < LONGER else 2)
    elif any(isinstance(one, ir.CallInstr) and one.callee.name.startswith(("llvm.maximum", "llvm.minimum")) for one in found):
        _interleave(latch, 2)


def _interleave(latch: Any, count: int) -> None:
    module = latch.function.module
    how = module.add_metadata([ir.MetaDataString(module, "llvm.loop.interleave.count"), ir.IntType(32)(count)])
    loop = ir.MDValue(module, (), name=str(len(module.metadata)))
    loop.operands = loop, how  # the first operand is the node itself
    latch.set_metadata("llvm.loop", loop)
