"""`autograd.functional`: Jacobians, Hessians and products with them, of a function of tensors, under PyTorch's names.

Each function takes a tensor or a tuple of them as `inputs`, and gives results in the same form. With `create_graph` results can
be differentiated. With `strict` a result that does not depend on an input raises GradientError; otherwise its derivative is
zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...eager import enable_grad, grad
from ...errors import GradientError
from ...ops.operators import F, is_tensor

Function = Callable[..., Any]
ONE_INPUT = "the input to the user-provided function is a single Tensor with a single element."


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """`(func(inputs), v^T J)`: the product of a vector, of the outputs' shape, with the Jacobian.

    v may be left out for an output of one element. Raises GradientError for a `v` of another shape.

    Examples:
        >>> sg.autograd.functional.vjp(lambda x: x**2, sg.tensor([1.0, 2.0]), sg.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        single, points = _points(inputs, "vjp", create_graph)
        alone, outputs = _outputs(func(*points), "vjp", strict)
        weights = _vector(v, outputs, alone, "the user-provided function returns a single Tensor with a single element.")
        found = _filled(_grad(outputs, points, weights, create_graph), points, strict and "back", create_graph)
    return _result(outputs, alone, create_graph), _result(found, single, create_graph)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """`(func(inputs), J v)`: the product of the Jacobian with a vector of the inputs' shape, by two backward passes.

    v may be left out for an input of one element. Raises GradientError for a `v` of another shape.

    Examples:
        >>> sg.autograd.functional.jvp(lambda x: x**2, sg.tensor([1.0, 2.0]), sg.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        single, points = _points(inputs, "jvp", create_graph)
        weights = _vector(v, points, single, ONE_INPUT)
        alone, outputs = _outputs(func(*points), "jvp", strict)
        seeds = tuple(F.zeros_like(x).requires_grad_(True) for x in outputs)
        first = _filled(_grad(outputs, points, seeds, True), points, strict and "back", True)
        found = _filled(_grad(first, seeds, weights, create_graph), outputs, strict and "back_trick", create_graph)
    return _result(outputs, alone, create_graph), _result(found, alone, create_graph)


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The derivative of each element of the outputs with respect to each of the inputs, of shape (*output, *input).

    One tensor for one output and one input; a tuple for several of either, outputs first. vectorize and strategy change no
    value: each row is one backward pass. Raises GradientError.

    Examples:
        >>> sg.autograd.functional.jacobian(lambda x: x**2, sg.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if vectorize and strict:
        raise GradientError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either "
            "set `strict=False` or `vectorize=False`."
        )
    with enable_grad():
        single, points = _points(inputs, "jacobian", create_graph)
        alone, outputs = _outputs(func(*points), "jacobian", strict)
        rows = [_result(_rows(i, out, points, create_graph, strict), single, create_graph) for i, out in enumerate(outputs)]
    return rows[0] if alone else tuple(rows)


def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a function with one element: for one input of shape s a tensor of shape (*s, *s), for several a
    tuple of tuples. Raises GradientError for a function with more elements.

    Examples:
        >>> sg.autograd.functional.hessian(lambda x: (x**3).sum(), sg.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    single, _ = _as_tuple(inputs, "inputs", "hessian")

    def slope(*points: Any) -> Any:
        found = jacobian(lambda *xs: _scalar(func(*xs), "hessian"), points, create_graph=True)
        for i, g in enumerate(found):
            if strict and not g.requires_grad:
                raise GradientError(
                    f"The jacobian of the user-provided function with respect to input {i} is independent of the input. This "
                    "is not allowed in strict mode."
                )
        return found

    found = jacobian(
        slope, inputs if not single else (inputs,), create_graph, strict, vectorize=vectorize, strategy=outer_jacobian_strategy
    )
    return found[0][0] if single else found


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """`(func(inputs), v^T H)`: the product of a vector of the inputs' shape with the Hessian of a function with one element.

    Raises GradientError for a `v` of another shape, and for a function with more elements.
    """
    return _with_hessian(func, inputs, v, create_graph, strict, "vhp")


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """`(func(inputs), H v)`, which is `vhp` for the functions that have a Hessian: it is symmetric."""
    return _with_hessian(func, inputs, v, create_graph, strict, "hvp")


def _with_hessian(func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool, name: str) -> tuple[Any, Any]:
    with enable_grad():
        single, points = _points(inputs, name, create_graph)
        weights = _vector(v, points, single, ONE_INPUT)
        output = _scalar(func(*points), name)
        alone, outputs = _outputs(output, name, strict)
        first = _filled(_grad(outputs, points, None, True), points, strict and "back", True)
        for i, g in enumerate(first):
            if strict and not g.requires_grad:
                raise GradientError(
                    f"The jacobian of the user-provided function with respect to input {i} is independent of the input. This "
                    "is not allowed in strict mode."
                )
        found = _filled(_grad(first, points, weights, create_graph), points, strict and "double_back", create_graph)
    return _result(outputs, alone, create_graph), _result(found, single, create_graph)


# parts --------------------------------------------------------------------------------------------------------------------


def _as_tuple(given: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Whether it was one tensor, and the tensors. Raises TypeError."""
    listed = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    for i, x in enumerate(listed):
        if not is_tensor(x):
            value = f"value at index {i}" if isinstance(given, (tuple, list)) else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {value} has type {type(x)}."
            )
    return not isinstance(given, (tuple, list)), listed


