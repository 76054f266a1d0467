"""PyTorch's attributes of dtypes, while programs find this library under the name `torch`.

Dtypes are NumPy's. So many programs for PyTorch write `x.dtype.is_floating_point` that a front gives NumPy's class of dtypes
these attributes; it takes them back when it is closed. NumPy has none of these names. A class that is written in C has to be
changed through its dict.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np

from ..base.types import COMPLEX_OF, PART_OF

WORDS: dict[str, Any] = {
    "is_floating_point": property(lambda dtype: dtype.kind == "f"),
    "is_complex": property(lambda dtype: dtype.kind == "c"),
    "is_signed": property(lambda dtype: dtype.kind in "ifc"),
    "to_real": lambda dtype: PART_OF.get(dtype, dtype),
    "to_complex": lambda dtype: COMPLEX_OF.get(dtype, dtype),
}


def _members() -> dict[str, Any]:
    (members,) = gc.get_referents(vars(np.dtype))
    return members  # type: ignore[no-any-return]


def _changed() -> None:
    """Python forgets what it has looked up in the class."""
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.dtype))


def enter() -> None:
    """Give NumPy's dtypes the attributes."""
    _members().update({name: word for name, word in WORDS.items() if not hasattr(np.dtype, name)})
    _changed()


def leave() -> None:
    """Take them back."""
    members = _members()
    for name, word in WORDS.items():
        if members.get(name) is word:
            del members[name]
    _changed()
