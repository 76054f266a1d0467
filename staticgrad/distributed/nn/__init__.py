"""`sg.distributed.nn`: exchanges through which gradients flow."""

from . import functional
from .functional import all_gather, all_reduce, all_to_all, broadcast, reduce, reduce_scatter

__all__ = ["all_gather", "all_reduce", "all_to_all", "broadcast", "functional", "reduce", "reduce_scatter"]