def _points(inputs: Any, name: str, create_graph: bool) -> tuple[bool, tuple[Any, ...]]:
    """The inputs as the function gets them: leaves, or copies on the tape of the user's tensors that require grad."""
    single, given = _as_tuple(inputs, "inputs", name)
    return single, tuple(F.clone(x) if create_graph and x.requires_grad else x.detach().requires_grad_(True) for x in given)


def _outputs(given: Any, name: str, strict: bool) -> tuple[bool, tuple[Any, ...]]:
    alone, outputs = _as_tuple(given, "outputs of the user-provided function", name)
    for i, x in enumerate(outputs):
        if strict and not x.requires_grad:
            raise GradientError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )
    return alone, outputs


def _scalar(output: Any, name: str) -> Any:
    if isinstance(output, (tuple, list)):
        raise GradientError(f"The function given to {name} should return a single Tensor")
    if is_tensor(output) and output.numel() != 1:
        raise GradientError(f"The Tensor returned by the function given to {name} should contain a single element")
    return output.reshape(()) if is_tensor(output) and output.shape and name == "hessian" else output


def _vector(v: Any, like: Sequence[Any], alone: bool, optional: str) -> tuple[Any, ...] | None:
    """The vector of a product. Raises GradientError for one that doesn't fit."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise GradientError(f"The vector v can only be None if {optional}")
        return (F.ones_like(like[0]).detach(),)
    _, given = _as_tuple(v, "v", "the product")
    if len(given) != len(like):
        raise GradientError(
            "The given v should contain a single Tensor."
            if alone
            else f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
        )
    for i, (x, y) in enumerate(zip(given, like, strict=True)):
        if x.shape != y.shape:
            entry = "" if alone else f"Entry {i} in "
            raise GradientError(f"{entry}v has invalid size: should be {y.size()} but got {x.size()}.")
    return given


def _grad(outputs: Sequence[Any], inputs: Sequence[Any], seeds: Any, create_graph: bool) -> tuple[Any, ...]:
    """Gradients of the outputs that have a tape; None for an input that none of them reads."""
    taken = [i for i, x in enumerate(outputs) if x.requires_grad]
    if not taken:
        return (None,) * len(inputs)
    weights = None if seeds is None else [seeds[i] for i in taken]
    roots = [outputs[i] for i in taken]
    return grad(roots, inputs, weights, retain_graph=True, create_graph=create_graph, allow_unused=True)


def _filled(found: Sequence[Any], like: Sequence[Any], stage: Any, create_graph: bool) -> tuple[Any, ...]:
    """Gradients, with zeros for those that are not there. stage: with `strict`, which errors they raise."""
    for i, g in enumerate(found):
        if stage == "back" and g is None:
            raise GradientError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."
            )
        if stage == "back_trick" and g is None:
            raise GradientError(
                f"The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
                "backward trick to compute forward mode gradients. This is not allowed in strict mode."
            )
        if stage == "double_back" and g is None:
            raise GradientError(
                f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode."
            )
        if stage and create_graph and not g.requires_grad and stage != "back":
            raise GradientError(
                f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode "
                "when create_graph=True."
            )
    return tuple(F.zeros_like(x) if g is None else g for g, x in zip(found, like, strict=True))


def _rows(number: int, out: Any, points: Sequence[Any], create_graph: bool, strict: bool) -> tuple[Any, ...]:
    """The Jacobian of one output with respect to each input, row by row."""
    flat = out.reshape(-1)
    rows: list[tuple[Any, ...]] = []
    for j in range(out.numel()):
        found = _grad((flat[j],), points, None, create_graph)
        for k, g in enumerate(found):
            if strict and g is None:
                raise GradientError(
                    f"Output {number} of the user-provided function is independent of input {k}. This is not allowed in strict "
                    "mode."
                )
            if strict and create_graph and not g.requires_grad:
                raise GradientError(
                    f"The jacobian of the user-provided function is independent of input {number}. This is not allowed in "
                    "strict mode when create_graph=True."
                )
        rows.append(tuple(F.zeros_like(x) if g is None else g for g, x in zip(found, points, strict=True)))
    if not rows:
        return tuple(F.reshape(F.zeros_like(x)[None][:0], (*out.shape, *x.shape)) for x in points)
    return tuple(F.reshape(F.stack([row[k] for row in rows], 0), (*out.shape, *x.shape)) for k, x in enumerate(points))


def _result(found: Sequence[Any], alone: bool, create_graph: bool) -> Any:
    """Tensors as the user gets them, without a tape unless they are to be differentiated."""
    given = tuple(x if create_graph else x.detach() for x in found)
    return given[0] if alone else given
