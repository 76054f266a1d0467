"""`tf.contrib.opt`: SciPy's minimizers over a graph, and optimizers beside those of `tf.train`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import placeholder
from ..control import group
from ..core import F
from ..gradients import gradients
from ..platform import info
from ..session import get_default_session
from ..train.optimizers import AdamOptimizer, _number
from ..train.optimizers import AdamWOptimizer as AdamWOptimizer
from ..variables import assign, trainable_variables


class ExternalOptimizerInterface:
    """Minimizes a loss by a function of Python that asks for values and gradients. A subclass defines `_minimize`.

    var_list: all trainable variables unless given. equalities, inequalities: tensors that are to be 0, and at least 0.
    var_to_bounds: (lower, upper) by variable, numbers or arrays.
    """

    def __init__(
        self, loss: Any, var_list: Sequence[Any] | None = None, equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None, var_to_bounds: dict[Any, Any] | None = None, **optimizer_kwargs: Any,
    ):  # fmt: skip
        self._loss, self.optimizer_kwargs = loss, optimizer_kwargs
        self._vars = trainable_variables() if var_list is None else list(var_list)
        self._equalities, self._inequalities = list(equalities or []), list(inequalities or [])
        self._sizes = [int(v.shape.num_elements()) for v in self._vars]
        self._packed_bounds = None if var_to_bounds is None else self._bounds(var_to_bounds)
        self._slopes = {t: self._slope(t) for t in (loss, *self._equalities, *self._inequalities)}
        self._places = [placeholder(v.dtype, v.shape) for v in self._vars]
        self._update = group(*(assign(v, p) for v, p in zip(self._vars, self._places, strict=True)))

    def _bounds(self, given: dict[Any, Any]) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = []
        for v in self._vars:
            low, high = given.get(v, (-np.inf, np.inf))
            ends = [np.broadcast_to(end, v.shape.as_list()).ravel() for end in (low, high)]
            found += zip(*ends, strict=True)
        return found

    def _slope(self, tensor: Any) -> list[Any]:
        """One gradient per variable, zeros where it has no influence."""
        return list(gradients(tensor, self._vars, unconnected_gradients="zero"))

    def _pack(self, arrays: Sequence[Any]) -> np.ndarray:
        return np.concatenate([np.ravel(a).astype(np.float64) for a in arrays])

    def _unpack(self, x: np.ndarray) -> list[np.ndarray]:
        parts = np.split(x, np.cumsum(self._sizes)[:-1])
        return [
            np.asarray(p, v.dtype.as_numpy_dtype).reshape(v.shape.as_list()) for p, v in zip(parts, self._vars, strict=True)
        ]

    def minimize(
        self, session: Any = None, feed_dict: Any = None, fetches: Sequence[Any] | None = None,
        step_callback: Callable[[np.ndarray], Any] | None = None, loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:  # fmt: skip
        """Give the variables the values of the least loss. step_callback gets all of them in one array after each step of the
        minimizer, loss_callback the values of `fetches` for each value of the loss."""
        session = session or get_default_session()
        feed, asked = dict(feed_dict or {}), list(fetches or [])

        def run(wanted: Any, x: np.ndarray) -> Any:
            return session.run(wanted, {**feed, **dict(zip(self._vars, self._unpack(x), strict=True))})

        def value_and_slope(tensor: Any, extra: list[Any], callback: Any) -> Callable[[np.ndarray], tuple[Any, np.ndarray]]:
            def call(x: np.ndarray) -> tuple[Any, np.ndarray]:
                value, slopes, more = run([tensor, self._slopes[tensor], extra], x)
                if callback is not None:
                    callback(*more)
                return np.asarray(value, np.float64), self._pack(slopes)

            return call

        def parts(tensors: list[Any]) -> tuple[list[Any], list[Any]]:
            both = [value_and_slope(t, [], None) for t in tensors]
            return [lambda x, f=f: f(x)[0] for f in both], [lambda x, f=f: f(x)[1] for f in both]

        start = self._pack(session.run(self._vars, feed))
        equal, less = parts(self._equalities), parts(self._inequalities)
        last = self._minimize(
            initial_val=start, loss_grad_func=value_and_slope(self._loss, asked, loss_callback), equality_funcs=equal[0],
            equality_grad_funcs=equal[1], inequality_funcs=less[0], inequality_grad_funcs=less[1],
            packed_bounds=self._packed_bounds, step_callback=step_callback, optimizer_kwargs=self.optimizer_kwargs,
        )  # fmt: skip
        session.run(self._update, dict(zip(self._places, self._unpack(last), strict=True)))

    def _minimize(
        self, initial_val: np.ndarray, loss_grad_func: Any, equality_funcs: Any = (), equality_grad_funcs: Any = (),
        inequality_funcs: Any = (), inequality_grad_funcs: Any = (), packed_bounds: Any = None, step_callback: Any = None,
        optimizer_kwargs: Any = None,
    ) -> np.ndarray:  # fmt: skip
        raise NotImplementedError("To use ExternalOptimizerInterface, subclass from it and implement the _minimize() method.")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """`scipy.optimize.minimize`; keywords are its own: method ("L-BFGS-B", or "SLSQP" with constraints), options, tol."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self, initial_val: np.ndarray, loss_grad_func: Any, equality_funcs: Any = (), equality_grad_funcs: Any = (),
        inequality_funcs: Any = (), inequality_grad_funcs: Any = (), packed_bounds: Any = None, step_callback: Any = None,
        optimizer_kwargs: Any = None,
    ) -> np.ndarray:  # fmt: skip
        from scipy.optimize import minimize

        both = ("eq", equality_funcs, equality_grad_funcs), ("ineq", inequality_funcs, inequality_grad_funcs)
        constraints = [
            {"type": kind, "fun": fun, "jac": jac} for kind, funs, jacs in both for fun, jac in zip(funs, jacs, strict=True)
        ]
        given = dict(optimizer_kwargs or {})
        for key in ("jac", "bounds", "constraints"):
            if key in given:
                raise ValueError(f"Optimizer keyword arg '{key}' is set automatically and cannot be injected manually")
        method = given.pop("method", "SLSQP" if constraints else self._DEFAULT_METHOD)
        more = {"constraints": constraints} if constraints else {}
        found = minimize(
            loss_grad_func, initial_val, jac=True, method=method, callback=step_callback, bounds=packed_bounds, **more, **given
        )
        info("Optimization terminated with: message %s, objective %s, %s evaluations", found.message, found.fun, found.nfev)
        return np.asarray(found.x)


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's look ahead. Dozat, ICLR workshop 2016."""

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "Nadam",
    ):  # fmt: skip
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        b1, b2 = _number(self.beta1, var), _number(self.beta2, var)
        p1, p2 = (F.astype(shared[key], var.dtype) for key in ("beta1_power", "beta2_power"))
        rate = F.div(F.mul(_number(self.learning_rate, var), F.sqrt(F.sub(1, p2))), F.sub(1, p1))
        m = F.add(slots["m"], F.mul(F.sub(grad, slots["m"]), F.sub(1, b1)))
        v = F.add(slots["v"], F.mul(F.sub(F.square(grad), slots["v"]), F.sub(1, b2)))
        ahead = F.add(F.mul(m, b1), F.mul(grad, F.sub(1, b1)))
        return {"m": m, "v": v, "": F.sub(var, F.div(F.mul(ahead, rate), F.add(F.sqrt(v), _number(self.epsilon, var))))}


