"""Modules as estimators of scikit-learn: `sg.sklearn.Classifier(module)` and `Regressor`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..base.interpreter import need

need("sklearn", "sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # noqa: E402 - after the check
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

from .. import optim  # noqa: E402
from ..eager import Tensor, manual_seed, no_grad  # noqa: E402
from ..errors import ArgumentError  # noqa: E402
from ..namespaces.func import functional_call  # noqa: E402
from ..namespaces.functional import cross_entropy, mse_loss, softmax  # noqa: E402
from ..namespaces.random import get_rng_state, set_rng_state  # noqa: E402
from ..namespaces.utils.data import DataLoader, TensorDataset  # noqa: E402
from ..namespaces.utils.training import fit  # noqa: E402
from ..nn import Linear, Module, ReLU, Sequential  # noqa: E402
from ..tracing import compile  # noqa: E402

Loss = Callable[[Any, Any], Any]

__all__ = ["Classifier", "Regressor"]


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both have: the training and the module's outputs."""

    module_: Module
    n_features_in_: int

    def __init__(
        self, module: Module | Callable[[int, int], Module] | None = None, *, loss: Loss | None = None,
        optimizer: str = "Adam", lr: float = 0.01, epochs: int = 100, batch_size: int = 64, compiled: bool = True,
        random_state: Any = None,
    ):  # fmt: skip
        self.module = module
        self.loss = loss
        self.optimizer = optimizer
        self.lr = lr
        self.epochs = epochs
        self.batch_size = batch_size
        self.compiled = compiled
        self.random_state = random_state

    def _built(self, inputs: int, outputs: int) -> Module:
        """A module of one's own: a copy, what the function makes, or two layers."""
        if self.module is None:
            return Sequential(Linear(inputs, 64), ReLU(), Linear(64, outputs))
        made = copy.deepcopy(self.module) if isinstance(self.module, Module) else self.module(inputs, outputs)
        if not isinstance(made, Module):
            raise ArgumentError(f"module: expected a Module or a function that returns one, got {type(made).__name__}")
        return made

    def _trained(self, x: np.ndarray, y: np.ndarray, outputs: int, loss: Loss) -> None:
        """Train a new module on all rows, in batches drawn anew in each epoch."""
        kind = getattr(optim, self.optimizer, None)
        if kind is None:
            raise ArgumentError(f"optimizer: there is no {self.optimizer!r} in staticgrad.optim")
        with _seeded(int(check_random_state(self.random_state).randint(2**31 - 1))):
            module = self._built(x.shape[1], outputs).train()
            if any(getattr(m, "has_uninitialized_params", bool)() for m in module.modules()):
                with no_grad():
                    module(Tensor(x[:1]))  # lazy layers take their extents from a row
            optimizer = kind(module.parameters(), lr=self.lr)

            def step(rows: Any, targets: Any) -> Any:
                value = loss(module(rows), targets)
                optimizer.minimize(value)
                return value.detach()

            batches: DataLoader[Any] = DataLoader(TensorDataset(Tensor(x), Tensor(y)), self.batch_size, shuffle=True)
            history = fit(compile(step) if self.compiled else step, batches, epochs=self.epochs, progress=False)
        self.module_ = module.eval()
        self.loss_curve_ = [seen["train"] for seen in history.evaluations]
        self.n_iter_ = self.epochs

    def _outputs(self, x: Any) -> Tensor:
        check_is_fitted(self, "module_")
        rows = validate_data(self, x, reset=False, dtype=np.float64)
        state = (*self.module_.named_parameters(), *self.module_.named_buffers())
        doubled = {name: tensor.double() if tensor.dtype.kind == "f" else tensor for name, tensor in state}
        with no_grad():  # in float64 a row's result does not depend on the rows beside it, as scikit-learn expects
            result: Tensor = functional_call(self.module_, doubled, (Tensor(rows),))
        return result


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Random numbers from a seed; the default generator goes on as before afterwards."""
    before = get_rng_state()
    manual_seed(seed)
    try:
        yield
    finally:
        set_rng_state(before)


class Classifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A module as a classifier of scikit-learn.

    module: a `Module`, of which each `fit` trains a copy, with one output per class; a function (features, classes) -> Module;
    or None for two layers. loss: of the outputs and the classes' numbers, `cross_entropy` for None. optimizer: a name in
    `sg.optim`; lr, epochs, batch_size: of the training; compiled: whether its step is compiled.

    After `fit`: `module_`, `classes_`, `loss_curve_` (per epoch), `n_features_in_`.

    Examples:
        >>> x, y = np.array([[0.0], [0.2], [0.8], [1.0]]), np.array(["low", "low", "high", "high"])
        >>> sg.sklearn.Classifier(random_state=0, compiled=False).fit(x, y).predict(x)
        array(['low', 'low', 'high', 'high'], dtype='<U4')
    """

    def fit(self, X: Any, y: Any) -> Classifier:
        """Train a new module. Raises ValueError for data that scikit-learn refuses."""
        X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self._trained(X, numbers.astype(np.int64), len(self.classes_), self.loss or cross_entropy)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities (rows, classes)."""
        outputs = softmax(self._outputs(X), -1).detach().numpy()
        return np.asarray(outputs)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        places = np.argmax(self._outputs(X).detach().numpy(), 1)
        return np.asarray(self.classes_[places])


class Regressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A module as a regressor of scikit-learn, of one target or several.

    module, optimizer, lr, epochs, batch_size, compiled: as of `Classifier`, with one output per target. loss: of the outputs
    and the targets, `mse_loss` for None. The module is trained on targets of mean 0 and standard deviation 1, and predictions
    are scaled back.
    """

    def fit(self, X: Any, y: Any) -> Regressor:
        """Train a new module. Raises ValueError for data that scikit-learn refuses."""
        X, y = validate_data(self, X, y, dtype=np.float32, multi_output=True, y_numeric=True)
        self._flat = y.ndim == 1
        targets = y.reshape(len(y), -1).astype(np.float64)
        self.target_mean_, spread = targets.mean(0), targets.std(0)
        self.target_scale_ = np.where(spread > 0, spread, 1.0)
        scaled = ((targets - self.target_mean_) / self.target_scale_).astype(np.float32)
        self._trained(X, scaled, targets.shape[1], self.loss or mse_loss)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The targets: (rows,), or (rows, targets) where `fit` got two axes."""
        found = self._outputs(X).detach().numpy().reshape(-1, len(self.target_mean_)) * self.target_scale_ + self.target_mean_
        return np.asarray(found[:, 0] if self._flat else found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
