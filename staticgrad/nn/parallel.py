"""A module over several GPUs, of which there are none, and over several processes, whose gradients it averages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from typing import Any

from ..base.devices import check_device
from ..eager.grad_mode import is_grad_enabled, no_grad
from ..errors import ArgumentError
from ..namespaces.modules import enter
from ..operators import F, Operators
from ..ops import pytree
from .module import Module


class DataParallel(Module):
    """Calls `module`. Names of parameters begin with "module.". Raises DeviceError for GPUs that are asked for."""

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        if device_ids:
            check_device("cuda")
        check_device(output_device)
        self.module = module
        self.dim = dim
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module returns."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """`module(*inputs)`. Raises DeviceError for GPUs that are asked for."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over the processes of a group, as in PyTorch.

    Each process runs the module on its part of the data. Parameters and buffers begin with the values of the first process.
    After a backward pass each gradient is the average over the processes. Gradients travel in *buckets*: of parameters in
    reverse order, each bucket as soon as its last gradient is there. In a compiled function the exchanges are operations of
    the step.

    bucket_cap_mb: megabytes of a bucket (25), of the first one 1 at most. broadcast_buffers: give all processes the first one's
    buffers before each call in training mode. find_unused_parameters: parameters that a pass does not reach count as 0; without
    it they keep a bucket waiting, and the next call raises DistError. `no_sync()`: passes inside only accumulate. Names of
    parameters begin with "module.". Other arguments are for GPUs and PyTorch's reducer and have no effect. Raises DistError
    before `init_process_group`, ArgumentError for a module without trained parameters or whose parameters differ between
    processes.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool = True, init_sync: bool = True, process_group: Any = None, bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False, check_reduction: bool = False, gradient_as_bucket_view: bool = False,
        static_graph: bool = False, **ignored: Any,
    ):  # fmt: skip
        from ..distributed.process_groups import member

        super().__init__()
        if device_ids:
            check_device("cuda")
        check_device(output_device)
        found = member(process_group, "DistributedDataParallel")
        trained = [p for p in module.parameters() if p.requires_grad]
        if not trained:
            raise ArgumentError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient."
            )
        self.module = module
        self.dim = dim
        self.process_group = process_group
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters or static_graph
        self.require_backward_grad_sync = True
        self._root = found.ranks[0]
        if init_sync:
            self._check_alike(found)
            self._give([*module.parameters(), *module.buffers()])
        self._buckets = buckets([p.numel() * p.dtype.itemsize for p in trained], [p.dtype for p in trained], bucket_cap_mb)
        self._buckets = [[trained[i] for i in bucket] for bucket in self._buckets]  # type: ignore[misc]
        self._waiting: list[set[int]] = []
        """Of each bucket that was not exchanged the parameters whose gradients are not there yet, by number in it."""
        self._begun = False
        """Whether a backward pass has brought some gradients, and not all: a call without one leaves nothing waiting."""
        for number, bucket in enumerate(self._buckets):
            for place, p in enumerate(bucket):
                p.register_post_accumulate_grad_hook(partial(self._arrived, number, place))  # type: ignore[attr-defined]

    def _check_alike(self, found: Any) -> None:
        from ..distributed.objects import all_gather_object

        mine = [(name, tuple(p.shape), str(p.dtype)) for name, p in self.module.named_parameters()]
        all_of_them: list[Any] = [None] * found.size
        all_gather_object(all_of_them, mine, self.process_group)
        for rank, theirs in zip(found.ranks, all_of_them, strict=True):
            for one, other in zip_longest(all_of_them[0], theirs):
                if one != other:
                    raise ArgumentError(
                        f"DistributedDataParallel: parameters differ between processes: rank {found.ranks[0]} has {one}, rank "
                        f"{rank} has {other}",
                        "build the same module in all processes",
                    )

    def _give(self, tensors: Sequence[Any]) -> None:
        from ..distributed.collectives import broadcast

        for x in tensors:
            broadcast(x, self._root, self.process_group)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Passes inside accumulate gradients without an exchange; the first pass after it exchanges their sums."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module returns. Raises DistError where the pass before left gradients waiting."""
        from ..distributed import DistError

        if self._begun:
            lost = sum(map(len, self._waiting))
            self._waiting, self._begun = [], False
            raise DistError(
                f"DistributedDataParallel: {lost} parameters got no gradient in the last backward pass, so their buckets were "
                "not exchanged",
                "pass find_unused_parameters=True, or let all parameters take part in the loss",
            )
        if self.training and self.broadcast_buffers and self.require_backward_grad_sync:
            self._give(list(self.module.buffers()))
        if self.require_backward_grad_sync and is_grad_enabled():
            self._waiting = [{*range(len(bucket))} for bucket in self._buckets]
        out = self.module(*inputs, **kwargs)
        if self.find_unused_parameters and any(self._waiting):
            self._count_unused(out)
        return out

    def _count_unused(self, out: Any) -> None:
        """Count the parameters that no result depends on as arrived."""
        from ..distributed.collectives import cut

        cut("find_unused_parameters")
        used = reached(out)
        for number, bucket in enumerate(self._buckets):
            for place, p in enumerate(bucket):
                if id(p) not in used:
                    self._waiting[number].discard(place)
        if not any(self._waiting):
            self._exchange_complete()

    def _arrived(self, number: int, place: int, parameter: Any) -> None:
        """A gradient is there."""
        if self.require_backward_grad_sync and self._waiting:
            self._waiting[number - len(self._buckets)].discard(place)
            self._begun = True
            self._exchange_complete()

    def _exchange_complete(self) -> None:
        """Exchange the buckets that are complete. All processes do it in the order of the buckets, whatever arrives first."""
        while self._waiting and not self._waiting[0]:
            self._exchange(self._buckets[-len(self._waiting)])
            del self._waiting[0]
        self._begun = self._begun and bool(self._waiting)

    def _exchange(self, bucket: Sequence[Any]) -> None:
        """Average the gradients of a bucket, as one array."""
        from ..distributed.collectives import all_reduce

        with no_grad():
            grads = [F.zeros_like(p) if p.grad is None else p.grad for p in bucket]
            whole = F.concatenate([g.detach().reshape(-1) for g in grads], 0)
            all_reduce(whole, "avg", self.process_group)
            at = 0
            for p, g in zip(bucket, grads, strict=True):
                part = whole[at : at + g.numel()].reshape(tuple(g.shape))
                at += g.numel()
                if p.grad is None:
                    p.grad = part.clone()
                else:
                    p.grad.copy_(part)


