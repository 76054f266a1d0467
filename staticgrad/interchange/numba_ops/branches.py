"""Derivatives of scalar Python functions, by calling them with symbols.

A function is called once for each way through its branches; arithmetic and functions of `math` and `numpy` on its symbols are
noted as expressions. What is found is a `Tree`, whose inner nodes are conditions and whose leaves are functions of tensors
without branches. The derivative of a tree is the tree of the derivatives of its leaves, so what a branch that is not taken
computes, infinities included, has no part in it, in derivatives of any order.
"""

from __future__ import annotations

import builtins
import dis
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import CellType, FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ...autodiff.forward import Recorded, Recording, pull
from ...base.types import TensorType, broadcast_shapes
from ...eager import Tensor, no_grad
from ...eager.grad_mode import modes
from ...errors import GradientError, Where
from ...ir import Expand, OpDef
from ...ops.operators import F, apply, state
from ...ops.rules import aligned, unbroadcast

MOST = 64
"""The most ways through a function."""

NAMES = {
    "absolute": "abs", "fabs": "abs", "power": "pow", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "negative": "neg", "add": "add", "subtract": "sub",
    "multiply": "mul", "divide": "div", "true_divide": "div", "degrees": "rad2deg", "radians": "deg2rad", "mod": "remainder",
    "remainder": "remainder", "fix": "trunc", "lgamma": "lgamma",
    **{name: name for name in (
        "abs", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan",
        "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "floor", "ceil", "trunc", "sign", "square",
        "pow", "hypot", "copysign", "maximum", "minimum", "fmod", "fmax", "fmin", "reciprocal", "where", "rad2deg", "deg2rad",
        "isnan", "isinf", "isfinite", "logaddexp", "sinc", "clip", "floor_divide", "logical_and", "logical_or", "logical_not",
    )},
}  # fmt: skip
"""Functions of this library by the names that `math` and `numpy` give them."""
TRUTHS = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_not")
)
"""Those that give a truth value."""
CASTS = frozenset((np.float16, np.float32, np.float64, float))


class Untraceable(Exception):
    """Why a function can't be traced."""


class Symbol:
    """A number of the function, as an expression. name: "" for operand `operands[0]`."""

    __slots__ = ("name", "operands", "path")

    def __init__(self, path: Path, name: str, *operands: Any):
        self.path, self.name, self.operands = path, name, operands

    def __bool__(self) -> bool:
        return self.path.choose(self)

    def _refuse(self) -> NoReturn:
        raise Untraceable("it needs the value of a number, as int(), range() and elements of arrays do")

    def __pos__(self) -> Symbol:
        return self

    __array_ufunc__ = None  # NumPy's numbers leave arithmetic to it
    __float__ = __int__ = __index__ = __complex__ = __round__ = __iter__ = __array__ = _refuse


def _method(name: str, reflected: bool) -> Callable[..., Symbol]:
    def method(self: Symbol, *others: Any) -> Symbol:
        return Symbol(self.path, name, *(*others, self) if reflected else (self, *others))

    return method


