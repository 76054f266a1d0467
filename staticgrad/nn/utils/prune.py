"""Pruning: a parameter times a mask. `module.weight` is computed before each call of the module, from `weight_orig`, which is
trained, and `weight_mask`, a buffer. Names, arguments and rules are PyTorch's.

Which elements go is decided by values, when a function of this module is called: call it outside of compiled steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...eager import no_grad, rand, tensor
from ...errors import ArgumentError
from ...ops.linear_algebra.products import vector_norm
from ...ops.operators import F
from ..module import Module
from ..parameter import Parameter

UNSTRUCTURED, STRUCTURED, GLOBAL = "unstructured", "structured", "global"


class BasePruningMethod(ABC):
    """A way to choose what is pruned. A subclass has a PRUNING_TYPE ("unstructured", "structured" or "global") and writes
    `compute_mask`."""

    PRUNING_TYPE: str = UNSTRUCTURED
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        """The hook: compute the pruned tensor before the module is called."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The new mask of importance scores `t`, inside what `default_mask` keeps."""

    def apply_mask(self, module: Module) -> Any:
        """The original values times the mask."""
        original, mask = (getattr(module, f"{self._tensor_name}_{end}") for end in ("orig", "mask"))
        return F.astype(mask, original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter, further if it is pruned already. Returns the method that is its hook."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        before = _hook(module, name)
        if before is not None:
            container = PruningContainer(before[1])
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise ArgumentError("importance_scores should have the same shape as parameter " + repr(name))
        if before is None:
            mask = method.compute_mask(scores, F.ones_like(original.detach()))
            if not isinstance(original, Parameter):
                original = Parameter(original)
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
        else:
            mask = method.compute_mask(scores, getattr(module, f"{name}_mask").detach().clone())
            module._forward_pre_hooks.pop(before[0])
        module.register_buffer(f"{name}_mask", mask.detach())
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A tensor times the mask that this method computes for it."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise ArgumentError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, F.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned values those of the parameter, and drop mask and hook."""
        name = self._tensor_name
        with no_grad():
            pruned = self.apply_mask(module)
            original = getattr(module, f"{name}_orig")
            original.copy_(pruned)
        for end in ("", "_orig", "_mask"):
            delattr(module, name + end)
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Several methods of one tensor, in order: the mask is that of the last one, inside what those before it keep."""

    def __init__(self, *args: BasePruningMethod):
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add one of the same tensor. Raises TypeError, ArgumentError."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ArgumentError(
                "Can only add pruning methods acting on the parameter named "
                f"{self._tensor_name!r} to PruningContainer {self}. Found {method._tensor_name!r}"
            )
        inner = method._pruning_methods if isinstance(method, PruningContainer) else (method,)
        self._pruning_methods = (*self._pruning_methods, *inner)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        method, mask = self._pruning_methods[-1], np.asarray(default_mask.numpy())
        if method.PRUNING_TYPE == UNSTRUCTURED:
            place: Any = mask == 1
        elif method.PRUNING_TYPE == STRUCTURED:
            dim = int(getattr(method, "dim", 0)) % mask.ndim
            kept = np.flatnonzero(mask.sum(tuple(a for a in range(mask.ndim) if a != dim)))
            place = (*[slice(None)] * dim, kept)
        elif method.PRUNING_TYPE == GLOBAL:
            place = (slice(None),) * mask.ndim
        else:
            raise ArgumentError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        values, result = np.asarray(t.detach().numpy()), mask.copy()
        result[place] = method.compute_mask(tensor(values[place]), tensor(mask[place])).numpy()
        return tensor(result)


class Identity(BasePruningMethod):
    """Prunes nothing, but brings the parameter into the form of pruned ones."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:  # type: ignore[override]
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """amount: a share of the elements, or their number."""

    def __init__(self, amount: float):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count, mask = t.numel(), np.array(default_mask.numpy())
        pruned = _number(self.amount, count)
        _check_number(pruned, count)
        if pruned:
            mask.reshape(-1)[self.chosen(np.asarray(t.detach().numpy()).reshape(-1), pruned)] = 0
        return tensor(mask)

    @abstractmethod
    def chosen(self, scores: np.ndarray, pruned: int) -> np.ndarray:
        """The positions of the elements that go."""

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, importance_scores: Any = None) -> Any:  # type: ignore[override]
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomUnstructured(_Amount):
    """Prunes elements at random."""

    def chosen(self, scores: np.ndarray, pruned: int) -> np.ndarray:
        return _random_order(scores.size)[scores.size - pruned :]


class L1Unstructured(_Amount):
    """Prunes the elements of least absolute value."""

    def chosen(self, scores: np.ndarray, pruned: int) -> np.ndarray:
        return np.argsort(np.abs(scores), kind="stable")[:pruned]


