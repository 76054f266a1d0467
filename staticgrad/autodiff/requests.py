"""A request for gradients: roots, seeds and targets, checked by the same rules in eager mode, while tracing, and in a graph.

A mode supplies the few operations in which its tensors differ (`Mode`); the rules and their error texts are here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ..base.types import INEXACT, Shape
from ..errors import GradientError
from ..ops.operators import has_rank, listed
from . import messages


class Differentiable(Protocol):
    """The properties that the rules read of a tensor, in every mode."""

    @property
    def shape(self) -> Shape: ...

    @property
    def dtype(self) -> np.dtype: ...


# gradients on their way to `.grad`: hooks, and the sum with a gradient that is there already -------------------------

T = TypeVar("T", bound=Differentiable)


class Mode(Protocol[T]):
    """The operations in which eager tensors, traced tensors and tensors of a graph differ."""

    scalar_roots: bool
    """Whether a root without a seed must have one element, as in PyTorch. Otherwise its seed is all ones, as in TensorFlow."""

    def tensor(self, x: Any) -> T | None:
        """The mode's tensor for a user's object; None for an object that is no tensor of this mode."""

    def differentiable(self, x: Any) -> T | None:
        """As `tensor`; None also for a tensor that gradients can't be taken of, or with respect to."""

    def ones(self, root: T) -> T | None:
        """The seed of a root that is given none; None where the backward pass itself begins with ones."""

    def seed(self, value: Any, root: T) -> Any:
        """A user's seed as a tensor or an array. Arrays and numbers get the root's dtype."""

    def cast(self, x: Any, dtype: np.dtype) -> T: ...


class Request(NamedTuple, Generic[T]):
    """A checked request. targets: None for all leaves; retain: the backward pass keeps saved values."""

    roots: list[T]
    seeds: list[Any]
    targets: list[T] | None
    retain: bool


def request(
    mode: Mode[T], function: str, outputs: Any, seeds: Any, inputs: Any, retain_graph: bool | None, create_graph: bool
) -> Request[T]:
    """Check the arguments of `backward()` or `grad()`. inputs: None for all leaves, where the function allows that.

    Raises GradientError; ShapeError and DTypeError for a seed.
    """
    roots = roots_of(mode, outputs)
    checked = seeds_of(mode, roots, seeds)
    targets = None if inputs is None else targets_of(mode, inputs, function)
    return Request(roots, checked, targets, create_graph if retain_graph is None else retain_graph)


def roots_of(mode: Mode[T], outputs: Any) -> list[T]:
    """The tensors to differentiate: one, or several in any iterable. Raises GradientError."""
    roots = []
    for i, x in enumerate(listed(outputs)):
        root = mode.differentiable(x)
        if root is None:
            raise _wrong_root(mode, i, x)
        roots.append(root)
    return roots


def _wrong_root(mode: Mode[T], i: int, x: Any) -> GradientError:
    tensor = mode.tensor(x)
    if tensor is not None:
        return messages.no_history(i, tensor.dtype)
    return messages.other_mode(x) if hasattr(x, "requires_grad") else messages.no_tensor(x)


def seeds_of(mode: Mode[T], roots: Sequence[T], given: Any) -> list[Any]:
    """The cotangent of each root. given: None, or one seed per root, which may be None for ones.

    Raises GradientError for another number of seeds and for a missing one, ShapeError, and DTypeError for an integer tensor.
    """
    if given is None:
        return [_implicit_seed(mode, root) for root in roots]
    seeds = listed(given)
    if len(seeds) != len(roots):
        raise messages.other_number(len(roots), len(seeds))
    checked: list[Any] = []
    for i, (root, value) in enumerate(zip(roots, seeds, strict=True)):
        if value is None:
            checked.append(_implicit_seed(mode, root))
        else:
            seed = mode.seed(value, root)
            check_seed(i, root, seed)
            checked.append(seed if seed.dtype == root.dtype else mode.cast(seed, root.dtype))
    return checked


def _implicit_seed(mode: Mode[T], root: T) -> T | None:
    if mode.scalar_roots and (shape := root.shape) and any(extent != 1 for extent in shape):
        raise messages.not_scalar(shape)
    if root.dtype.kind == "c":
        raise messages.not_real(root.dtype)
    return mode.ones(root)


def check_seed(i: int, root: Differentiable, seed: Differentiable) -> None:
    """Raises ShapeError and DTypeError for a seed that a root can't have. An unknown extent (None) fits any other, an unknown
    rank any shape."""
    if (
        has_rank(seed)
        and has_rank(root)
        and seed.shape != root.shape
        and (
            len(seed.shape) != len(root.shape)
            or any(a != b and None not in (a, b) for a, b in zip(seed.shape, root.shape, strict=True))
        )
    ):
        raise messages.seed_shape(i, root.shape, seed.shape)
    if seed.dtype.kind not in INEXACT:
        raise messages.seed_dtype(seed.dtype)
    if seed.dtype.kind != root.dtype.kind:
        raise messages.seed_kind(i, root.dtype, seed.dtype)


def targets_of(mode: Mode[T], inputs: Any, function: str) -> list[T]:
    """The tensors whose gradients are asked for. Raises GradientError for none, and for one that does not require grad."""
    given = listed(inputs)
    if not given:
        raise messages.no_inputs(function)
    targets = []
    for i, x in enumerate(given):
        target = mode.differentiable(x)
        if target is None:
            raise messages.not_differentiable(i, x)
        targets.append(target)
    return targets


def check_used(targets: Sequence[Differentiable], found: Sequence[Any], allow_unused: bool) -> None:
    """Raises GradientError for a target that no root depends on, unless None is allowed to stand for its gradient."""
    if not allow_unused:
        for i, g in enumerate(found):
            if g is None:
                raise messages.unused(i, targets[i].shape)


def hooked(mode: Mode[T], hook: Callable[[T], Any], g: T) -> T:
    """A cotangent after one hook, which may replace it. Raises GradientError for a replacement of another shape or dtype, and
    for one that is no tensor."""
    return replacement(mode, hook, hook(g), g)


def replacement(mode: Mode[T], hook: Callable[..., Any], replaced: Any, g: T) -> T:
    """What a hook returned in the place of a cotangent, checked."""
    if replaced is None:
        return g
    tensor = mode.tensor(replaced)
    if tensor is None:
        raise messages.hook_of_no_tensor(replaced)
    if tensor.shape != g.shape:
        raise messages.hook_of_other_size(hook, g.shape, tensor.shape)
    if tensor.dtype != g.dtype:
        raise messages.hook_of_other_type(hook, g.dtype, tensor.dtype)
    return tensor


def check_returns_nothing(returned: Any) -> None:
    """Raise GradientError for what a hook of accumulated gradients returns."""
    if returned is not None:
        raise messages.hook_of_no_tensor(returned)


def adds_in_place(known_requires_grad: bool, create_graph: bool) -> bool:
    """Whether a gradient is added into the memory of the gradient that is there. A recorded one stays as its tape read it."""
    return not create_graph and not known_requires_grad