class LazyAdamOptimizer(AdamOptimizer):
    """Adam whose moments decay only in the rows that a sparse gradient has."""

    by_rows = True


class AdaMaxOptimizer(AdamOptimizer):
    """Adam by the largest gradients. Kingma and Ba, ICLR 2015, section 7.1."""

    by_rows = True

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "AdaMax",
    ):  # fmt: skip
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        b1, b2 = _number(self.beta1, var), _number(self.beta2, var)
        rate = F.div(_number(self.learning_rate, var), F.sub(1, F.astype(shared["beta1_power"], var.dtype)))
        m = F.add(slots["m"], F.mul(F.sub(grad, slots["m"]), F.sub(1, b1)))
        v = F.maximum(F.mul(slots["v"], b2), F.abs(grad))
        return {"m": m, "v": v, "": F.sub(var, F.div(F.mul(rate, m), F.add(v, _number(self.epsilon, var))))}


class MovingAverageOptimizer:
    """Another optimizer, and moving averages of the variables beside it."""

    def __init__(self, opt: Any, average_decay: float = 0.9999, num_updates: Any = None, sequential_update: bool = True):
        from ..train.decay import ExponentialMovingAverage

        self._optimizer, self._ema = opt, ExponentialMovingAverage(average_decay, num_updates)
        self._averaged: list[Any] = []

    def compute_gradients(self, *args: Any, **options: Any) -> Any:
        return self._optimizer.compute_gradients(*args, **options)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The step, and then the averages."""
        pairs = list(grads_and_vars)
        step = self._optimizer.apply_gradients(pairs, global_step, name)
        self._averaged = [v for _, v in pairs]
        with step.graph.control_dependencies([step]):
            return group(self._ema.apply(self._averaged))

    def minimize(
        self, loss: Any, global_step: Any = None, var_list: Any = None, name: str | None = None, **options: Any
    ) -> Any:
        return self.apply_gradients(self.compute_gradients(loss, var_list, **options), global_step, name)

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **options: Any) -> Any:
        """A saver that writes the averages under the names of the variables."""
        from ..graph import GraphKeys, get_default_graph
        from ..train.saver import Saver

        chosen = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES) if var_list is None else list(var_list)
        averages = {v.op.name: self._ema.average(v) for v in self._averaged}
        kept = set(averages.values())
        return Saver({v.op.name: averages.get(v.op.name, v) for v in chosen if v not in kept}, **options)
