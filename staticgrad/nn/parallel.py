"""A module over several GPUs, of which there are none, and over several processes, whose gradients it averages."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import zip_longest
from typing import Any, cast

import numpy as np

from ..base.communicators import Joinable, JoinHook, divided, owners
from ..base.devices import CPU, check_device
from ..base.types import DTypeLike
from ..eager import tensor
from ..eager.grad_mode import is_grad_enabled, no_grad
from ..errors import ArgumentError
from ..namespaces import functional
from ..namespaces.autograd.function import Function
from ..namespaces.lookup.modules import enter
from ..ops import pytree, sparse_rows
from ..ops.communication import added, buckets, check_shard, gathered_rows, joined, parted
from ..ops.gathering import scatter_op
from ..ops.operators import F, Operators, TensorLike, apply, state
from ..ops.operators import Tensor as AnyTensor
from ..ops.sparse_rows import rows_in_graph
from .layers import Embedding, EmbeddingBag, Linear
from .module import Module
from .parameter import Parameter


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


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are averaged over the processes of a group, as in PyTorch.

    Each process runs the module on its part of the data. Parameters and buffers begin with the values of the first process.
    After a backward pass each gradient is the average over the processes. Gradients travel in *buckets*: of parameters in
    reverse order, each bucket as soon as its last gradient is there. In a compiled function the exchanges are operations of
    the step. Of the gradient of an embedding with `sparse=True` the rows alone travel. In compiled steps each process fills
    them up to the number that all have agreed on, and they agree anew where one has more; where none has a row, row 0 counts as
    one whose gradient is 0.

    bucket_cap_mb: megabytes of a bucket (25), of the first one 1 at most. broadcast_buffers: give all processes the first
    one's buffers before each call that follows a training call. find_unused_parameters: parameters that a pass does not reach
    count as 0, and stay without a gradient where no process has one; without it they keep a bucket waiting, and the next call
    raises DistError. static_graph: as find_unused_parameters, and all passes reach the parameters that the first one reached.
    `no_sync()`: passes whose calls are inside only accumulate. `join()`: processes may have different numbers of inputs. Names
    of parameters begin with "module.". shard: "optimizer" with `optim.ZeroRedundancyOptimizer`, which divides the state of
    an optimizer among the processes; with "gradients" each process gets the gradients alone of the parameters that it updates
    there, too, and the others are None. The optimizer has to have the parameters of the module, in their order. Other
    arguments are for GPUs and PyTorch's reducer and have no effect. Raises DistError before `init_process_group`,
    ArgumentError for a module without trained parameters or whose parameters differ between processes.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool = True, init_sync: bool = True, process_group: Any = None, bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False, check_reduction: bool = False, gradient_as_bucket_view: bool = False,
        static_graph: bool = False, shard: str | None = None,
        delay_all_reduce_named_params: Any = None, param_to_hook_all_reduce: Any = None, mixed_precision: Any = None,
        device_mesh: Any = None, skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: Any = None,
        batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ):  # fmt: skip
        from ..distributed.process_groups import member

        super().__init__()
        Joinable.__init__(self)
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
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        """Whether the next call begins with the buffers of the first process."""
        self._size, self._rank = found.size, found.rank
        if init_sync:
            self._check_alike(found)
            self._give([*module.parameters(), *module.buffers()])
        self._owners = (
            dict(zip(map(id, trained), owners([p.numel() for p in trained], found.size), strict=True))
            if check_shard("DistributedDataParallel", shard) == "gradients"
            else {}
        )
        """By id of a parameter the process that gets its gradient; empty where all do."""
        if found.size > 1:
            divided.update(self._owners)
            for parameter in trained if self._owners else ():
                weakref.finalize(parameter, divided.pop, id(parameter), None)
        layers = [m for m in module.modules() if isinstance(m, (Embedding, EmbeddingBag)) and m.sparse]
        self._sparse = {id(layer.weight) for layer in layers}
        """Ids of the parameters of whose gradients few rows are not 0."""
        self._tables = {id(p): len(found.tables) + i for i, p in enumerate(p for p in trained if id(p) in self._sparse)}
        """Their numbers in the group."""
        self._rows_of_tables = (0,) * len(self._tables)
        """How many rows of each all processes can send in a compiled step."""
        found.tables += [partial(_agree_on_rows, weakref.ref(self), i) for i in range(len(self._tables))]
        alone = [id(p) if id(p) in self._sparse else None for p in trained]
        kinds = [(p.dtype, self._owners.get(id(p)), own) for p, own in zip(trained, alone, strict=True)]
        self._buckets = buckets([p.numel() * p.dtype.itemsize for p in trained], kinds, bucket_cap_mb)
        self._buckets = [[trained[i] for i in bucket] for bucket in self._buckets]  # type: ignore[misc]
        self._waiting: list[set[int]] = []
        """Of each bucket that was not exchanged the parameters whose gradients are not there yet, by number in it."""
        self._begun = 0
        """While a backward pass has brought some gradients, and not all, the id of the trace that it belongs to, or of None:
        what a trace leaves that failed means nothing. 0: a call without a pass leaves nothing waiting."""
        self._without: set[int] = set()
        """Ids of the parameters that no process reaches in this pass."""
        self._reached: set[int] | None = None
        """Ids of the parameters that this process reaches in all passes, once that is known."""
        self._going: list[Any] = []
        """The number of processes that have inputs, where gradients are averaged over these. A list: a trace has its own."""
        for number, bucket in enumerate(self._buckets):
            for place, p in enumerate(bucket):
                p.register_post_accumulate_grad_hook(partial(self._arrived, number, place))  # type: ignore[attr-defined]

    def _check_alike(self, found: Any) -> None:
        from ..distributed.collectives import all_gather_object

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

    def _give(self, tensors: Sequence[Any], root: int = 0) -> None:
        """Give all processes the values of one, the first in the group."""
        from ..distributed.collectives import broadcast

        for x in tensors:
            broadcast(x, group=self.process_group, group_src=root)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Passes whose calls are inside accumulate gradients without an exchange; the first one after exchanges their sums."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module returns. Raises DistError where the pass before left gradients waiting."""
        from ..distributed import DistError

        if self._begun == id(state.tracer):
            lost = sum(map(len, self._waiting))
            self._waiting, self._begun = [], 0
            raise DistError(
                f"DistributedDataParallel: {lost} parameters got no gradient in the last backward pass, so their buckets were "
                "not exchanged",
                "pass find_unused_parameters=True, or let all parameters take part in the loss",
            )
        training = self.require_backward_grad_sync and is_grad_enabled()
        buffers = self.broadcast_buffers and self.require_forward_param_sync
        self._going.clear()
        if self._join_config.enable:
            from ..distributed.algorithms import Join

            going = Join.notify_join_context(self)
            self._going += [] if self._by_initial or going is None else going.result()
            if state.tracer is None:
                self._agree(training, buffers)
            elif buffers:
                self._give_of_last()
        elif buffers:
            self._give(list(self.module.buffers()))
        self.require_forward_param_sync = training
        self._waiting = [{*range(len(bucket))} for bucket in self._buckets] if training else []
        out = self.module(*inputs, **kwargs)
        if self.find_unused_parameters and self._waiting:
            self._count_unused(out)
        return out

    def _count_unused(self, out: Any) -> None:
        """Count the parameters that no result depends on as arrived, and learn which no process reaches."""
        if self._reached is None:
            from ..distributed.collectives import cut

            cut("find_unused_parameters")
            used = reached(out)
            self._tell_reached(used)
            if self.static_graph:
                self._reached = used
        else:
            used = self._reached
        for number, bucket in enumerate(self._buckets):
            for place, p in enumerate(bucket):
                if id(p) not in used:
                    self._waiting[number].discard(place)
        if not any(self._waiting):
            self._exchange_complete()

    def _tell_reached(self, used: set[int] | None) -> None:
        """Learn which parameters no process reaches or has a gradient of. used: ids of those of this process; None: it takes
        no part."""
        from ..distributed.collectives import all_reduce

        members: list[Any] = [p for bucket in self._buckets for p in bucket]
        flags = tensor([used is not None and (id(p) in used or p.grad is not None) for p in members])
        all_reduce(flags, "max", self.process_group)
        self._without = {id(p) for p, flag in zip(members, flags.tolist(), strict=True) if not flag}

    def _arrived(self, number: int, place: int, parameter: Any) -> None:
        """A gradient is there."""
        if self._waiting:
            self._waiting[number - len(self._buckets)].discard(place)
            self._begun = id(state.tracer)
            self._exchange_complete()

    def _exchange_complete(self) -> None:
        """Exchange the buckets that are complete. All processes do it in the order of the buckets, whatever arrives first."""
        while self._waiting and not self._waiting[0]:
            self._exchange(self._buckets[-len(self._waiting)])
            del self._waiting[0]
        self._begun = self._begun if self._waiting else 0

    def _sum(self, whole: Any, owner: int | None) -> Any:
        """The gradients of all processes, added: for all of them, or for the one to which they belong."""
        from ..distributed.process_groups import member

        return added(whole, owner, member(self.process_group, "DistributedDataParallel"))

    def _exchange(self, bucket: Sequence[Any]) -> None:
        """Average the gradients of a bucket, as one array. They are divided before: products of matrices do it as they
        write them."""
        if self._size == 1:
            return
        owner = self._owners.get(id(bucket[0]))
        with no_grad():
            share = 1 / self._size if not self._going else 1 / self._going[0]
            if id(bucket[0]) in self._sparse and self._exchange_rows(bucket[0], owner, share):
                return
            grads = [F.zeros_like(p) if p.grad is None else p.grad for p in bucket]
            whole = self._sum(joined([g.detach() * share for g in grads]), owner)
            if owner not in (None, self._rank):
                for p in bucket:
                    p.grad = None
                return
            for p, part in zip(bucket, parted(whole, [tuple(p.shape) for p in bucket]), strict=True):
                if p.grad is not None:
                    p.grad.copy_(part)
                elif id(p) not in self._without:
                    p.grad = part.clone()

    def _exchange_rows(self, p: Any, owner: int | None, share: float) -> bool:
        """Average a gradient of which all processes know the rows that are not 0: these alone travel. False for another one."""
        from ..distributed.process_groups import member

        members = member(self.process_group, "DistributedDataParallel")
        rows = self._rows(p) if state.tracer is None else self._traced_rows(p)
        if rows is None:
            return False
        values, index = (gathered_rows(x, members, self._tables[id(p)]) for x in (rows[0] * share, rows[1]))
        if owner not in (None, self._rank):
            p.grad = None
            return True
        if members.supposed:  # others have other rows, which are in no cache of this process's
            index = (rows[1] + F.index_along(index, 0) * (p.shape[0] // members.size)) % p.shape[0]
        values, index = values.reshape(-1, *p.shape[1:]), index.reshape(-1)
        if state.tracer is None:
            values, index = values[index >= 0], index[index >= 0]
        else:
            index = F.where(index < 0, F.clamp(index.max(), 0), index)
        p.grad = apply(scatter_op, values, p.detach(), index, axis=0)
        return True

    def _traced_rows(self, p: Any) -> tuple[Any, Any] | None:
        """Rows of a traced gradient and their index, filled up with values of 0 for the row -1, as many as all processes can
        send. None where they are not known."""
        found = rows_in_graph(p.grad, p)
        if found is None:
            return None
        values, index = found
        count = index.shape[0]
        more = max(count, self._rows_of_tables[[*self._tables].index(id(p))], 1) - count
        if more > 0:
            nothing, none = tensor(np.zeros((), p.dtype)), tensor(np.array(-1, index.dtype))
            values = F.concatenate([values, F.broadcast_to(nothing, (more, *p.shape[1:]))], 0)
            index = F.concatenate([index, F.broadcast_to(none, (more,))], 0)
        return values, index

    def _rows(self, p: Any) -> tuple[Any, Any] | None:
        """The same of an eager gradient, as many as the process has that has most. None where some process does not know its
        rows."""
        from ..distributed.nn.functional import all_gather

        noted = np.zeros(0, np.int64) if p.grad is None else sparse_rows.rows_of(p.grad._data)
        own = None if noted is None else np.unique(noted)
        counts = [int(n) for n in all_gather(tensor(-1 if own is None else len(own)), group=self.process_group)]
        if own is None or min(counts) < 0:
            return None
        index, values = np.full(max(counts), -1), np.zeros((max(counts), *p.shape[1:]), p.dtype)
        if len(own):
            index[: len(own)], values[: len(own)] = own, p.grad._data[own]
        return tensor(values), tensor(index)

    # processes with different numbers of inputs -------------------------------------------------------------------------

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> AbstractContextManager[None]:
        """A context for a loop in which processes have different numbers of inputs: those without inputs take part in the
        exchanges of the others, with gradients of 0, and get the model of a process that was among the last.

        divide_by_initial_world_size: average over all processes; False: over those that have inputs. enable,
        throw_on_early_termination: as of `distributed.algorithms.Join`.
        """
        from ..distributed.algorithms import Join

        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, divide_by_initial_world_size: bool = True, **kwargs: Any) -> JoinHook:
        """What a process without inputs does."""
        self._by_initial = divide_by_initial_world_size
        return _DataParallelHook(self)

    @property
    def join_device(self) -> Any:
        """The CPU."""
        return CPU

    @property
    def join_process_group(self) -> Any:
        """That of the gradients."""
        return self.process_group

    def _agree(self, training: bool = False, buffers: bool = False, without: bool = False) -> tuple[bool, bool]:
        """Whether processes with inputs exchange gradients and buffers in this pass; the buffers are exchanged here.
        without: whether this process has no inputs."""
        from ..distributed.collectives import all_reduce

        told = tensor([training, buffers, -1 if without else self._rank], dtype=np.int64)
        all_reduce(told, "max", self.process_group)
        training, buffers, root = told.tolist()
        if buffers:
            self._give(list(self.module.buffers()), root)
        return bool(training), bool(buffers)

    def _give_of_last(self) -> None:
        """In a trace: give all processes the buffers of the last one that has inputs, as sums to which the others add 0."""
        from ..distributed.collectives import all_reduce

        last = tensor(self._rank)
        all_reduce(last, "max", self.process_group)
        with no_grad():
            for x in self.module.buffers():
                found = F.where(last == self._rank, x, F.zeros_like(x))
                all_reduce(found, "max" if x.dtype == np.bool_ else "sum", self.process_group)
                x.copy_(found)


class _DataParallelHook(JoinHook):
    """The exchanges of a pass without an input, and the model of a process that was among the last."""

    def __init__(self, of: DistributedDataParallel):
        self._of = of

    def main_hook(self) -> None:
        """Those of a pass, in its order, with gradients of 0."""
        of = self._of
        training, _ = of._agree(without=True)
        if not training:
            return
        if of.find_unused_parameters and of._reached is None:
            of._tell_reached(None)
            of._reached = set() if of.static_graph else None
        for bucket in of._buckets:
            owner, members = of._owners.get(id(bucket[0])), cast("list[Any]", bucket)
            if id(bucket[0]) in of._sparse:
                members[0].grad = None
                with no_grad():
                    if of._exchange_rows(members[0], owner, 1.0):
                        continue
            whole = of._sum(tensor(np.zeros(sum(p.numel() for p in members), members[0].dtype)), owner)
            parts = parted(whole, [tuple(p.shape) for p in members])
            for p, part in zip(members, parts, strict=True):  # for optimizers that take part
                p.grad = part.clone() if owner in (None, of._rank) and id(p) not in of._without else None

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take over the parameters and buffers of the last process."""
        from ..distributed.collectives import all_reduce

        of = self._of
        of._going.clear()
        root = tensor(of._rank if is_last_joiner else -1)
        all_reduce(root, "max", of.process_group)
        of._give([*of.module.parameters(), *of.module.buffers()], int(root.item()))


def _agree_on_rows(of: weakref.ref[DistributedDataParallel], place: int, rows: int) -> None:
    """Processes have agreed on a number of rows of a table."""
    found = of()
    if found is not None:
        known = found._rows_of_tables
        found._rows_of_tables = (*known[:place], rows, *known[place + 1 :])


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


__all__ = ["ColumnParallelLinear", "DataParallel", "DistributedDataParallel", "RowParallelLinear", "data_parallel"]

__path__: list[str] = []
"""PyTorch has modules below it: the table of paths makes them."""
enter("nn.parallel.data_parallel")


# linear layers whose weights are divided among processes -------------------------------------------------------------

# Columns of the first of a pair, rows of the second.
#
# Source: Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism" (2019).
# Between the two each process has its part of the features; outside of them all processes have the same values and the same
# loss, so each of them differentiates that loss, and not the sum of all.


class _Divide(Function):
    """All processes have x, and go on with parts of what is made of it: its cotangent is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, x: Any, group: Any) -> Any:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _Join.apply(g, ctx.group), None


