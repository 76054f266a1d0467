"""Where a file's tensors were, and where they are to be: on the CPU, the only device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..base.devices import check_device, device
from ..errors import ArgumentError, DeviceError

MapLocation: TypeAlias = "str | device | Mapping[str, str] | Callable[[Any, str], Any] | None"


def check_location(map_location: MapLocation) -> None:
    """Raises DeviceError for a device other than the CPU, and ArgumentError for anything that is no device."""
    if map_location is None or callable(map_location):
        return
    if isinstance(map_location, Mapping):
        for found in map_location.values():
            check_device(found)
    elif isinstance(map_location, (str, device)):
        check_device(map_location)
    else:
        raise ArgumentError(f"load: map_location is a device, a dict or a function, got {type(map_location).__name__}")


def check_saved_on(location: str, map_location: MapLocation) -> None:
    """Raises DeviceError for a tensor of another device, unless map_location says that it goes to the CPU."""
    if isinstance(map_location, Mapping):
        location = str(map_location.get(location, location))
    elif map_location is not None:
        return
    if location != "cpu":
        raise DeviceError(
            f"Attempting to deserialize object on a {location.partition(':')[0].upper()} device but tensors here are in the "
            "CPU's memory",
            'load(..., map_location="cpu")',
        )
