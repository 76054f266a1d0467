"""The cases; importing this registers them."""

from . import (
    chain,
    cross_entropy,
    elementwise,
    embedding,
    glm,
    gpt,
    gradients,
    layer_norm,
    lenet,
    logistic,
    lstm,
    mlp,
    pinn,
    rosenbrock,
    tf1,
)

__all__ = [
    "chain",
    "cross_entropy",
    "elementwise",
    "embedding",
    "glm",
    "gpt",
    "gradients",
    "layer_norm",
    "lenet",
    "logistic",
    "lstm",
    "mlp",
    "pinn",
    "rosenbrock",
    "tf1",
]