for _name, _method_name in (
    ("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv"), ("floor_divide", "floordiv"), ("remainder", "mod"),
    ("pow", "pow"),
):  # fmt: skip
    setattr(Symbol, f"__{_method_name}__", _method(_name, False))
    setattr(Symbol, f"__r{_method_name}__", _method(_name, True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs"):
    setattr(Symbol, f"__{_name}__", _method(_name, False))
Symbol.__hash__ = object.__hash__  # type: ignore[method-assign]


class Path:
    """One way through a function: the outcomes of its first conditions; later ones are true."""

    def __init__(self, outcomes: Sequence[bool]):
        self.outcomes, self.conditions = list(outcomes), list[Symbol]()

    def choose(self, condition: Symbol) -> bool:
        if condition.name not in TRUTHS:
            condition = Symbol(self, "ne", condition, 0)
        self.conditions.append(condition)
        if len(self.conditions) > MOST:
            raise Untraceable(f"it has more than {MOST} conditions on values in one way: a loop that values end?")
        known = len(self.conditions) <= len(self.outcomes)
        return self.outcomes[len(self.conditions) - 1] if known else True


Leaf = Callable[..., Any]


class Branch(NamedTuple):
    """A condition, a function of tensors, and what follows from either outcome."""

    condition: Leaf
    yes: Tree
    no: Tree


Tree = Leaf | Branch


def traced(function: FunctionType, count: int, results_count: int, name: str) -> list[Tree]:
    """The results, so many, of a function of so many numbers. Raises GradientError."""
    where = Where(function.__code__.co_filename, function.__code__.co_firstlineno)
    ways = 0

    def results(outcomes: Sequence[bool]) -> list[Tree]:
        nonlocal ways
        ways += 1
        if ways > MOST:
            raise Untraceable(f"there are more than {MOST} ways through its branches")
        path = Path(outcomes)
        found: Any
        try:
            found = _substituted(function)(*(Symbol(path, "", i) for i in range(count)))
        except Exception as error:
            if not (path.conditions and _raised_by_user(error)):
                raise
            found = (math.nan,) * results_count  # nobody gets here: the function has raised
        trees: list[Tree] = [_evaluator(value) for value in (found if isinstance(found, tuple) else (found,))]
        for at in reversed(range(len(outcomes), len(path.conditions))):
            other = results([*path.outcomes, *[True] * (at - len(path.outcomes)), False])
            trees = [Branch(_evaluator(path.conditions[at]), yes, no) for yes, no in zip(trees, other, strict=True)]
        return trees

    try:
        return results([])
    except Untraceable as why:
        reason = str(why)
    except Exception as error:  # the user's code may raise anything when it gets a symbol
        reason = f"{type(error).__name__}: {error}"
    raise GradientError(
        f"{name}: no derivative follows from the function's code: {reason}",
        "give vjp=, a function of the cotangent and the operands: another one under @njit, or one of this library's operations",
        where=where,
    )


def _raised_by_user(error: Exception) -> bool:
    """Whether a statement `raise` or `assert` of the function raised it."""
    at = error.__traceback__
    assert at is not None
    while at.tb_next is not None:
        at = at.tb_next
    return dis.opname[at.tb_frame.f_code.co_code[at.tb_lasti]] == "RAISE_VARARGS" and "<substituted>" in at.tb_frame.f_globals


def _evaluator(value: Any) -> Leaf:
    """An expression as a function of tensors."""
    if not isinstance(value, (Symbol, int, float, bool, np.number, np.bool_)):
        raise Untraceable(f"its result is of type {type(value).__name__}")

    def evaluate(*operands: Any) -> Any:
        known: dict[int, Any] = {}

        def of(x: Any) -> Any:
            if not isinstance(x, Symbol):
                return x
            if not x.name:
                return operands[x.operands[0]]
            if id(x) not in known:
                known[id(x)] = getattr(F, x.name)(*map(of, x.operands))
            return known[id(x)]

        return of(value) if isinstance(value, Symbol) else F.full_like(_float_of(operands), value)

    return evaluate


def _float_of(operands: Sequence[Any]) -> Any:
    """An operand that can be differentiated: its dtype is that of numbers."""
    return next(x for x in operands if x.dtype.kind == "f")


# the user's code --------------------------------------------------------------------------------------------------------


class _Module:
    """`math` or `numpy` for symbols."""

    def __init__(self, module: ModuleType):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _replaced(getattr(self._module, name), name)


def _replaced(value: Any, name: str) -> Any:
    """What a name of the user's code stands for, where its operands may be symbols."""
    if value is math or value is np:
        return _Module(value)
    if isinstance(value, FunctionType):
        return value
    if hasattr(value, "py_func") and isinstance(value.py_func, FunctionType):
        return _substituted(value.py_func)
    if isinstance(value, type) and value in CASTS:
        return lambda x=0.0: x if isinstance(x, Symbol) else value(x)
    own = getattr(value, "__name__", name)
    if callable(value) and (getattr(math, own, None) is value or getattr(np, own, None) is value):
        return _of_symbols(value, own)
    return value


def _of_symbols(function: Any, name: str) -> Callable[..., Any]:
    def call(*operands: Any, **named: Any) -> Any:
        path = next((x.path for x in operands if isinstance(x, Symbol)), None)
        if path is None:
            return function(*operands, **named)
        if name not in NAMES or named or not hasattr(F, NAMES[name]):
            raise Untraceable(f"it calls {name}")
        return Symbol(path, NAMES[name], *operands)

    return call


@cache
def _substituted(function: FunctionType) -> FunctionType:
    """A function for symbols, with what its names stand for replaced."""
    scope: dict[str, Any] = {"__builtins__": {**vars(builtins), "float": _replaced(float, "float")}, "<substituted>": True}
    made = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, _cells(function))
    made.__kwdefaults__ = function.__kwdefaults__
    for name, value in function.__globals__.items():
        if name in function.__code__.co_names and name != "__builtins__":
            scope[name] = made if getattr(value, "py_func", None) is function else _replaced(value, name)
    return made


def _cells(function: FunctionType) -> tuple[CellType, ...]:
    return tuple(CellType(_replaced(cell.cell_contents, "")) for cell in function.__closure__ or ())


@contextmanager
def on_tensors() -> Iterator[None]:
    """Meanwhile operations compute on tensors at once: in a backward pass on arrays, and where a trace or a run in segments
    asks for a value."""
    mode = modes.now
    former = mode.arrays, state.tracer, state.deferral
    mode.arrays, state.tracer, state.deferral = False, None, None
    try:
        yield
    finally:
        mode.arrays, state.tracer, state.deferral = former


# trees as operations ----------------------------------------------------------------------------------------------------


def value_of(tree: Tree, operands: Sequence[Any]) -> Any:
    """A tree as operations on tensors."""
    if isinstance(tree, Branch):
        return F.where(tree.condition(*operands), value_of(tree.yes, operands), value_of(tree.no, operands))
    return tree(*operands)


def derivative(tree: Tree, i: int) -> Tree:
    """The derivative by operand `i`."""
    if isinstance(tree, Branch):
        return Branch(tree.condition, derivative(tree.yes, i), derivative(tree.no, i))

    def slope(*operands: Any) -> Any:
        with Recording("jvp", always=True) as level:
            leaf = level.leaf(operands[i])
            out = tree(*operands[:i], leaf, *operands[i + 1 :])
        if not (isinstance(out, Recorded) and out.level is level):
            return F.zeros_like(operands[i])
        (found,) = pull([(out.step, F.ones_like(out.value))], [leaf.step])
        return F.zeros_like(operands[i]) if found is None else found

    return slope


def operation(tree: Tree, count: int, name: str, identity: str) -> Callable[..., Any]:
    """A tree of so many operands as an op with derivatives of every order. identity: see `OpDef.identity`."""
    slopes: dict[int, Callable[..., Any]] = {}

    def slope(i: int) -> Callable[..., Any]:
        if i not in slopes:
            slopes[i] = operation(derivative(tree, i), count, name, f"{identity} by {i}")
        return slopes[i]

    def cotangent(i: int) -> Callable[..., Any]:
        return lambda g, node, out, *operands: unbroadcast(g * slope(i)(*operands), operands[i])

    def written(*operands: Any) -> Any:
        if any(x.shape != operands[0].shape for x in operands):
            whole = functools.reduce(F.add, operands)
            operands = tuple(F.broadcast_like(x, whole) for x in operands)
        return F.astype(value_of(tree, operands), _float_of(operands).dtype)

    def evaluated(*arrays: np.ndarray) -> np.ndarray:
        with on_tensors(), no_grad(), np.errstate(all="ignore"):
            return np.asarray(written(*map(Tensor, arrays))._data)

    def infer(*types: TensorType) -> TensorType:
        return TensorType(broadcast_shapes(*[t.shape for t in types]), _float_of(types).dtype)

    record = OpDef(
        name=f"{name}_derivative", infer=infer, eval=evaluated, vjp=tuple(map(cotangent, range(count))),
        emit=Expand(lambda node, *operands: written(*operands)), batch=aligned, identity=identity,
        doc=f"A derivative that follows from the code of {name}.",
    )  # fmt: skip
    return lambda *operands: apply(record, *operands)
