"""Errors of tensors that are used wrongly, said once for all modes: eager tensors and traced ones raise these."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from ...base.types import INEXACT, Shape, is_scalar, shape_text
from ...errors import PACKAGE_DIR, ArgumentTypeError, DTypeError, GradientError, ShapeError, StaticgradError, TransformError
from ...ir import Layout

# the tape ---------------------------------------------------------------------------------------------------------------


def check_floating(dtype: np.dtype) -> None:
    """Raises DTypeError for a dtype that can't require gradients."""
    if dtype.kind not in INEXACT:
        raise DTypeError(
            f"only Tensors of floating point dtype can require gradients, got {dtype}",
            "make it a float: sg.tensor(values, dtype=sg.float32, requires_grad=True)",
        )


def check_holds(dtype: np.dtype, tracked: bool) -> None:
    """Raises DTypeError where `x.data = value` would make x a tensor that can't have a gradient."""
    if tracked and dtype.kind not in INEXACT:
        raise DTypeError(f"a tensor that requires gradients can't hold {dtype}")


def check_grad(x: Any, value: Any, is_tensor: bool) -> None:
    """Raises DTypeError and ShapeError for a value that can't be `x.grad`."""
    if value is None:
        return
    if not is_tensor:
        raise DTypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is x:
        raise GradientError("can't assign Variable as its own grad")
    if value.shape != x.shape:
        raise ShapeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(x.shape)}'. Please "
            "ensure that the gradient and the tensor are the same size"
        )
    if value.dtype != x.dtype:
        raise DTypeError(
            f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with grad_dtype '{x.dtype}'. The gradient "
            "must match the tensor's dtype",
            f"assign g.to(sg.{x.dtype.name})",
        )


def not_a_leaf() -> GradientError:
    return GradientError(
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
        "doesn't require differentiation use var_no_grad = var.detach()."
    )


def check_retained(tracked: bool) -> None:
    if not tracked:
        raise GradientError("can't retain_grad on Tensor that has requires_grad=False")


def warn_no_gradient() -> None:
    """Warn where code reads the gradient of a result, which has none."""
    warnings.warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
        "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
        ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
        "Tensor instead.",
        UserWarning,
        stacklevel=3,
    )


_warned_of_cycle = _warned_of_number = False


def warn_of_cycle() -> None:
    """Warn, once in a process, of `backward(create_graph=True)`."""
    global _warned_of_cycle
    if not _warned_of_cycle:
        _warned_of_cycle = True
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient"
            " which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If "
            "you have to use this function, make sure to reset the .grad fields of your parameters to None after use to "
            "break the cycle and avoid the leak.",
            UserWarning,
            stacklevel=4,
        )


def warn_of_number() -> None:
    """Warn, once in a process, of `float(x)` of a tensor that requires grad."""
    global _warned_of_number
    if not _warned_of_number:
        _warned_of_number = True
        warn_former(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
            "Consider using tensor.detach() first.",
            UserWarning,
        )


def check_hooked(tracked: bool) -> None:
    if not tracked:
        raise GradientError("cannot register a hook on a tensor that doesn't require gradient")


def post_hook_of_result() -> GradientError:
    return GradientError("post accumulate grad hooks cannot be registered on non-leaf tensors", "register it on a leaf")


def check_detached(is_view: bool) -> None:
    if is_view:
        raise GradientError("Can't detach views in-place. Use detach() instead.")


def check_array(tracked: bool) -> None:
    """Raises GradientError where the tape would be lost silently."""
    if tracked:
        raise GradientError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


def check_copied(is_leaf: bool) -> None:
    if not is_leaf:
        raise GradientError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment",
            "copy x.detach()",
        )


def warn_of_hooks(hooks: Any) -> None:
    """Warn of the hooks of a tensor that is pickled, without them."""
    for hook in () if hooks is None else hooks.values():
        if not getattr(hook, "__torch_unserializable__", False):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function "
                "with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


# in-place changes ---------------------------------------------------------------------------------------------------------


def leaf_changed(view: bool) -> GradientError:
    what = "a view of a leaf Variable that requires grad" if view else "a leaf Variable that requires grad"
    return GradientError(
        f"{what} is being used in an in-place operation.", "wrap the update: with sg.no_grad(): w -= lr * w.grad"
    )


def inference_changed() -> GradientError:
    return GradientError(
        "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
        "before doing inplace update.",
        "take x.clone(), or make the tensor under no_grad",
    )


def inference_saved() -> GradientError:
    return GradientError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
        "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
        "`torch.no_grad()` instead of `torch.inference_mode()`."
    )


SEVERAL_VIEWS = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one."
)


def part_changed(name: str, number: int, what: str) -> GradientError:
    """The error for a recorded change of a view that a function such as `split` returned. name: of its node; number: of the
    view among its results; what: is being changed."""
    name = name.removesuffix("Backward0")
    return GradientError(
        f"Output {number} of {name} is a view and {what}. {SEVERAL_VIEWS}",
        "change the whole at the part's place, as x[:, :2] *= 3, or a clone() of the part",
    )


