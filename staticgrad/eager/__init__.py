"""Define-by-run: tensors with values now, a tape behind them, and the backward pass."""

from .. import ops as ops  # fills the op table that the front end reads
from . import dispatch as dispatch
from . import fast as fast
from . import inplace as inplace
from . import replay as replay
from .autograd import backward, grad
from .creation import arange, eye, full, linspace, ones, tensor, zeros
from .modes import detect_anomaly, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .random import dropout, generator, manual_seed, rand, randint, randn, randperm
from .tape import Record
from .tape_graph import graph_of
from .tensor import PublicTensor, Tensor

__all__ = [
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
