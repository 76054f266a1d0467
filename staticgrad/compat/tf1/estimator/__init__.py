"""`tf.estimator`: models as functions of features and labels. Ready-made models are refused: they need columns of features."""

from __future__ import annotations

from typing import Any

from .core import Estimator, EstimatorSpec, EvalSpec, ModeKeys, RunConfig, TrainSpec, train_and_evaluate


def __getattr__(name: str) -> Any:
    if name.endswith(("Classifier", "Regressor", "Estimator", "Embedding")) and not name.startswith("_"):
        raise AttributeError(
            f"tf.estimator.{name} is not supported: write its model as a function of features and labels, with tf.layers and "
            "tf.losses, and give it to tf.estimator.Estimator"
        )
    raise AttributeError(f"staticgrad's dialect of TensorFlow 1 has no tf.estimator.{name}")


__all__ = [
    "Estimator", "EstimatorSpec", "EvalSpec", "ModeKeys", "RunConfig", "TrainSpec", "train_and_evaluate",
]  # fmt: skip
