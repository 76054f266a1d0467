"""Modules of PyTorch as modules of this library, by `torch.export`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...base.interpreter import need

if TYPE_CHECKING:
    from ...nn import Module


def from_torch(
    module: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, dynamic_shapes: Any = None
) -> Module:
    """A module of PyTorch as a module here, with the same names of parameters, which share PyTorch's memory.

    module: a `torch.nn.Module`, which `torch.export` runs once with `args` and `kwargs` (tensors of PyTorch), or what
    `torch.export.export` made of one. dynamic_shapes: as of that function, the extents that may differ from those of `args`;
    others are checked. `train()` and `eval()` switch dropout and batch normalization where the module was exported in training
    mode. Training it changes the weights of `module` too.

    Raises MissingExtra without PyTorch, GraphError for an operator that is not supported (its name and the line of the module),
    and the errors of `torch.export`.
    """
    need("torch", "torch")
    from .module import TorchModule, exported

    trained = bool(getattr(module, "training", False))
    return TorchModule(exported(module, tuple(args), dict(kwargs or {}), dynamic_shapes), trained)


__all__ = ["from_torch"]
