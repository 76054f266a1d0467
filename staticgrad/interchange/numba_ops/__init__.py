"""Functions that users compile with Numba, as operations: `njit_op`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, overload

from ...errors import ArgumentError, ArgumentTypeError
from .definition import CODE, Definition, Derivative, of_numbers, parsed

__all__ = ["njit_op"]

Made = Callable[..., Any]


@overload
def njit_op(
    fn: Callable[..., Any], *, signature: str | None = None, shape: Callable[..., Any] | None = None,
    vjp: Derivative = CODE, example: Sequence[Any] | None = None,
) -> Made: ...  # fmt: skip
@overload
def njit_op(
    *, signature: str | None = None, shape: Callable[..., Any] | None = None,
    vjp: Derivative = CODE, example: Sequence[Any] | None = None,
) -> Callable[[Callable[..., Any]], Made]: ...  # fmt: skip
def njit_op(
    fn: Callable[..., Any] | None = None, *, signature: str | None = None, shape: Callable[..., Any] | None = None,
    vjp: Derivative = CODE, example: Sequence[Any] | None = None,
) -> Any:  # fmt: skip
    """A function under Numba's `@njit` as an operation of all modes, which plans call as native code.

    Without `signature` and `shape` the function takes and gives numbers, and the operation is elementwise: operands broadcast,
    and kernels contain the function where it raises no exception (Numba's `error_model="numpy"` lets divisions by 0 be
    infinite).

    Operands that are floats are promoted together; integers and booleans keep their dtype. Where operands and result are
    floats, the result has the operands' dtype, whatever Numba computes with. A function that is declared for given types,
    `@njit("f8(f8)")`, has its operands cast to these. Arrays are in row-major order, and the function can't write to them. The
    operation is compiled when it first gets operands of some dtypes. It takes keywords and has the defaults of the function.

    Args:
        fn: The function; without it, a decorator is returned.
        signature: The axes of one item of each operand and result, as of NumPy's generalized functions: "(n,m),(m)->(n)".
            The function gets arrays, and numbers for (). Further axes in front are a batch.
        shape: In place of `signature`: from the shapes of the operands to that of the result, or to a list of several.
        vjp: The derivative, `vjp(*cotangents of the results, *operands)`, which gives the cotangent of each operand: a function
            under `@njit`, or one of this library's operations, of one item. "code": it follows from the code of a function of
            numbers, branches included. None: no gradient flows.
        example: Operands whose types are checked now, and not only when the operation is used.

    Raises ArgumentError and ArgumentTypeError for a function or signature of another form, CompileError with Numba's text
    and the line of the function, ShapeError and DTypeError for results that don't fit; and what the function raises.

    Examples:
        >>> import numba
        >>> @sg.njit_op
        ... @numba.njit
        ... def leaky(x, slope):
        ...     return x if x > 0 else slope * x
        >>> x = sg.tensor([-2.0, 3.0], requires_grad=True)
        >>> sg.grad(leaky(x, 0.25).sum(), x)
        (tensor([0.2500, 1.0000]),)
    """
    if fn is None:
        return functools.partial(njit_op, signature=signature, shape=shape, vjp=vjp, example=example)
    from ...compiler.backend.numba_functions import is_compiled

    name = getattr(fn, "__name__", repr(fn))
    if not is_compiled(fn):
        raise ArgumentTypeError(
            f"njit_op takes a function under numba.njit, got {name} of type {type(fn).__name__}",
            "without a signature it is elementwise: it needs no numba.vectorize",
        )
    python: Any = fn.py_func  # type: ignore[attr-defined]
    parameters = inspect.signature(python)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.parameters.values()):
        raise ArgumentError(f"{name}: each parameter is an operand, so it can't take any number of them")
    count = len(parameters.parameters)
    if signature is not None and shape is not None:
        raise ArgumentError(f"{name}: give a signature or shape=, not both")
    kind = None if shape is not None else of_numbers(count) if signature is None else parsed(signature)
    if kind is not None and len(kind.operands) != count:
        raise ArgumentError(f"{name}: its signature has {len(kind.operands)} operands, and the function {count}")
    if vjp is not None and vjp != CODE and not callable(vjp):
        raise ArgumentTypeError(f'{name}: vjp= is a function, "{CODE}" or None, got {vjp!r}')
    definition = Definition(fn, kind, shape, vjp)

    @functools.wraps(python)
    def operation(*operands: Any, **named: Any) -> Any:
        return definition(bound(*operands, **named) if named or len(operands) != count else operands)

    def bound(*operands: Any, **named: Any) -> list[Any]:
        try:
            found = parameters.bind(*operands, **named)
        except TypeError as error:
            raise ArgumentTypeError(f"{name}: {error}") from None
        found.apply_defaults()
        return [*found.arguments.values()]

    del operation.__wrapped__
    if example is not None:
        definition.check(bound(*example))
    return operation
