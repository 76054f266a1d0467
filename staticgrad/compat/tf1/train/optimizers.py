"""Optimizers: update rules on symbols. Slots are variables of the graph; the compiler fuses an update into one kernel.

The formulas are those of TensorFlow 1's documentation, which differ from PyTorch's in where epsilon stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arrays import ones_like, zeros_like
from ..core import F, communicators, static, using
from ..dtypes import float32
from ..gradients import IndexedSlices, gradients, rows_once
from ..graph import GraphKeys, get_default_graph
from ..handles import Handle, Operation
from ..tensor import tensor
from ..variable_scopes import slot_name
from ..variables import Variable

SERVERS = (
    "start the workers alone, with `staticgrad launch -n N train.py`: each of them has the variables; wrap the optimizer in "
    "tf.train.SyncReplicasOptimizer, which averages the gradients of all workers"
)


def several() -> bool:
    """Whether other workers train the same variables."""
    return communicators.launched() > 1 and 0 in communicators.groups and communicators.group(0).size > 1


class Optimizer:
    """Base. A subclass says which slots a variable has, and returns their new values and that of the variable."""

    GATE_NONE, GATE_OP, GATE_GRAPH = range(3)
    slot_names: Sequence[str] = ()
    by_rows = True
    """Whether a step with `IndexedSlices` computes and changes their rows alone, with slots that don't decay elsewhere."""

    def __init__(self, use_locking: bool, name: str):
        self.name = name
        self._synchronous = False
        """Whether its gradients are averages over all workers."""
        self._slots: dict[str, dict[Any, Variable]] = {}
        self._shared: dict[str, Variable] = {}

    def get_name(self) -> str:
        return self.name

    def get_slot_names(self) -> list[str]:
        return sorted(self._slots)

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot variable of a variable; None where there is none yet."""
        return self._slots.get(name, {}).get(var)

    def variables(self) -> list[Variable]:
        """All variables that the optimizer made."""
        made = [v for slots in self._slots.values() for v in slots.values()]
        return [*self._shared.values(), *sorted(made, key=lambda v: str(v.name))]

    def minimize(
        self, loss: Any, global_step: Any = None, var_list: Any = None, gate_gradients: int = GATE_OP,
        aggregation_method: Any = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:  # fmt: skip
        """One operation that takes a step. Raises ValueError where no variable gets a gradient."""
        pairs = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        if all(g is None for g, _ in pairs):
            raise ValueError(
                f"No gradients provided for any variable, check your graph for ops that do not support gradients, between "
                f"variables {[str(v) for _, v in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self, loss: Any, var_list: Any = None, gate_gradients: int = GATE_OP, aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False, grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """(gradient, variable) for each variable, all trainable ones unless given; None for one without influence."""
        chosen = get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES) if var_list is None else list(var_list)
        if not chosen:
            raise ValueError("No variables to optimize.")
        loss = loss() if callable(loss) else loss
        return list(zip(gradients(loss, chosen, grad_loss), chosen, strict=True))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Operation:
        """One operation that updates the variables and adds 1 to `global_step`. Raises ValueError for no gradients."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        if not self._synchronous and several():
            raise RuntimeError(
                f"tf.train: {type(self).__name__} is one worker's, and several train; updates that do not wait for "
                f"each other are refused; {SERVERS}"
            )
        graph = pairs[0][1].graph
        graph.check_open()
        updates: list[Any] = []
        with using(graph), static.control_dependencies(None):  # initial values depend on nothing
            shared = self._prepare()
            slots = [{slot: self._slot(v, slot) for slot in self.slot_names} for _, v in pairs]
        with using(graph), graph.name_scope(name or self.name):
            for (g, v), own in zip(pairs, slots, strict=True):
                graph.trains(v.node, [s.node for s in own.values()], getattr(g, "symbol", g))
                state = {slot: s.symbol for slot, s in own.items()} | {"": v.symbol}
                common = {key: x.symbol for key, x in shared.items()}
                if self.by_rows and isinstance(g, IndexedSlices):
                    updates += self._by_rows(v, g, state, common)
                    continue
                values = self.rule(v.symbol, tensor(g, v.symbol.dtype), state, common)
                if v.constraint:
                    values[""] = v.constraint(graph.handle(values[""].node)).symbol
                updates += [static.assign(state[key], value) for key, value in values.items()]
            updates += self._finish({key: s.symbol for key, s in shared.items()})
            if global_step is not None:
                step = global_step.symbol
                updates.append(static.assign_add(step, F.ones_like(step)))
            made = Operation(graph, static.group(*updates, name=graph._scope).node)
        graph.add_to_collection(GraphKeys.TRAIN_OP, made)
        return made

    def _by_rows(self, v: Variable, g: IndexedSlices, state: dict[str, Any], shared: dict[str, Any]) -> list[Any]:
        """The updates of the rows that a sparse gradient has. Raises RuntimeError for a variable with a constraint."""
        if v.constraint:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")
        ids, grad = rows_once(g, v.symbol)
        rows = {key: F.take(x, ids, axis=0) for key, x in state.items()}
        values = self.rule(rows[""], grad, rows, shared)
        return [static.assign(state[key], F.index_copy(state[key], 0, ids, value)) for key, value in values.items()]

    # for subclasses ---------------------------------------------------------------------------------------------------

    def _prepare(self) -> dict[str, Variable]:
        """The variables that all updates share, made at the first call."""
        return self._shared

    def _finish(self, shared: dict[str, Any]) -> list[Any]:
        """Updates of the shared variables."""
        return []

    accumulator = ""
    """The slot that begins as the number `start`; others begin as zeros."""
    start = 0.0

    def initial(self, var: Any, slot: str) -> Any:
        """The first value of a slot."""
        zeros = zeros_like(var.initial_value)
        return zeros + self.start if slot == self.accumulator else zeros

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        """The new values of the slots by name, and that of the variable under ""."""
        raise NotImplementedError

    def _slot(self, var: Any, slot: str) -> Variable:
        known = self._slots.setdefault(slot, {})
        if var not in known:
            name = slot_name(f"{var.op.name}/{self.name}")
            with var.graph.name_scope(None):  # the graph counts further slots: Adam, Adam_1
                known[var] = Variable(self.initial(var, slot), trainable=False, name=name)
        return known[var]

    def _shared_variable(self, name: str, value: float) -> Variable:
        if name not in self._shared:
            self._shared[name] = Variable(value, trainable=False, name=name, dtype=float32)
        return self._shared[name]


