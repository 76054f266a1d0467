"""Programs in PyTorch's dialect, run by this library and, where it is installed, by PyTorch: the same assertions hold in both."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import staticgrad as sg


@pytest.fixture(params=["staticgrad", pytest.param("torch", marks=pytest.mark.oracle)])
def T(request: pytest.FixtureRequest) -> Any:
    """The library that runs the program."""
    if request.param == "staticgrad":
        return sg
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("torch")


def raised(error: type[BaseException], text: str) -> Any:
    """An error whose text begins with these words."""
    return pytest.raises(error, match="^" + re.escape(text))
