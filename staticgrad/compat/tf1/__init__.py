"""TensorFlow 1's dialect: `import staticgrad.compat.tf1 as tf`.

Each name is a function of this library, or a few lines on one, with TensorFlow's arguments, defaults and meaning. A graph
of this dialect is a `staticgrad.Graph`: sessions compile it as any other.
"""

from __future__ import annotations

import sys
from typing import Any

from . import names, summary

__all__ = names.enter(sys.modules[__name__])
names.enter_module_paths(sys.modules[__name__])
for _path in (*names.NAMES, *names.SPACES):
    if _path:
        names.refuse_in(f"tf.{_path}", sys.modules[f"{__name__}.{_path}"])


def __getattr__(name: str) -> Any:
    if name in summary.RECORDS:
        return getattr(summary, name)
    raise names.missing("tf", globals(), name)
