"""Limited-memory BFGS, with a line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..base.types import part_dtype
from ..eager import Tensor, enable_grad, no_grad
from ..eager.inplace import replace, tracer
from ..eager.tensor import Structure
from ..errors import ArgumentError, GraphError, TraceError
from .groups import ParamGroup
from .optimizer import Optimizer
from .state_io import check_saved, hyper_of

MEMORY = ("old_dirs", "old_stps", "ro")
CURVATURE = 1e-10
"""A pair of changes with a smaller product s'y is not remembered: the inverse Hessian would lose its definiteness."""


class Point(NamedTuple):
    """A point along a direction: its position, the loss and gradient there, and the loss's slope along the direction."""

    t: float
    loss: float
    gradient: np.ndarray
    slope: float


class LBFGS(Optimizer):
    """Quasi-Newton steps whose inverse Hessian is made of the last `history_size` changes of gradient and parameters.

    One `step(closure)` takes up to max_iter iterations and max_eval evaluations (5/4 of max_iter unless given); the closure
    clears the gradients, computes the loss, calls backward and returns the loss. line_search_fn: None takes steps of length
    lr, "strong_wolfe" searches. Eager only: how many evaluations a step takes depends on values. Raises ArgumentError for
    several parameter groups, TraceError in a compiled function, GraphError for graphs.
    Source: Nocedal and Wright, "Numerical optimization", 2006, algorithms 7.4, 7.5 and 3.5; constants as in minFunc.

    Examples:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = optim.LBFGS([w])
        >>> def closure():
        ...     opt.zero_grad()
        ...     loss = (w * w).sum()
        ...     loss.backward()
        ...     return loss
        >>> _ = opt.step(closure)
        >>> abs(w.item()) < 0.1
        True
    """

    not_negative = ("lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change", "history_size")

    def __init__(
        self, params: Any = None, lr: Any = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None,
    ):  # fmt: skip
        if params is None:
            raise GraphError("LBFGS is for eager tensors", "give it model.parameters()")
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ArgumentError("LBFGS doesn't support per-parameter options (parameter groups)")

    def check(self, group: ParamGroup) -> None:
        super().check(group)
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ArgumentError("only 'strong_wolfe' is supported", f"line_search_fn is {group['line_search_fn']!r}")

    # parameters as one vector -----------------------------------------------------------------------------------------

    def _gradient(self) -> np.ndarray:
        return np.concatenate(
            [_numbers(np.zeros(p.shape, p.dtype) if p.grad is None else p.grad._data) for p in self.parameters()]
        )

    def _position(self) -> np.ndarray:
        return np.concatenate([_numbers(p._data) for p in self.parameters()])

    def _move(self, position: np.ndarray) -> None:
        begin = 0
        with no_grad():
            for p in self.parameters():
                kind = part_dtype(p.dtype)
                end = begin + p._data.nbytes // kind.itemsize
                replace(p, Tensor(position[begin:end].astype(kind).view(p.dtype).reshape(p.shape)), "step")
                begin = end

    # steps ------------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Minimize `closure` from here on; its first result is returned. Raises ArgumentError without a closure."""
        if closure is None:
            raise ArgumentError("LBFGS.step() needs a closure", "def closure(): opt.zero_grad(); ...; return loss")
        if tracer() is not None:
            raise TraceError(
                "LBFGS.step can't be traced: how often it evaluates the loss depends on values",
                "call it outside, with a closure that calls a compiled function of loss and gradients",
            )
        self._tensors("step")
        vars(self)["_opt_called"] = True

        def evaluate() -> Any:
            with enable_grad():
                return closure()

        group, first = self.param_groups[0], self.parameters()[0]
        state: Any = self.state.setdefault(first, {})
        if not state:
            state = self.state[first] = {"func_evals": 0, "n_iter": 0}  # type: ignore[dict-item]
            state = self.state[first]
        found = evaluate()
        run = _Run(self, evaluate, group, state, float(found), self._gradient())
        state["func_evals"] += 1
        if not _flat(run.gradient, group["tolerance_grad"]):
            run.iterate()
        return found

    def minimize(self, loss: Any, var_list: Any = None) -> Any:
        raise GraphError("LBFGS evaluates the loss several times per step", "write a closure: opt.step(closure)")

    # saving -----------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """As `Optimizer.state_dict`: the history is the state of the first parameter."""
        (group,) = self.param_groups
        own = self.state.get(self.parameters()[0], {})
        hyper = {k: v for k, v in group.items() if k != "params"}
        return {
            "state": {0: {name: _shown(value) for name, value in own.items()}} if own else {},
            "param_groups": [{**hyper, "params": list(range(len(group["params"])))}],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        check_saved(self, state_dict)
        (group,), (saved,) = self.param_groups, state_dict["param_groups"]
        values = hyper_of(saved)
        group.check(values)
        own = state_dict["state"].get(saved["params"][0], {})
        dtype = part_dtype(self.parameters()[0].dtype)
        loaded = {name: _loaded(name, value, dtype) for name, value in own.items() if name != "al"}
        group.update(values)
        self.state[self.parameters()[0]] = loaded
        Structure.changes += 1


class _Run:
    """One call of `step`."""

    def __init__(
        self, optimizer: LBFGS, evaluate: Callable[[], Any], group: ParamGroup, state: Any, loss: float, gradient: np.ndarray
    ):
        self.optimizer, self.evaluate, self.group, self.state = optimizer, evaluate, group, state
        self.loss, self.gradient = loss, gradient
        self.evaluations = 1

    def iterate(self) -> None:
        group, state, move = self.group, self.state, self.optimizer._move
        lr, change = float(group["lr"]), group["tolerance_change"]
        for n in range(1, int(group["max_iter"]) + 1):
            state["n_iter"] += 1
            d = self._direction()
            before, loss_before = self.gradient, self.loss
            state["d"], state["prev_flat_grad"], state["prev_loss"] = Tensor(d), Tensor(before.copy()), loss_before
            t = min(1.0, 1.0 / float(np.abs(before).sum())) * lr if state["n_iter"] == 1 else lr
            state["t"] = t
            slope = float(before @ d)
            if slope > -change:
                break
            begin = self.optimizer._position()
            spent = 0
            if group["line_search_fn"] is not None:

                def along(t: float, begin: np.ndarray = begin, d: np.ndarray = d) -> Point:
                    move(begin + t * d)
                    loss = float(self.evaluate())
                    gradient = self.optimizer._gradient()
                    return Point(t, loss, gradient, float(gradient @ d))

                start = Point(0.0, self.loss, before, slope)
                left = group["max_eval"] - self.evaluations
                best, spent = strong_wolfe(along, start, t, float(np.abs(d).max()), change, left)
                t, self.loss, self.gradient = best.t, best.loss, best.gradient
                state["t"] = t
                move(begin + t * d)
            else:
                move(begin + t * d)
                if n != group["max_iter"]:
                    self.loss, self.gradient, spent = float(self.evaluate()), self.optimizer._gradient(), 1
            self.evaluations += spent
            state["func_evals"] += spent
            if (
                self.evaluations >= group["max_eval"]
                or _flat(self.gradient, group["tolerance_grad"])
                or _flat(d * t, change)
                or abs(self.loss - loss_before) < change
            ):
                break

    def _direction(self) -> np.ndarray:
        """The negative gradient times the approximate inverse Hessian, with the last change in it: the two-loop recursion."""
        state, g = self.state, self.gradient
        if state["n_iter"] == 1:
            state.update({"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1.0})
            return -g
        y, s = g - state["prev_flat_grad"]._data, state["d"]._data * state["t"]
        curvature = float(y @ s)
        ys, ss, ro = (state[name] for name in MEMORY)
        if curvature > CURVATURE:
            if len(ys) == self.group["history_size"]:
                for kept in (ys, ss, ro):
                    kept.pop(0)
            ys.append(Tensor(y))
            ss.append(Tensor(s))
            ro.append(1.0 / curvature)
            state["H_diag"] = curvature / float(y @ y)
        q = -g
        shares = []
        for y_i, s_i, r in zip(reversed(ys), reversed(ss), reversed(ro), strict=True):
            shares.append(float(s_i._data @ q) * r)
            q = q - shares[-1] * y_i._data
        q = q * state["H_diag"]
        for y_i, s_i, r, share in zip(ys, ss, ro, reversed(shares), strict=True):
            q = q + (share - float(y_i._data @ q) * r) * s_i._data
        return q


def _flat(x: np.ndarray, tolerance: float) -> bool:
    return bool(np.abs(x).max(initial=0.0) <= tolerance)


def _shown(value: Any) -> Any:
    """The tensors of the history in their own memory, as in PyTorch, in lists that later steps don't change."""
    if isinstance(value, list):
        return [_shown(part) for part in value]
    return value.detach() if isinstance(value, Tensor) else value


def _numbers(array: np.ndarray) -> np.ndarray:
    """The elements in a row; of complex ones the parts."""
    return np.ascontiguousarray(array).reshape(-1).view(part_dtype(array.dtype))


def _loaded(name: str, value: Any, dtype: np.dtype) -> Any:
    if isinstance(value, (list, tuple)):
        return [_loaded(name if name != "ro" else "", part, dtype) for part in value]
    if name in ("func_evals", "n_iter"):
        return int(value)
    if name in ("", "t", "H_diag", "prev_loss"):
        return float(value)
    return Tensor(np.array(value._data if isinstance(value, Tensor) else np.asarray(value), dtype=dtype))


# line search ----------------------------------------------------------------------------------------------------------


def cubic_minimum(a: Point, b: Point, low: float | None = None, high: float | None = None) -> float:
    """Where the cubic through both points with their slopes is least, within [low, high] (between them unless given).

    The middle where the cubic has no minimum. Source: Nocedal and Wright, equation 3.59.
    """
    low, high = (min(a.t, b.t), max(a.t, b.t)) if low is None or high is None else (low, high)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    near, far = (a, b) if a.t <= b.t else (b, a)
    denominator = far.slope - near.slope + 2 * d2
    if denominator == 0:
        return (low + high) / 2
    return min(max(far.t - (far.t - near.t) * ((far.slope + d2 - d1) / denominator), low), high)


def strong_wolfe(
    along: Callable[[float], Point], start: Point, t: float, longest: float, tolerance: float, evaluations: int,
    c1: float = 1e-4, c2: float = 0.9,
) -> tuple[Point, int]:  # fmt: skip
    """(point, evaluations used): one with enough decrease (c1) and a slope that is c2 times as steep at most.

    longest: the largest component of the direction, for the length of a step. Beyond `evaluations` the best so far is taken.
    """

    def high(p: Point) -> bool:
        return p.loss > start.loss + c1 * p.t * start.slope

    def flat(p: Point) -> bool:
        return abs(p.slope) <= -c2 * start.slope

    before, now, used, n = start, along(t), 1, 0
    bracket: list[Point] = []
    while n < evaluations:  # go further until an interval holds such a point
        if high(now) or (n > 1 and now.loss >= before.loss):
            bracket = [before, now]
            break
        if flat(now):
            return now, used
        if now.slope >= 0:
            bracket = [before, now]
            break
        further = cubic_minimum(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10)
        before, now = now, along(further)
        used, n = used + 1, n + 1
    if not bracket:
        bracket = [start, now]
    low, other = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    stuck = False
    while n < evaluations and abs(bracket[1].t - bracket[0].t) * longest >= tolerance:
        t = cubic_minimum(bracket[0], bracket[1])
        left, right = min(bracket[0].t, bracket[1].t), max(bracket[0].t, bracket[1].t)
        margin = 0.1 * (right - left)
        close = min(right - t, t - left) < margin
        if close and (stuck or t >= right or t <= left):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            close = False
        stuck = close
        now = along(t)
        used, n = used + 1, n + 1
        if high(now) or now.loss >= bracket[low].loss:
            bracket[other] = now
            low, other = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        if flat(now):
            return now, used
        if now.slope * (bracket[other].t - bracket[low].t) >= 0:
            bracket[other] = bracket[low]
        bracket[low] = now
    return bracket[low], used
