"""`gradcheck` and `gradgradcheck`: the gradients of a function compared with finite differences, as in PyTorch.

Every entry of the Jacobian is compared; `fast_mode` is accepted and changes nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...autodiff.forward import dual_level, make_dual, unpack_dual
from ...base.types import INEXACT, part_dtype
from ...eager import enable_grad, grad
from ...eager.tensor import Tensor
from ...errors import ArgumentError, StaticgradError
from ...ops.operators import is_tensor
from .functional import _as_tuple

Function = Callable[..., Any]


class GradcheckError(StaticgradError, RuntimeError):
    """`gradcheck` or `gradgradcheck` found a wrong gradient.

    broken:  a backward that returns grad * x for x**2
    fixed:   a backward that returns grad * 2 * x
    """


def gradcheck(
    func: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
    check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether the gradients of `func(*inputs)` with respect to the inputs that require grad are those of finite differences, to
    atol + rtol * |gradient|.

    inputs: float64 tensors; func gives a tensor or a tuple of them. eps: the step; nondet_tol: how far two backward passes may
    differ; check_forward_ad: forward mode is compared too. Raises GradcheckError for a difference, unless raise_exception is
    False, and ValueError (ArgumentError) where no input requires grad.

    Examples:
        >>> x = sg.tensor([1.0, 2.0], dtype=sg.float64, requires_grad=True)
        >>> sg.autograd.gradcheck(lambda x: x.exp(), x)
        True
    """
    if not check_forward_ad and not check_backward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if check_batched_forward_grad:
        raise NotImplementedError("gradcheck: check_batched_forward_grad is not supported: check check_forward_ad")
    modes = check_backward_ad, check_forward_ad
    check = _Check(func, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad, modes)
    given = (inputs,) if is_tensor(inputs) else tuple(inputs)
    if raise_exception:
        check.run(given)
        return True
    try:
        check.run(given)
    except GradcheckError:
        return False
    return True


