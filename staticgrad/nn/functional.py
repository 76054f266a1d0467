"""`staticgrad.functional` under PyTorch's name."""

from ..functional import *  # noqa: F403 - the names are listed there
from ..functional import __all__ as __all__