def _number(value: Any, like: Any) -> Any:
    """A hyper-parameter, which may be a tensor or a function that returns one, in the variable's dtype."""
    value = value() if callable(value) and not isinstance(value, Handle) else value
    found = tensor(value) if isinstance(value, Handle) else tensor(float(value), like.dtype)
    return found if found.dtype == like.dtype else F.astype(found, like.dtype)


class GradientDescentOptimizer(Optimizer):
    """var -= learning_rate * grad."""

    by_rows = False  # the compiler adds scattered rows in place

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"):
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        return {"": F.sub(var, F.mul(_number(self.learning_rate, var), grad))}


class MomentumOptimizer(Optimizer):
    """accum = momentum * accum + grad; var -= learning_rate * accum; with Nesterov's step a look ahead."""

    slot_names = ("momentum",)

    def __init__(
        self, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "Momentum", use_nesterov: bool = False
    ):
        super().__init__(use_locking, name)
        self.learning_rate, self.momentum, self.use_nesterov = learning_rate, momentum, use_nesterov

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        rate, momentum = _number(self.learning_rate, var), _number(self.momentum, var)
        accum = F.add(F.mul(momentum, slots["momentum"]), grad)
        step = F.add(grad, F.mul(momentum, accum)) if self.use_nesterov else accum
        return {"momentum": accum, "": F.sub(var, F.mul(rate, step))}


class AdamOptimizer(Optimizer):
    """var -= learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon).

    Source: Kingma and Ba, ICLR 2015, the form before section 2.1, whose epsilon is "epsilon hat".
    """

    by_rows = False  # the moments of all rows decay
    slot_names = ("m", "v")

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "Adam",
    ):  # fmt: skip
        super().__init__(use_locking, name)
        self.learning_rate, self.beta1, self.beta2, self.epsilon = learning_rate, beta1, beta2, epsilon

    def _prepare(self) -> dict[str, Variable]:
        self._shared_variable("beta1_power", self.beta1)
        self._shared_variable("beta2_power", self.beta2)
        return self._shared

    def _finish(self, shared: dict[str, Any]) -> list[Any]:
        return [
            static.assign(shared["beta1_power"], F.mul(shared["beta1_power"], _number(self.beta1, shared["beta1_power"]))),
            static.assign(shared["beta2_power"], F.mul(shared["beta2_power"], _number(self.beta2, shared["beta2_power"]))),
        ]

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        b1, b2 = _number(self.beta1, var), _number(self.beta2, var)
        p1, p2 = (F.astype(shared[key], var.dtype) for key in ("beta1_power", "beta2_power"))
        rate = F.div(F.mul(_number(self.learning_rate, var), F.sqrt(F.sub(1, p2))), F.sub(1, p1))
        m = F.add(slots["m"], F.mul(F.sub(grad, slots["m"]), F.sub(1, b1)))
        v = F.add(slots["v"], F.mul(F.sub(F.square(grad), slots["v"]), F.sub(1, b2)))
        step = F.div(F.mul(m, rate), F.add(F.sqrt(v), _number(self.epsilon, var)))
        return {"m": m, "v": v, "": F.sub(var, step)}


