"""`slim.learning`: an operation that trains, and the loop that runs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ... import math, summary
from ...arrays import identity
from ...gradients import IndexedSlices
from ...graph import GraphKeys, get_default_graph
from ...platform import info
from ...py_functions import check_numerics as checked
from ...train.decay import get_or_create_global_step
from ...train.supervised import Supervisor
from ...variables import trainable_variables

ops: Any = math  # its functions are made of records
_USE_GLOBAL_STEP = 0


def clip_gradient_norms(gradients_to_variables: Sequence[Any], max_norm: Any) -> list[Any]:
    """Each gradient scaled down to a norm of at most `max_norm`."""

    def clipped(g: Any) -> Any:
        if isinstance(g, IndexedSlices):
            return g.with_values(math.clip_by_norm(g.values, max_norm))
        return None if g is None else math.clip_by_norm(g, max_norm)

    return [(clipped(g), v) for g, v in gradients_to_variables]


def multiply_gradients(grads_and_vars: Sequence[Any], gradient_multipliers: dict[Any, Any]) -> list[Any]:
    """Gradients multiplied by the numbers of their variables, or of these variables' names."""
    if not gradient_multipliers:
        raise ValueError("gradient_multipliers is empty.")
    found = []
    for g, v in grads_and_vars:
        by = gradient_multipliers.get(v, gradient_multipliers.get(v.op.name))
        if by is not None and g is None:
            raise ValueError("Requested multiple of `None` gradient.")
        if by is not None:
            g = g.with_values(g.values * by) if isinstance(g, IndexedSlices) else g * by
        found.append((g, v))
    return found


def add_gradients_summaries(grads_and_vars: Sequence[Any]) -> list[Any]:
    """Summaries of the elements and the norms of gradients."""
    found = []
    for g, v in grads_and_vars:
        if g is not None:
            values = g.values if isinstance(g, IndexedSlices) else g
            found.append(summary.histogram(f"{v.op.name}/gradient", values))
            found.append(summary.scalar(f"{v.op.name}/gradient_norm", math.global_norm([values])))
    return found


def create_train_op(
    total_loss: Any, optimizer: Any, global_step: Any = _USE_GLOBAL_STEP, update_ops: Any = None,
    variables_to_train: Any = None, clip_gradient_norm: float = 0, summarize_gradients: bool = False, gate_gradients: int = 1,
    aggregation_method: Any = None, colocate_gradients_with_ops: bool = False, gradient_multipliers: Any = None,
    check_numerics: bool = True, transform_grads_fn: Callable[[list[Any]], list[Any]] | None = None,
) -> Any:  # fmt: skip
    """A tensor of the loss whose evaluation updates averages and takes a step of the optimizer."""
    graph = get_default_graph()
    step = get_or_create_global_step() if global_step is _USE_GLOBAL_STEP else global_step
    updates = graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
    if updates:
        with graph.control_dependencies(updates):
            total_loss = identity(total_loss, name="update_barrier")
    pairs = optimizer.compute_gradients(total_loss, variables_to_train or trainable_variables())
    if gradient_multipliers:
        pairs = multiply_gradients(pairs, gradient_multipliers)
    if clip_gradient_norm > 0:
        pairs = clip_gradient_norms(pairs, clip_gradient_norm)
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        add_gradients_summaries(pairs)
    done = optimizer.apply_gradients(pairs, global_step=step)
    if check_numerics:
        total_loss = checked(total_loss, "LossTensor is inf or nan")
    with graph.control_dependencies([done]):
        made = identity(total_loss, name="train_op")
    graph.add_to_collection(GraphKeys.TRAIN_OP, made)
    return made


def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: dict[str, Any]) -> tuple[Any, bool]:
    """One step: the loss, and whether it was the last."""
    start = time.time()
    loss = sess.run(train_op)
    asked = {key: train_step_kwargs[key] for key in ("should_log", "should_stop") if key in train_step_kwargs}
    step, found = sess.run([global_step, asked])
    if found.get("should_log"):
        info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, time.time() - start)
    return loss, bool(found.get("should_stop"))


def train(
    train_op: Any, logdir: str | None, train_step_fn: Callable[..., Any] = train_step, train_step_kwargs: Any = None,
    log_every_n_steps: int = 1, graph: Any = None, master: str = "", is_chief: bool = True, global_step: Any = None,
    number_of_steps: int | None = None, init_op: Any = Supervisor.USE_DEFAULT, init_feed_dict: Any = None,
    local_init_op: Any = Supervisor.USE_DEFAULT, init_fn: Any = None, ready_op: Any = Supervisor.USE_DEFAULT,
    summary_op: Any = Supervisor.USE_DEFAULT, save_summaries_secs: float = 600,
    summary_writer: Any = Supervisor.USE_DEFAULT, startup_delay_steps: int = 0, saver: Any = Supervisor.USE_DEFAULT,
    save_interval_secs: float = 600, sync_optimizer: Any = None, session_config: Any = None, session_wrapper: Any = None,
    trace_every_n_steps: int | None = None, ignore_live_threads: bool = False,
) -> Any:  # fmt: skip
    """Run `train_op` until `number_of_steps`, with checkpoints and summaries in `logdir`; the loss of the last step."""
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    graph = graph or get_default_graph()
    with graph.as_default():
        step = global_step if global_step is not None else get_or_create_global_step()
        supervisor = Supervisor(
            graph, ready_op, is_chief=is_chief, init_op=init_op, init_feed_dict=init_feed_dict, local_init_op=local_init_op,
            logdir=logdir, summary_op=summary_op, saver=saver, global_step=step, save_summaries_secs=save_summaries_secs,
            save_model_secs=save_interval_secs, summary_writer=summary_writer, init_fn=init_fn,
        )  # fmt: skip
        given: dict[str, Any] = {"logdir": logdir}
        if log_every_n_steps:
            given["should_log"] = ops.equal(ops.floormod(step, log_every_n_steps), 0)
        if number_of_steps is not None:
            given["should_stop"] = ops.greater_equal(step, number_of_steps)
        given |= train_step_kwargs or {}
    loss = None
    with supervisor.managed_session(master, session_config) as session:
        running = session if session_wrapper is None else session_wrapper(session)
        while not supervisor.should_stop():
            loss, last = train_step_fn(running, train_op, step, given)
            if last:
                supervisor.request_stop()
        if logdir and supervisor.saver is not None:
            supervisor.stop(close_summary_writer=False)  # a thread may still save an earlier step
            supervisor.saver.save(running, supervisor.save_path, step)
    return loss
