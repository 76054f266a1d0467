"""The error of files that can't be written or read."""

from __future__ import annotations

import pickle

from ..errors import StaticgradError


class SerializationError(StaticgradError, pickle.UnpicklingError, RuntimeError, ValueError):
    """A value can't be saved, or a file holds something that can't be loaded.

    broken:  sg.save(model, "model.pt", weights_only=True)
    fixed:   sg.save(model.state_dict(), "model.pt", weights_only=True)
    """


class UnsafeObjectError(SerializationError):
    """A value that only a pickle can hold."""