class _Structured(BasePruningMethod):
    """Prunes slices along an axis. amount: a share of them, or their number."""

    PRUNING_TYPE = STRUCTURED

    def __init__(self, amount: float, dim: int = -1):
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if len(t.shape) <= 1:
            raise ArgumentError(
                "Structured pruning can only be applied to multidimensional tensors. "
                f"Found tensor of shape {tuple(t.shape)} with {len(t.shape)} dims"
            )
        if not -len(t.shape) <= self.dim < len(t.shape):
            raise IndexError(f"Invalid index {self.dim} for tensor of size {tuple(t.shape)}")
        count = t.shape[self.dim]
        pruned = _number(self.amount, count)
        _check_number(pruned, count)
        if not pruned:
            return default_mask
        keep = np.ones(count, default_mask.dtype)
        keep[self.chosen(np.asarray(t.detach().numpy()), pruned)] = 0
        return default_mask * tensor(np.expand_dims(keep, [a for a in range(len(t.shape)) if a != self.dim % len(t.shape)]))

    @abstractmethod
    def chosen(self, scores: np.ndarray, pruned: int) -> np.ndarray:
        """The numbers of the slices that go."""


class RandomStructured(_Structured):
    """Prunes slices at random."""

    def chosen(self, scores: np.ndarray, pruned: int) -> np.ndarray:
        return _random_order(scores.shape[self.dim])[:pruned]

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> Any:  # type: ignore[override]
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices of least n-norm."""

    def __init__(self, amount: float, n: Any, dim: int = -1):
        super().__init__(amount, dim)
        self.n = n

    def chosen(self, scores: np.ndarray, pruned: int) -> np.ndarray:
        rows = np.moveaxis(scores, self.dim, 0).reshape(scores.shape[self.dim], -1)
        norms = np.asarray(vector_norm(tensor(rows), 2 if self.n == "fro" else self.n, 1).numpy())
        return np.argsort(norms, kind="stable")[:pruned]

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None
    ) -> Any:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask leaves out."""

    PRUNING_TYPE = GLOBAL

    def __init__(self, mask: Any):
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if self.mask.shape != default_mask.shape:
            raise ArgumentError(f"the mask has shape {tuple(self.mask.shape)}, the tensor {tuple(default_mask.shape)}")
        return default_mask * F.astype(self.mask, default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Any) -> Any:  # type: ignore[override]
        return super().apply(module, name, mask=mask)


# functions ------------------------------------------------------------------------------------------------------------


def identity(module: Module, name: str) -> Module:
    """Bring a parameter into the form of pruned ones, with a mask of ones. Returns the module, here and below."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune a share of a parameter's elements (a number of them, for an integer) at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Any = None) -> Module:
    """Prune the elements of least absolute value, or of least importance.

    Examples:
        >>> layer = nn.Linear(2, 1, bias=False)
        >>> with sg.no_grad():
        ...     _ = layer.weight.copy_(sg.tensor([[3.0, -1.0]]))
        >>> nn.utils.prune.l1_unstructured(layer, "weight", amount=1).weight
        tensor([[3., -0.]], grad_fn=<MulBackward0>)
    """
    L1Unstructured.apply(module, name, amount, importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune slices along an axis at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None) -> Module:
    """Prune the slices along an axis whose n-norm is least."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Any) -> Module:
    """Prune by a given mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Any] | None = None, **kwargs: Any,
) -> None:  # fmt: skip
    """Prune several parameters as if they were one. parameters: pairs of a module and a name. Raises TypeError."""
    places = list(parameters)
    given = {} if importance_scores is None else importance_scores
    scores = [given.get((module, name), getattr(module, name)).detach() for module, name in places]
    masks = [getattr(module, f"{name}_mask", F.ones_like(value)) for (module, name), value in zip(places, scores, strict=True)]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != UNSTRUCTURED:
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    container = PruningContainer(method)
    mask = container.compute_mask(*[F.concatenate([F.reshape(v, (-1,)) for v in values]) for values in (scores, masks)])
    begin = 0
    for module, name in places:
        value = getattr(module, name)
        custom_from_mask(module, name, mask[begin : begin + value.numel()].reshape(value.shape))
        begin += value.numel()


def remove(module: Module, name: str) -> Module:
    """Make a parameter's pruning final: mask and hook go, the zeros stay. Raises ArgumentError where there is none."""
    found = _hook(module, name)
    if found is None:
        raise ArgumentError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    found[1].remove(module)
    del module._forward_pre_hooks[found[0]]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())


def _hook(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    for key, method in module._forward_pre_hooks.items():
        if isinstance(method, BasePruningMethod) and method._tensor_name == name:
            return key, method
    return None


def _random_order(count: int) -> np.ndarray:
    """The numbers below `count` in the order of as many uniform draws, as PyTorch chooses: the last for elements, the first for
    slices."""
    return np.argsort(rand(count).numpy(), kind="stable")


def _check_amount(amount: Any) -> None:
    if isinstance(amount, bool) or not isinstance(amount, (int, float, np.number)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (amount > 1 and not float(amount).is_integer()):
        raise ArgumentError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _number(amount: float, count: int) -> int:
    return int(amount) if isinstance(amount, (int, np.integer)) else round(amount * count)


def _check_number(pruned: int, count: int) -> None:
    if pruned > count:
        raise ArgumentError(f"amount={pruned} should be smaller than the number of parameters to prune={count}")