class AdamWOptimizer(AdamOptimizer):
    """Adam, and var -= weight_decay * var beside it: `tf.contrib.opt.AdamWOptimizer`. Loshchilov and Hutter, ICLR 2019."""

    def __init__(
        self, weight_decay: Any, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "AdamW",
    ):  # fmt: skip
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self.weight_decay = weight_decay

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        decayed = F.sub(var, F.mul(_number(self.weight_decay, var), var))
        return super().rule(decayed, grad, slots, shared)


class RMSPropOptimizer(Optimizer):
    """mean square and, centered, mean gradient; mom = momentum * mom + rate * grad / sqrt(ms - mg^2 + epsilon)."""

    slot_names: Sequence[str] = ("rms", "momentum")

    def __init__(
        self, learning_rate: Any, decay: Any = 0.9, momentum: Any = 0.0, epsilon: Any = 1e-10, use_locking: bool = False,
        centered: bool = False, name: str = "RMSProp",
    ):  # fmt: skip
        super().__init__(use_locking, name)
        self.learning_rate, self.decay, self.momentum, self.epsilon = learning_rate, decay, momentum, epsilon
        self.centered = centered
        if centered:
            self.slot_names = ("rms", "momentum", "mg")

    def initial(self, var: Any, slot: str) -> Any:
        return ones_like(var.initial_value) if slot == "rms" else zeros_like(var.initial_value)

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        rest = F.sub(1, _number(self.decay, var))
        rms = F.add(slots["rms"], F.mul(F.sub(F.square(grad), slots["rms"]), rest))
        found, spread = {"rms": rms}, rms
        if self.centered:
            found["mg"] = F.add(slots["mg"], F.mul(F.sub(grad, slots["mg"]), rest))
            spread = F.sub(rms, F.square(found["mg"]))
        scaled = F.div(F.mul(grad, _number(self.learning_rate, var)), F.sqrt(F.add(spread, _number(self.epsilon, var))))
        found["momentum"] = F.add(F.mul(slots["momentum"], _number(self.momentum, var)), scaled)
        return {**found, "": F.sub(var, found["momentum"])}


class AdagradOptimizer(Optimizer):
    """accum += grad^2; var -= learning_rate * grad / sqrt(accum). Duchi et al., JMLR 12 (2011)."""

    slot_names, accumulator = ("accumulator",), "accumulator"

    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1, use_locking: bool = False, name: str = "Adagrad"
    ):
        if initial_accumulator_value <= 0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self.learning_rate, self.start = learning_rate, initial_accumulator_value

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        accum = F.add(slots["accumulator"], F.square(grad))
        return {"accumulator": accum, "": F.sub(var, F.div(F.mul(grad, _number(self.learning_rate, var)), F.sqrt(accum)))}


class AdadeltaOptimizer(Optimizer):
    """Zeiler, "ADADELTA: an adaptive learning rate method", 2012, times `learning_rate`."""

    slot_names = ("accum", "accum_update")

    def __init__(
        self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-8, use_locking: bool = False,
        name: str = "Adadelta",
    ):  # fmt: skip
        super().__init__(use_locking, name)
        self.learning_rate, self.rho, self.epsilon = learning_rate, rho, epsilon

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        rho, epsilon = _number(self.rho, var), _number(self.epsilon, var)
        rest = F.sub(1, rho)
        accum = F.add(F.mul(slots["accum"], rho), F.mul(F.square(grad), rest))
        update = F.mul(F.div(F.sqrt(F.add(slots["accum_update"], epsilon)), F.sqrt(F.add(accum, epsilon))), grad)
        moved = F.add(F.mul(slots["accum_update"], rho), F.mul(F.square(update), rest))
        return {"accum": accum, "accum_update": moved, "": F.sub(var, F.mul(update, _number(self.learning_rate, var)))}


# optimizers that shrink weights, for sparse solutions -----------------------------------------------------------------


def _shrunk(x: Any, amount: Any) -> Any:
    """x moved by `amount` toward 0, and no further."""
    return F.mul(F.sign(x), F.maximum(F.sub(F.abs(x), amount), F.zeros_like(x)))