def overlapping(name: str) -> GradientError:
    """The error for a method that reads memory in one order and overwrites it in another."""
    return GradientError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
        "Please clone() the tensor before performing the operation.",
        f"{name}: the order in which elements are written would show in the result",
    )


def read_only(name: str, shape: Shape = (), strides: Any = ()) -> GradientError:
    """The error for a change of memory that can't be written: an element of it has several places, or it belongs to others."""
    if Layout(shape, tuple(strides), 0).repeats:
        return GradientError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
            "clone() the tensor before performing the operation.",
            f"{name}: it is a broadcast view, of shape {shape_text(shape)} and strides {tuple(strides)}",
        )
    return GradientError(
        f"{name}: this tensor's memory is read-only",
        "it is a part of a broadcast or overlapping view, or an array whose writeable flag is off: use x.clone() first",
    )


# values and shapes --------------------------------------------------------------------------------------------------------


def check_item(size: int | None) -> None:
    """Raises ShapeError unless there is one element; None: the number is unknown."""
    if size is not None and size != 1:
        raise ShapeError(f"a Tensor with {size} elements cannot be converted to Scalar")


def check_truth(size: int | None) -> None:
    """As `check_item`, for a truth value."""
    if size is not None and size != 1:
        raise ShapeError(
            f"Boolean value of Tensor with {'more than one' if size else 'no'} value{'' if size else 's'} is ambiguous",
            "use sg.all(x) or sg.any(x)",
        )


def check_index(dtype: np.dtype) -> None:
    if dtype.kind not in "iu":
        raise DTypeError(f"only integer tensors can be converted to an index, got {dtype}")


def check_length(ndim: int) -> None:
    if not ndim:
        raise ShapeError("len() of a 0-d tensor")


def check_iterated(ndim: int) -> None:
    if not ndim:
        raise ArgumentTypeError("iteration over a 0-d tensor")


def not_a_view(shape: Shape, strides: Any) -> StaticgradError:
    return ShapeError(
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces). Use .reshape(...) instead.",
        f"it has shape {shape_text(shape)} and strides {tuple(strides)}",
    )


def transformed(name: str, transform: str) -> TransformError:
    """The error for an in-place change that would give a tensor from outside the value of one under a transform."""
    return TransformError(
        f"{transform}: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
        f"extra_args that has more elements than `self`: {name} would give a tensor from outside the value of one under "
        f"{transform}",
        "write y = f(x, other) for a new tensor, or pass x to the function as an argument that is transformed too",
    )


# names from before pytorch 0.4 ----------------------------------------------------------------------------------------

# Names from before PyTorch 0.4. They work, and a warning at the user's line says how the same is written today.


def warn_former(text: str, category: type[Warning] = FutureWarning) -> None:
    """Warn at the innermost line outside of this package."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE_DIR):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, category, stacklevel=depth)


def retained(retain_graph: bool | None, retain_variables: bool | None) -> bool | None:
    """`retain_graph` of a call that may give it under its former name."""
    if retain_variables is None:
        return retain_graph
    warn_former("`retain_variables` is deprecated. Use `retain_graph` instead.")
    return retain_variables if retain_graph is None else retain_graph


FORMER_ORDERS = {
    "add": ("alpha",), "sub": ("alpha",), "addcmul": ("value",), "addcdiv": ("value",),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), ("beta", "alpha")),
}  # fmt: skip
"""Functions that took their numbers by position, and the names that these have today: `addmm(beta, M, alpha, a, b)`."""


def in_former_order(name: str, args: tuple[Any, ...], tensors: int) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """A call with numbers among the positional arguments as today's, with PyTorch's warning. None for any other call. tensors:
    how many the function takes."""
    words, places = FORMER_ORDERS[name], [i for i, a in enumerate(args) if is_scalar(a)]
    if len(words) == 1 and not places and len(args) == tensors + 1 and _stands_for_number(args[1]):
        args, places = (args[0], args[1].item(), *args[2:]), [1]
    if not 0 < len(places) <= len(words) or len(args) != tensors + len(places) or places[-1] > len(places):
        return None
    if len(words) == 1 and places != [1]:
        return None
    numbers = [args[i] for i in places]
    named = dict(zip(words, numbers, strict=False))
    today = ", ".join(["Tensor"] * tensors + [f"{word}=number" for word in named])
    warn_former(f"This overload of {name} is deprecated:\n\tConsider using {name}({today}) instead", UserWarning)
    return tuple([a for a in args if not is_scalar(a)]), named


def _stands_for_number(x: Any) -> bool:
    """Whether PyTorch takes a tensor as a number."""
    return getattr(x, "ndim", None) == 0 and not getattr(x, "requires_grad", True)


class FormerNode:
    """What nodes of the tape had."""

    __slots__ = ()

    @property
    def previous_functions(self: Any) -> tuple[tuple[Any, int], ...]:
        """The former name of `next_functions`."""
        warn_former("`previous_functions` is deprecated. Use `next_functions` instead.")
        return self.next_functions
