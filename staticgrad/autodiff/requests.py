"""A request for gradients: its roots, seeds and targets are checked by the same rules in eager mode, in traces and in graphs.

`y.backward(g)`, `sg.grad(y, x)` and `sg.gradients(ys, xs)` fail for the same reasons: a root without history, a seed of
another shape, a target that no root depends on. The rules and the texts of the errors are here, once. A mode supplies only
the few operations in which its tensors differ (`Mode`). Where PyTorch has a text that people search for, ours begins with the
same words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ..base.types import INEXACT, Shape, shape_text
from ..errors import DTypeError, GradientError, ShapeError, StaticgradError, Where
from ..ops.operators import has_rank, listed
from ..ops.operators.conversions import NAMES

# errors ---------------------------------------------------------------------------------------------------------------


def freed() -> GradientError:
    """A backward pass needs a saved value that an earlier one freed."""
    return GradientError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
        "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
        "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
        "after calling backward."
    )


def modified(value: str, saved: Where | None = None, changed: Where | None = None) -> GradientError:
    """A backward pass needs a saved value whose memory was changed in place. saved, changed: the lines of both, where known."""
    return GradientError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: {value}",
        *([] if saved is None else [f"saved at {saved}"]),
        *([] if changed is None else [f"changed at {changed}"]),
        "change a clone() instead, or do it after backward()",
    )


def operand_text(x: Any, reader: str) -> str:
    """The description of an operand that `reader` saved."""
    return f"[{x.dtype} {shape_text(x.shape)}], which {reader} needs"


def output_text(maker: str) -> str:
    """The description of a result that `maker` saved."""
    return f"the output of {maker}"


def no_roots() -> GradientError:
    return GradientError("gradients need a Tensor, got an empty list")


def no_tensor(x: Any) -> GradientError:
    return GradientError(f"gradients need a Tensor, got {type(x).__name__}")


def other_mode(x: Any) -> GradientError:
    """A symbol where an eager tensor is needed, or the reverse."""
    return GradientError(
        f"gradients need tensors of one mode, got {x!r}", "of eager tensors: y.backward(); in a graph: sg.gradients(ys, xs)"
    )


def no_history(i: int, dtype: np.dtype) -> GradientError:
    return GradientError(
        f"element {i} of tensors does not require grad and does not have a grad_fn",
        "make a leaf with requires_grad=True, and compute outside sg.no_grad()"
        if dtype.kind in INEXACT
        else f"it has dtype {dtype}: only floating point tensors have gradients",
    )


def other_number(roots: int, seeds: int) -> GradientError:
    return GradientError(f"got {roots} tensors and {seeds} gradients")


def not_scalar(shape: Shape) -> GradientError:
    return GradientError(
        f"grad can be implicitly created only for scalar outputs, this one has shape {shape_text(shape)}",
        "pass gradient= of that shape, or reduce with .sum() or .mean()",
    )


def not_real(dtype: np.dtype) -> GradientError:
    return GradientError(
        f"grad can be implicitly created only for real scalar outputs but got {dtype}",
        "pass gradient= of that dtype, or differentiate x.real or abs(x)",
    )


def seed_kind(i: int, root: np.dtype, seed: np.dtype) -> DTypeError:
    return DTypeError(
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
        f"grad_output[{i}] has a dtype of {seed} and output[{i}] has a dtype of {root}."
    )


def seed_shape(i: int, root: Shape, seed: Shape) -> ShapeError:
    return ShapeError(
        f"Mismatch in shape: grad_output[{i}] has a shape of {shape_text(seed)} and output[{i}] has a shape of "
        f"{shape_text(root)}"
    )


def seed_dtype(dtype: np.dtype) -> DTypeError:
    return DTypeError(f"gradients are floating, got {dtype}")


def not_differentiable(i: int, x: Any) -> GradientError:
    known = hasattr(x, "shape") and hasattr(x, "dtype")
    return GradientError(
        "One of the differentiated Tensors does not require grad",
        f"it is input {i}, " + (f"of shape {shape_text(x.shape)} and dtype {x.dtype}" if known else f"a {type(x).__name__}"),
    )


def no_inputs(function: str) -> GradientError:
    return GradientError(f"`inputs` argument to `{function}()` cannot be empty.")


def unused(i: int, shape: Shape) -> GradientError:
    return GradientError(
        f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if this is "
        "the desired behavior.",
        f"it has shape {shape_text(shape)}",
    )


def wrong_node_hook(hook: Any, wanted: int, given: int) -> StaticgradError:
    return GradientError(
        f"hook '{_name_of(hook)}' has returned an incorrect number of values (got {given}, but expected {wanted})"
    )


def hook_of_no_tensor(returned: Any) -> StaticgradError:
    return HookTypeError(f"expected Variable, but hook returned '{type(returned).__name__}'", "return a tensor, or nothing")


def hook_of_other_size(hook: Any, wanted: Shape, given: Shape) -> StaticgradError:
    return GradientError(
        f"hook '{_name_of(hook)}' has changed the size of value",
        f"the gradient has shape {shape_text(wanted)}, the hook returned {shape_text(given)}",
    )


def hook_of_other_type(hook: Any, wanted: np.dtype, given: np.dtype) -> StaticgradError:
    return GradientError(
        f"hook '{_name_of(hook)}' has changed the type of value (was {NAMES[wanted.name]} got {NAMES[given.name]})",
        f"return g.to(sg.{wanted.name})",
    )


def _name_of(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


class HookTypeError(GradientError, TypeError):
    """A hook returned something that is no tensor.

    broken:  x.register_hook(lambda g: 3)
    fixed:   x.register_hook(lambda g: g * 3)
    """


# requests -------------------------------------------------------------------------------------------------------------


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
        return no_history(i, tensor.dtype)
    return other_mode(x) if hasattr(x, "requires_grad") else no_tensor(x)


def seeds_of(mode: Mode[T], roots: Sequence[T], given: Any) -> list[Any]:
    """The cotangent of each root. given: None, or one seed per root, which may be None for ones.

    Raises GradientError for another number of seeds and for a missing one, ShapeError, and DTypeError for an integer tensor.
    """
    if given is None:
        return [_implicit_seed(mode, root) for root in roots]
    seeds = listed(given)
    if len(seeds) != len(roots):
        raise other_number(len(roots), len(seeds))
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
        raise not_scalar(shape)
    if root.dtype.kind == "c":
        raise not_real(root.dtype)
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
        raise seed_shape(i, root.shape, seed.shape)
    if seed.dtype.kind not in INEXACT:
        raise seed_dtype(seed.dtype)
    if seed.dtype.kind != root.dtype.kind:
        raise seed_kind(i, root.dtype, seed.dtype)


def targets_of(mode: Mode[T], inputs: Any, function: str) -> list[T]:
    """The tensors whose gradients are asked for. Raises GradientError for none, and for one that does not require grad."""
    given = listed(inputs)
    if not given:
        raise no_inputs(function)
    targets = []
    for i, x in enumerate(given):
        target = mode.differentiable(x)
        if target is None:
            raise not_differentiable(i, x)
        targets.append(target)
    return targets


def check_used(targets: Sequence[Differentiable], found: Sequence[Any], allow_unused: bool) -> None:
    """Raises GradientError for a target that no root depends on, unless None is allowed to stand for its gradient."""
    if not allow_unused:
        for i, g in enumerate(found):
            if g is None:
                raise unused(i, targets[i].shape)


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
        raise hook_of_no_tensor(replaced)
    if tensor.shape != g.shape:
        raise hook_of_other_size(hook, g.shape, tensor.shape)
    if tensor.dtype != g.dtype:
        raise hook_of_other_type(hook, g.dtype, tensor.dtype)
    return tensor


def check_returns_nothing(returned: Any) -> None:
    """Raise GradientError for what a hook of accumulated gradients returns."""
    if returned is not None:
        raise hook_of_no_tensor(returned)


def adds_in_place(known_requires_grad: bool, create_graph: bool) -> bool:
    """Whether a gradient is added into the memory of the gradient that is there. A recorded one stays as its tape read it."""
    return not create_graph and not known_requires_grad
