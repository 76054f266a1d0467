"""`sg.distributed.algorithms`: how processes with different numbers of inputs train together."""

from . import join
from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable", "join"]
