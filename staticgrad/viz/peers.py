"""A function written in another framework, run beside ours: PyTorch, JAX, or anything that takes NumPy arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..base.libraries import is_installed
from ..errors import StaticgradError
from .compared_modes import Found, timed
from .comparison import Mode
from .comparison_case import Case, leaves_of

PACKAGES = {"torch": "torch", "pytorch": "torch", "jax": "jax"}
"""Names of peers, in lower case, and the packages whose tensors they take."""


def run_peer(name: str, twin: Callable[..., Any], case: Case, repeats: int) -> Mode:
    """Raises StaticgradError where the peer's package is missing."""
    package = PACKAGES.get(name.lower())
    if package is not None and not is_installed(package):
        raise StaticgradError(f"{package} is not installed", f"pip install {package}, or leave the peer out")
    mode = (_torch if package == "torch" else _jax if package == "jax" else _numpy)(name, twin, case, repeats)
    mode.name = name
    return mode


def _values(result: Any) -> dict[str, np.ndarray]:
    found = {name: _plain(x) for name, x in leaves_of(result)}
    return {name: array for name, array in found.items() if array.dtype.kind in "biufc"}


def _plain(x: Any) -> np.ndarray:
    return np.array(x.detach().numpy() if hasattr(x, "detach") else x)


def _wanted(case: Case) -> list[str]:
    """The arguments that are differentiated by."""
    return [name for name in case.arrays if case.differentiate and name in case.leaves]


def _numpy(name: str, twin: Callable[..., Any], case: Case, repeats: int) -> Mode:
    def prepare() -> list[Any]:
        return case.arguments(lambda _, array: array.copy())

    mode = timed(name, prepare, lambda args: (twin(*args), {}), _values, repeats)
    mode.values_only = case.differentiate and not case.own_gradients
    return mode


# PyTorch ----------------------------------------------------------------------------------------------------------------


def _torch(name: str, twin: Callable[..., Any], case: Case, repeats: int) -> Mode:
    import torch

    wanted = _wanted(case)

    def prepare() -> tuple[list[Any], dict[str, Any]]:
        leaves: dict[str, Any] = {}

        def make(key: str, array: np.ndarray) -> Any:
            leaves[key] = torch.from_numpy(array.copy()).requires_grad_(key in wanted)
            return leaves[key]

        return case.arguments(make), leaves

    def total_of(result: Any) -> Any:
        parts = [x.sum() for _, x in leaves_of(result) if isinstance(x, torch.Tensor) and x.requires_grad]
        return sum(parts[1:], parts[0]) if parts else None

    def first(given: Any, create_graph: bool = False) -> tuple[Any, Any]:
        args, leaves = given
        result = twin(*args)
        total = total_of(result)
        if not wanted or total is None:
            return result, [None for _ in wanted]
        own = [leaves[key] for key in wanted]
        return result, torch.autograd.grad(total, own, create_graph=create_graph, allow_unused=True)

    def call(given: Any) -> Found:
        result, found = first(given)
        return result, {} if case.own_gradients else _by_name(found)

    def _by_name(found: Any) -> dict[str, Any]:
        return {key: None if g is None else g.numpy() for key, g in zip(wanted, found, strict=True)}

    mode = timed(name, prepare, call, _values, repeats)
    if case.order == 2 and wanted and not case.own_gradients:
        given = prepare()
        _, found = first(given, create_graph=True)
        squares = [(g * g).sum() for g in found if g is not None and g.requires_grad]
        leaves = [given[1][key] for key in wanted]
        second = torch.autograd.grad(sum(squares) * 0.5, leaves, allow_unused=True) if squares else [None for _ in wanted]
        mode.seconds = _by_name(second)
    return mode


# JAX --------------------------------------------------------------------------------------------------------------------


def _jax(name: str, twin: Callable[..., Any], case: Case, repeats: int) -> Mode:
    jax: Any = import_module("jax")  # its functions are typed in part
    jnp = jax.numpy

    wanted = _wanted(case)

    def result_and_total(own: list[Any], others: dict[str, Any]) -> tuple[Any, Any]:
        known = {**others, **dict(zip(wanted, own, strict=True))}
        result = twin(*case.arguments(lambda key, _: known[key]))
        arrays = [x for x in jax.tree.leaves(result) if hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating)]
        return sum((x.sum() for x in arrays), jnp.zeros(())), result

    def first(own: list[Any], others: dict[str, Any]) -> tuple[Any, Any]:
        if not wanted:
            return result_and_total(own, others)[1], []
        (_, result), found = jax.value_and_grad(result_and_total, has_aux=True)(own, others)
        return result, found

    def squares(own: list[Any], others: dict[str, Any]) -> Any:
        return 0.5 * sum((g * g).sum() for g in first(own, others)[1])

    def prepare() -> tuple[list[Any], dict[str, Any]]:
        arrays = {key: jnp.asarray(array) for key, array in case.arrays.items()}
        return [arrays[key] for key in wanted], {key: array for key, array in arrays.items() if key not in wanted}

    wide = any(array.dtype.itemsize == 8 and array.dtype.kind in "fiu" for array in case.arrays.values())
    enable_x64 = (jax if hasattr(jax, "enable_x64") else import_module("jax.experimental")).enable_x64  # it moved
    with enable_x64(wide):
        given, begin = prepare(), time.perf_counter()
        step = jax.jit(first).lower(*given).compile()

        def call(given: Any) -> Found:
            result, found = jax.block_until_ready(step(*given))
            return result, {} if case.own_gradients else dict(zip(wanted, found, strict=True))

        mode = timed(name, prepare, call, _values, repeats, begin)
        mode.gradients = {key: None if g is None else np.array(g) for key, g in mode.gradients.items()}
        if case.order == 2 and wanted and not case.own_gradients:
            mode.seconds = dict(zip(wanted, map(np.array, jax.jit(jax.grad(squares))(*given)), strict=True))
        memory = step.memory_analysis()
        if memory is not None:
            mode.peak_bytes = int(memory.temp_size_in_bytes + memory.output_size_in_bytes)
    return mode
