"""Batches of the values of tensors in many runs, by queues that threads fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import concat, convert_to_tensor, expand_dims, fill, gather, identity, shape, stack
from ..draws import random_uniform
from ..gathering import argsort, boolean_mask
from ..graph import GraphKeys, control_dependencies, get_default_graph
from ..queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from ..scatter import count_up_to
from ..sparse import SparseTensor
from ..variables import Variable
from .threads import QueueRunner, add_queue_runner


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """The tensor; after so many runs a run raises `tf.errors.OutOfRangeError`. Counts in a local variable."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    graph = get_default_graph()
    with graph.name_scope(name or "limit_epochs"):
        epochs = Variable(np.int64(0), trainable=False, name="epochs", collections=[GraphKeys.LOCAL_VARIABLES])
        counter = count_up_to(epochs, num_epochs)
        with control_dependencies([counter]):
            return identity(tensor)


def input_producer(
    input_tensor: Any, element_shape: Any = None, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, summary_name: str | None = None, name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the rows of a tensor, filled by a queue runner, in another random order each time."""
    with get_default_graph().name_scope(name or "input_producer"):
        rows = convert_to_tensor(input_tensor)
        shape = rows.shape.as_list()[1:] if element_shape is None else element_shape
        if shuffle:
            rows = gather(rows, argsort(random_uniform([rows.shape.as_list()[0]], seed=seed)))
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype], [shape])
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        return queue


def range_input_producer(
    limit: int, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, name: str | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the integers below `limit`."""
    return input_producer(
        np.arange(limit, dtype=np.int32), [], num_epochs, shuffle, seed, capacity, name=name or "input_producer"
    )


def slice_input_producer(
    tensor_list: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, name: str | None = None,
) -> list[Any]:  # fmt: skip
    """One row of each tensor, the same in all, another in each run."""
    if not tensor_list:
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    with get_default_graph().name_scope(name or "input_producer"):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        queue = range_input_producer(tensors[0].shape.as_list()[0], num_epochs, shuffle, seed, capacity)
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]