FIRST_BUCKET = 1 << 20
"""Bytes of the first bucket: it travels early."""
BUCKET = 25
"""Megabytes of the others."""


def reached(out: Any) -> set[int]:
    """Ids of the leaves on which results depend."""
    found: set[int] = set()
    tensors, _ = pytree.flatten(out)
    waiting = [x.grad_fn if x.grad_fn is not None else x for x in tensors if isinstance(x, Operators) and x.requires_grad]
    seen: set[Any] = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        if isinstance(node, Operators):
            found.add(id(node))
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        waiting += [before for before, _ in node.next_functions]
    return found


def buckets(sizes: Sequence[int], dtypes: Sequence[Any], cap: float | None = None) -> list[list[int]]:
    """Numbers of parameters, in reverse order, in buckets of one dtype. sizes: in bytes; cap: megabytes of a bucket."""
    limit = int((BUCKET if cap is None else cap) * (1 << 20))
    found: list[list[int]] = []
    open_buckets: dict[Any, tuple[list[int], int]] = {}
    for i in reversed(range(len(sizes))):
        bucket, held = open_buckets.get(dtypes[i], (None, 0))
        if bucket is None or held + sizes[i] > (min(limit, FIRST_BUCKET) if bucket is found[0] else limit):
            bucket, held = [], 0
            found.append(bucket)
        bucket.append(i)
        open_buckets[dtypes[i]] = bucket, held + sizes[i]
    return found


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

__path__: list[str] = []
"""PyTorch has modules below it: the table of paths makes them."""
enter("nn.parallel.data_parallel")
