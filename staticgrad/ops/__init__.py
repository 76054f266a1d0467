"""The op table: one record per op, in one place.

Importing this package fills `ir.REGISTRY` with what most programs need. The other modules are imported when something of theirs
is first asked for; `late_names.py` says what they enter.
"""
# ruff: noqa: F401

from . import elementwise, indexing, late_names, leaves, linear, pointwise, random, reductions, shaping, softmax
from .operators import enter_late, frontends

enter_late(late_names.NAMES)
frontends.late("ops.deferred", "defer", "defer_rule")