def gradgradcheck(
    func: Function, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """`gradcheck` of the gradients of `func`, with respect to the inputs and to `grad_outputs` (random ones without any)."""
    if not check_fwd_over_rev and not check_rev_over_rev:
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_fwd_over_rev:
        raise NotImplementedError("gradgradcheck: check_fwd_over_rev is not supported: check reverse over reverse")
    given = (inputs,) if is_tensor(inputs) else tuple(inputs)
    seeds: list[Any]
    if grad_outputs is None:
        draws = np.random.default_rng(0)
        seeds = [_random(x, draws, gen_non_contig_grad_outputs) for x in _differentiable(func(*given))]
    else:
        seeds = [grad_outputs] if is_tensor(grad_outputs) else list(grad_outputs)
    count = len(seeds)

    def slope(*args: Any) -> Any:
        points, weights = args[:-count], args[-count:]
        with enable_grad():
            points = (
                tuple(x.detach().requires_grad_(True) if is_tensor(x) and x.requires_grad and x.is_leaf else x for x in points)
                if not any(is_tensor(x) and x.requires_grad for x in args)
                else points
            )
            outputs = _differentiable(func(*points))
            wanted = [x for x in points if is_tensor(x) and x.requires_grad]
            found = grad(outputs, wanted, list(weights), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        slope,
        (*given, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
    )


def _random(x: Any, draws: np.random.Generator, strided: bool) -> Tensor:
    values = draws.uniform(-1, 1, x.shape).astype(x.dtype)
    if strided and values.ndim:
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    return Tensor(values, requires_grad=True)


def _differentiable(outputs: Any) -> list[Any]:
    listed = [outputs] if is_tensor(outputs) else list(outputs)
    return [x for x in listed if is_tensor(x) and x.requires_grad]


class _Check:
    """One comparison, with its tolerances."""

    def __init__(
        self, func: Function, eps: float, atol: float, rtol: float, nondet_tol: float, undefined: bool, dtypes: bool,
        batched: bool, modes: tuple[bool, bool],
    ):  # fmt: skip
        self.func, self.eps, self.atol, self.rtol, self.nondet_tol = func, eps, atol, rtol, nondet_tol
        self.undefined, self.dtypes, self.batched = undefined, dtypes, batched
        self.backward, self.forward = modes

    def run(self, inputs: tuple[Any, ...]) -> None:
        """Raises GradcheckError."""
        self._check_inputs(inputs)
        everything = self._outputs(inputs)
        outputs = [x for x in everything if x.requires_grad]
        points = [x for x in inputs if is_tensor(x) and x.requires_grad]
        if not outputs:
            for i, x in enumerate(everything):
                if any(np.any(np.abs(n) > self.eps) for n in self._numerical(inputs, points, i)) and x.numel():
                    raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        for i, x in enumerate(everything):
            if not x.requires_grad:
                continue
            numerical = self._numerical(inputs, points, i)
            if self.forward:
                self._compare(i, numerical, self._by_tangents(inputs, i), "Jacobian computed with forward mode mismatch")
            if not self.backward:
                continue
            self._compare(i, numerical, self._analytical(x, points), "Jacobian mismatch")
            if self.batched:
                self._check_batched(x, points)
        if not self.backward:
            return
        self._check_zero(outputs, points)
        if self.undefined:
            self._check_undefined(inputs, points)

    def _compare(self, i: int, numerical: list[np.ndarray], analytical: list[np.ndarray], what: str) -> None:
        for j, (n, a) in enumerate(zip(numerical, analytical, strict=True)):
            if not np.allclose(a, n, self.rtol, self.atol, equal_nan=False):
                raise GradcheckError(
                    f"{what} for output {i} with respect to input {j},\nnumerical:{Tensor(n)!r}\nanalytical:{Tensor(a)!r}\n"
                )

    def _by_tangents(self, inputs: tuple[Any, ...], i: int) -> list[np.ndarray]:
        """The Jacobian of output `i` by forward mode, one direction after another."""
        found = []
        primals = [x.detach() if is_tensor(x) else x for x in inputs]
        for place, x in enumerate(inputs):
            if not is_tensor(x) or not x.requires_grad:
                continue
            rows = np.zeros((_parts(x.numpy(force=True)).size, self._values(inputs, i).size), part_dtype(x.dtype))
            for row in range(len(rows)):
                direction = np.zeros(x.shape, x.dtype)
                direction.reshape(-1).view(part_dtype(x.dtype))[row] = 1
                with dual_level():
                    given = [make_dual(p, Tensor(direction)) if k == place else p for k, p in enumerate(primals)]
                    tangent = unpack_dual(self._outputs(tuple(given))[i]).tangent
                if tangent is not None:
                    rows[row] = _parts(np.asarray(tangent.numpy())).reshape(-1)
            found.append(rows)
        return found

    def _check_inputs(self, inputs: tuple[Any, ...]) -> None:
        found = False
        for i, x in enumerate(inputs):
            if not is_tensor(x) or not x.requires_grad:
                continue
            found = True
            if x.dtype not in (np.float64, np.complex128):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                    "likely fail if all the inputs are not of double precision floating point or complex. ",
                    stacklevel=5,
                )
            if any(step == 0 and extent > 1 for step, extent in zip(x.stride(), x.shape, strict=True)):
                raise GradcheckError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping "
                    "to be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                    "passing it to gradcheck."
                )
            if not x.is_leaf:
                x.retain_grad()
        if not found:
            raise ArgumentError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
            )

    def _outputs(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        _, outputs = _as_tuple(self.func(*inputs), "outputs of the user-provided function", "gradcheck")
        return tuple(x for x in outputs if x.dtype.kind in INEXACT)

    def _values(self, inputs: tuple[Any, ...], i: int) -> np.ndarray:
        return np.array(_parts(self._outputs(inputs)[i].detach().numpy()), copy=True)

    def _numerical(self, inputs: tuple[Any, ...], points: Sequence[Any], i: int) -> list[np.ndarray]:
        """The Jacobian of output `i` by central differences: (elements of the input, elements of the output), of complex
        numbers by their parts."""
        found = []
        for x in points:
            data = _parts(x.numpy(force=True))
            rows = np.zeros((data.size, self._values(inputs, i).size), data.dtype)
            for row, place in enumerate(np.ndindex(data.shape)):
                before = data[place]
                try:
                    data[place] = before - self.eps
                    low = self._values(inputs, i)
                    data[place] = before + self.eps
                    high = self._values(inputs, i)
                finally:
                    data[place] = before
                if low.shape != high.shape:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same shape when inputs are perturbed by {self.eps}, but "
                        f"got: shapes {low.shape} and {high.shape}."
                    )
                rows[row] = ((high - low) / (2 * self.eps)).reshape(-1)
            found.append(rows)
        return found

    def _analytical(self, output: Any, points: Sequence[Any]) -> list[np.ndarray]:
        """The same by backward passes, which are run twice."""
        size = _parts(output.numpy(force=True)).size
        found = [np.zeros((_parts(x.numpy(force=True)).size, size), part_dtype(x.dtype)) for x in points]
        for column in range(size):
            seed = np.zeros(output.shape, output.dtype)
            seed.reshape(-1).view(part_dtype(seed.dtype))[column] = 1
            passes = [grad(output, points, Tensor(seed), retain_graph=True, allow_unused=True) for _ in range(2)]
            for x, rows, first, second in zip(points, found, *passes, strict=True):
                if first is None or second is None:
                    continue
                if self.dtypes and first.dtype != x.dtype:
                    raise GradcheckError("Gradient has dtype mismatch")
                if first.shape != x.shape:
                    raise GradcheckError("Analytical gradient has incorrect size")
                a, b = np.asarray(first.detach().numpy()), np.asarray(second.detach().numpy())
                if a.size and np.nanmax(np.abs(a - b)) > self.nondet_tol:
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                        "gives different values, although analytical gradient matches numerical gradient.The tolerance for "
                        f"nondeterminism was {self.nondet_tol}."
                    )
                rows[:, column] = _parts(a).reshape(-1)
        return found

    def _check_batched(self, output: Any, points: Sequence[Any]) -> None:
        seeds = Tensor(np.random.default_rng(0).uniform(-1, 1, (2, *output.shape)).astype(output.dtype))
        alone = [grad(output, points, seed, retain_graph=True, allow_unused=True) for seed in seeds]
        together = grad(output, points, seeds, retain_graph=True, allow_unused=True, is_grads_batched=True)
        for x, batch, *rows in zip(points, together, *alone, strict=True):
            for k, row in enumerate(rows):
                if row is not None and not np.allclose(batch[k].detach().numpy(), row.detach().numpy()):
                    raise GradcheckError(f"While computing batched gradients, got a wrong one for shape {x.shape}")

    def _check_zero(self, outputs: Sequence[Any], points: Sequence[Any]) -> None:
        """A cotangent of zeros gives zeros."""
        seeds = [Tensor(np.zeros(x.shape, x.dtype)) for x in outputs]
        for g, x in zip(grad(outputs, points, seeds, retain_graph=True, allow_unused=True), points, strict=True):
            if g is None:
                continue
            if np.any(g.detach().numpy()):
                raise GradcheckError("backward not multiplied by grad_output")
            if g.dtype != x.dtype:
                raise GradcheckError("grad is incorrect type")
            if g.shape != x.shape:
                raise GradcheckError("grad is incorrect size")

    def _check_undefined(self, inputs: tuple[Any, ...], points: Sequence[Any]) -> None:
        """With several outputs, the backward pass of each alone works: the cotangents of the others are not there."""
        for i, x in enumerate(self._outputs(inputs)):
            if not x.requires_grad:
                continue
            try:
                grad(x, points, Tensor(np.zeros(x.shape, x.dtype)), retain_graph=True, allow_unused=True)
            except (StaticgradError, TypeError, AttributeError) as error:
                raise GradcheckError(
                    'Expected backward function to handle undefined output grads. Please look at "Notes about undefined '
                    f'output gradients" in "tools/autograd/derivatives.yaml". It failed for output {i}: {error}'
                ) from error


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def _parts(array: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real ones, in the same memory; other arrays themselves."""
    return array if array.dtype.kind != "c" else array[..., None].view(part_dtype(array.dtype))
