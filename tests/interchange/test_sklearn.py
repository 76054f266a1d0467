"""`sg.sklearn`: scikit-learn's own checks of estimators, and what they leave out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import staticgrad as sg
from staticgrad import nn
from tests.helpers import raised


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_estimator_checks(kind: str):
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(getattr(sg.sklearn, kind)(random_state=0))


def data(rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).standard_normal((rows, 3))
    return x, np.where(x[:, 0] + x[:, 1] > 0, "yes", "no")


def test_a_module_in_a_pipeline():
    x, y = data()
    lazy = nn.Sequential(nn.LazyLinear(8), nn.Tanh(), nn.LazyLinear(2))
    estimator = sg.sklearn.Classifier(lazy, epochs=20, lr=0.05, random_state=0, compiled=False)
    before = sg.get_rng_state()
    scores = cross_val_score(make_pipeline(StandardScaler(), estimator), x, y, cv=3)
    assert scores.mean() > 0.85
    np.testing.assert_array_equal(np.asarray(sg.get_rng_state()), np.asarray(before))  # the user's random numbers go on
    fitted = clone(estimator).fit(x, y)
    assert list(fitted.classes_) == ["no", "yes"]
    assert fitted.loss_curve_[-1] < fitted.loss_curve_[0]
    np.testing.assert_allclose(fitted.predict_proba(x).sum(1), 1)
    again = clone(estimator).fit(x, y)
    np.testing.assert_array_equal(fitted.predict_proba(x), again.predict_proba(x))


def test_a_compiled_regressor_of_two_targets():
    x, _ = data()
    y = np.stack([x[:, 0] * 100 + 7, x[:, 1] - x[:, 2]], 1)
    made = []

    def module(inputs: int, outputs: int) -> nn.Module:
        made.append((inputs, outputs))
        return nn.Linear(inputs, outputs)

    estimator = sg.sklearn.Regressor(module, optimizer="SGD", lr=0.1, epochs=60, random_state=0).fit(x, y)
    assert made == [(3, 2)]
    assert estimator.predict(x).shape == (60, 2)
    assert estimator.score(x, y) > 0.99
    with raised(sg.ArgumentError, "optimizer: there is no 'Adm' in staticgrad.optim"):
        sg.sklearn.Regressor(optimizer="Adm").fit(x, y)
    with raised(sg.ArgumentError, "module: expected a Module or a function that returns one, got int"):
        sg.sklearn.Regressor(lambda inputs, outputs: 3).fit(x, y)