class _Penalized(Optimizer):
    def __init__(self, learning_rate: Any, l1: float, l2: float, use_locking: bool, name: str):
        if l1 < 0 or l2 < 0:
            raise ValueError(f"the regularization strengths must not be negative, got {l1} and {l2}")
        super().__init__(use_locking, name)
        self.learning_rate, self.l1, self.l2 = learning_rate, l1, l2

    def _proximal(self, moved: Any, rate: Any, var: Any) -> Any:
        """The proximal step of the penalties l1 |w| + l2 w^2 / 2 after a gradient step."""
        shrunk = _shrunk(moved, F.mul(rate, _number(self.l1, var))) if self.l1 else moved
        return F.div(shrunk, F.add(1, F.mul(rate, _number(self.l2, var))))


class ProximalGradientDescentOptimizer(_Penalized):
    """A gradient step, then the proximal step of l1 and l2 penalties. Duchi and Singer, NIPS 2009."""

    def __init__(
        self, learning_rate: Any, l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0,
        use_locking: bool = False, name: str = "ProximalGradientDescent",
    ):  # fmt: skip
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        rate = _number(self.learning_rate, var)
        return {"": self._proximal(F.sub(var, F.mul(rate, grad)), rate, var)}


class ProximalAdagradOptimizer(_Penalized):
    """Adagrad's step, then the proximal step of l1 and l2 penalties. Duchi and Singer, NIPS 2009."""

    slot_names, accumulator = ("accumulator",), "accumulator"

    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1, l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0, use_locking: bool = False, name: str = "ProximalAdagrad",
    ):  # fmt: skip
        if initial_accumulator_value <= 0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self.start = initial_accumulator_value

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        accum = F.add(slots["accumulator"], F.square(grad))
        rate = F.div(_number(self.learning_rate, var), F.sqrt(accum))
        return {"accumulator": accum, "": self._proximal(F.sub(var, F.mul(rate, grad)), rate, var)}


class AdagradDAOptimizer(_Penalized):
    """Dual averaging with Adagrad's scale. Duchi et al., JMLR 12 (2011)."""

    slot_names = ("gradient_accumulator", "gradient_squared_accumulator")
    accumulator = "gradient_squared_accumulator"

    def __init__(
        self, learning_rate: Any, global_step: Any, initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, use_locking: bool = False,
        name: str = "AdagradDA",
    ):  # fmt: skip
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self.global_step: Variable = global_step
        self.start = initial_gradient_squared_accumulator_value

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        step = F.add(F.astype(self.global_step.symbol, var.dtype), 1)
        rate = _number(self.learning_rate, var)
        total = F.add(slots["gradient_accumulator"], grad)
        squares = F.add(slots["gradient_squared_accumulator"], F.square(grad))
        shrunk = _shrunk(total, F.mul(step, _number(self.l1, var))) if self.l1 else total
        scale = F.add(F.mul(F.mul(_number(self.l2, var), step), rate), F.sqrt(squares))
        new = F.div(F.neg(F.mul(rate, shrunk)), scale)
        return {"gradient_accumulator": total, "gradient_squared_accumulator": squares, "": new}


class FtrlOptimizer(_Penalized):
    """Follow the regularized leader. McMahan et al., KDD 2013."""

    slot_names, accumulator = ("accum", "linear"), "accum"

    def __init__(
        self, learning_rate: Any, learning_rate_power: float = -0.5, initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, use_locking: bool = False,
        name: str = "Ftrl", accum_name: str | None = None, linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0, beta: float = 0.0,
    ):  # fmt: skip
        if learning_rate_power > 0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self.power, self.start, self.shrinkage, self.beta = (
            learning_rate_power, initial_accumulator_value, l2_shrinkage_regularization_strength, beta,
        )  # fmt: skip

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        rate, l1, l2 = _number(self.learning_rate, var), _number(self.l1, var), _number(self.l2, var)
        accum = F.add(slots["accum"], F.square(grad))
        before, after = F.pow(slots["accum"], -self.power), F.pow(accum, -self.power)
        pulled = F.add(grad, F.mul(var, 2 * self.shrinkage)) if self.shrinkage else grad
        linear = F.sub(F.add(slots["linear"], pulled), F.mul(F.div(F.sub(after, before), rate), var))
        scale = F.add(F.div(F.add(after, self.beta), rate), F.mul(l2, 2))
        new = F.div(F.neg(_shrunk(linear, l1)), scale)
        return {"accum": accum, "linear": linear, "": new}
