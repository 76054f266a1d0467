"""Errors of reverse mode: one text each, for eager tensors, traced tensors and tensors of a graph.

Where PyTorch has a text that people search for, ours begins with the same words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import INEXACT, Shape, shape_text
from ..errors import DTypeError, GradientError, ShapeError, StaticgradError, Where
from ..ops.operators.conversions import NAMES


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
