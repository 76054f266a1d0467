"""`staticgrad.functional` under PyTorch's name."""

from typing import TYPE_CHECKING, Any

from ..namespaces.functional import *  # noqa: F403 - the names are listed there
from ..namespaces.functional import __all__ as __all__
from ..namespaces.lookup.modules import MissingName

if not TYPE_CHECKING:  # type checkers know the names from the imports above, and report all others

    def __getattr__(name: str) -> Any:
        raise MissingName(__name__, name, lambda: __all__, "FUNCTIONAL_REPLACED")