class _Join(Function):
    """The sum of what the processes have, in all of them: each one's cotangent is that of the sum."""

    @staticmethod
    def forward(ctx: Any, x: Any, group: Any) -> Any:
        from ..distributed.nn.functional import all_reduce

        ctx.group = group
        return all_reduce(x, group=group)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _Divide.apply(g, ctx.group), None


class _Part(Module):
    """A linear layer of which this process has a part of the features."""

    weight: AnyTensor
    bias: AnyTensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, process_group: Any = None, device: Any = None,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        from ..distributed.process_groups import member

        super().__init__()
        of = member(process_group, type(self).__name__)
        self.in_features, self.out_features, self.process_group = in_features, out_features, process_group
        features = (out_features, in_features)[self.axis]
        if features % of.size:
            raise ArgumentError(f"{type(self).__name__}: {features} features can't be divided among {of.size} processes")
        whole = Linear(in_features, out_features, bias, device, dtype)
        count = features // of.size
        self._mine = slice(of.rank * count, (of.rank + 1) * count)
        self.weight = Parameter(self._part(whole.weight.detach(), self.axis))
        own = None if whole.bias is None else whole.bias.detach()
        if own is not None and self.axis == 0:
            own = self._part(own, 0)
        self.register_parameter("bias", None if own is None else Parameter(own.clone()))

    axis = 0
    """The axis of the weight that is divided."""

    def _part(self, x: Any, axis: int) -> Any:
        return (x[self._mine] if axis == 0 else x[:, self._mine]).clone()

    def load_whole(self, weight: Any, bias: Any = None) -> None:
        """Take this process's part of the weight and bias of a whole layer."""
        self.weight.detach().copy_(self._part(weight.detach(), self.axis))
        if self.bias is not None and bias is not None:
            self.bias.detach().copy_(self._part(bias.detach(), 0) if self.axis == 0 else bias.detach())

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class ColumnParallelLinear(_Part):
    """A linear layer of which each process has some of the results; the first of a pair, whose second is `RowParallelLinear`.

    x (..., in_features), the same in all processes -> (..., out_features / processes). What follows works on these features one
    by one, as activations do. The weight has shape (out_features / processes, in_features) and begins as the part of a whole
    layer's that `nn.Linear` would make, so one seed gives all processes parts of one layer. `load_whole(weight, bias)` takes
    the part of another one. Raises DistError before `init_process_group`, ArgumentError for features that can't be divided.
    """

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.linear(_Divide.apply(input, self.process_group), self.weight, self.bias)


class RowParallelLinear(_Part):
    """A linear layer of which each process has some of the inputs; the second of a pair, see `ColumnParallelLinear`.

    x (..., in_features / processes) -> (..., out_features), the same in all processes: the sum of what each of them computes,
    and the bias, which all have. The weight has shape (out_features, in_features / processes). Raises DistError, ArgumentError.
    """

    axis = 1

    def forward(self, input: TensorLike) -> AnyTensor:
        total: AnyTensor = _Join.apply(functional.linear(input, self.weight), self.process_group)
        return total if self.bias is None else total + self.bias