def _batched(
    tensors: Any, batch_size: int, threads: int, queue_of: Any, enqueue_many: bool, shapes: Any, allow_smaller: bool, name: str,
) -> Any:  # fmt: skip
    named = isinstance(tensors, dict)
    with get_default_graph().name_scope(name):
        if any(isinstance(t, SparseTensor) for t in (tensors.values() if named else _listed(tensors))):
            raise TypeError(
                f"{name}: sparse tensors can't be elements of a queue; give tf.sparse_tensor_to_dense of them, or feed "
                "batches to a tf.sparse_placeholder"
            )
        items = [convert_to_tensor(t) for t in (tensors.values() if named else _listed(tensors))]
        if shapes is None:
            shapes = [t.shape.as_list()[1:] if enqueue_many else t.shape for t in items]
        queue = queue_of([t.dtype for t in items], shapes)
        add = queue.enqueue_many if enqueue_many else queue.enqueue
        add_queue_runner(QueueRunner(queue, [add(items)] * threads))
        take = queue.dequeue_up_to if allow_smaller else queue.dequeue_many
        found = take(batch_size)
    found = found if isinstance(found, list) else [found]
    if named:
        return dict(zip(tensors, found, strict=True))
    return found if len(found) > 1 else found[0]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def batch(
    tensors: Any, batch_size: int, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches of the values of tensors in many runs, made by queue runners. enqueue_many: the tensors hold many elements."""
    cls = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return _batched(
        tensors, batch_size, num_threads, lambda d, s: cls(capacity, d, s), enqueue_many, shapes, allow_smaller_final_batch,
        name or "batch",
    )  # fmt: skip


def shuffle_batch(
    tensors: Any, batch_size: int, capacity: int, min_after_dequeue: int, num_threads: int = 1, seed: int | None = None,
    enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`batch` through a `RandomShuffleQueue`."""
    return _batched(
        tensors, batch_size, num_threads, lambda d, s: RandomShuffleQueue(capacity, min_after_dequeue, d, s, seed=seed),
        enqueue_many, shapes, allow_smaller_final_batch, name or "shuffle_batch",
    )  # fmt: skip


def _joined(lists: Any, batched: Callable[..., Any]) -> Any:
    """Batches of what several lists of tensors give in turn: each run takes one element of each."""
    names = list(lists[0]) if isinstance(lists[0], dict) else None
    rows = [[each[name] for name in names] if names else _listed(each) for each in lists]
    found = batched([stack(list(column)) for column in zip(*rows, strict=True)])
    return dict(zip(names, _listed(found), strict=True)) if names else found


def batch_join(
    tensors_list: Any, batch_size: int, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """`batch` of the elements of several lists of tensors, which take turns."""
    if enqueue_many:
        joined = [concat(list(column), 0) for column in zip(*map(_listed, tensors_list), strict=True)]
        return batch(joined, batch_size, 1, capacity, True, shapes, dynamic_pad, allow_smaller_final_batch, shared_name, name)
    return _joined(tensors_list, lambda rows: batch(
        rows, batch_size, 1, capacity, True, shapes, dynamic_pad, allow_smaller_final_batch, shared_name, name or "batch_join"
    ))  # fmt: skip


def shuffle_batch_join(
    tensors_list: Any, batch_size: int, capacity: int, min_after_dequeue: int, seed: int | None = None,
    enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`shuffle_batch` of the elements of several lists of tensors."""
    if enqueue_many:
        joined = [concat(list(column), 0) for column in zip(*map(_listed, tensors_list), strict=True)]
        return shuffle_batch(
            joined, batch_size, capacity, min_after_dequeue, 1, seed, True, shapes, allow_smaller_final_batch, None, name
        )
    return _joined(tensors_list, lambda rows: shuffle_batch(
        rows, batch_size, capacity, min_after_dequeue, 1, seed, True, shapes, allow_smaller_final_batch, shared_name,
        name or "shuffle_batch_join",
    ))  # fmt: skip


def _kept(keep_input: Any, tensors: Any, enqueue_many: bool) -> tuple[Any, bool]:
    """The rows to keep, as many elements: none, one or all."""
    keep = convert_to_tensor(keep_input)
    items = list(tensors.values()) if isinstance(tensors, dict) else _listed(tensors)
    rows = [convert_to_tensor(t) if enqueue_many else expand_dims(convert_to_tensor(t), 0) for t in items]
    mask = keep if keep.shape.ndims else fill([shape(rows[0])[0]], keep)
    found = [boolean_mask(t, mask) for t in rows]
    return (dict(zip(tensors, found, strict=True)) if isinstance(tensors, dict) else found), True


def maybe_batch(
    tensors: Any, keep_input: Any, batch_size: int, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`batch` of those elements for which `keep_input` (one boolean, or one for each element) holds."""
    rows, many = _kept(keep_input, tensors, enqueue_many)
    return batch(
        rows, batch_size, num_threads, capacity, many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name, name
    )


def maybe_shuffle_batch(
    tensors: Any, batch_size: int, capacity: int, min_after_dequeue: int, keep_input: Any, num_threads: int = 1,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """`shuffle_batch` of those elements for which `keep_input` holds."""
    rows, many = _kept(keep_input, tensors, enqueue_many)
    return shuffle_batch(
        rows, batch_size, capacity, min_after_dequeue, num_threads, seed, many, shapes, allow_smaller_final_batch, None, name
    )


def _kept_lists(keep_input: Any, tensors_list: Any, enqueue_many: bool) -> Any:
    return [_kept(keep_input, each, enqueue_many)[0] for each in tensors_list]


def maybe_batch_join(
    tensors_list: Any, keep_input: Any, batch_size: int, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """`batch_join` of those elements for which `keep_input` holds."""
    lists = _kept_lists(keep_input, tensors_list, enqueue_many)
    return batch_join(lists, batch_size, capacity, True, shapes, dynamic_pad, allow_smaller_final_batch, shared_name, name)


def maybe_shuffle_batch_join(
    tensors_list: Any, batch_size: int, capacity: int, min_after_dequeue: int, keep_input: Any, seed: int | None = None,
    enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`shuffle_batch_join` of those elements for which `keep_input` holds."""
    lists = _kept_lists(keep_input, tensors_list, enqueue_many)
    return shuffle_batch_join(
        lists, batch_size, capacity, min_after_dequeue, seed, True, shapes, allow_smaller_final_batch, None, name
    )
