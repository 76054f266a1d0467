"""Define-by-run: tensors with values now, a tape behind them, and the backward pass."""

from .. import ops  # noqa: F401 - fills the op table that the front end reads
from . import execution, fast_ops, inplace, replay  # noqa: F401 - fill the front end's tables
from .backward import backward, grad
from .creation import arange, eye, full, linspace, ones, tensor, zeros
from .generator import PublicGenerator, dropout, generator, manual_seed, rand, randint, randn, randperm
from .grad_mode import detect_anomaly, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .tape import Record
from .tape_graph import graph_of
from .tensor import PublicTensor, Tensor

__all__ = [
    "PublicGenerator",
    "PublicTensor",
    "Record",
    "Tensor",
    "arange",
    "backward",
    "detect_anomaly",
    "dropout",
    "enable_grad",
    "eye",
    "full",
    "generator",
    "grad",
    "graph_of",
    "is_grad_enabled",
    "linspace",
    "manual_seed",
    "no_grad",
    "ones",
    "rand",
    "randint",
    "randn",
    "randperm",
    "set_grad_enabled",
    "tensor",
    "zeros",
]
