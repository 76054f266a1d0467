"""`slim.evaluation`: the metrics of a checkpoint."""

from __future__ import annotations

import time
from typing import Any

from ...graph import get_default_graph
from ...session import Session
from ...summary import FileWriter
from ...train.saver import Saver, latest_checkpoint
from ...variables import global_variables_initializer, local_variables_initializer


def evaluate_once(
    master: str, checkpoint_path: str, logdir: str | None = None, num_evals: int = 1, initial_op: Any = None,
    initial_op_feed_dict: Any = None, eval_op: Any = None, eval_op_feed_dict: Any = None, final_op: Any = None,
    final_op_feed_dict: Any = None, summary_op: Any = None, summary_op_feed_dict: Any = None, variables_to_restore: Any = None,
    session_config: Any = None, hooks: Any = None,
) -> Any:  # fmt: skip
    """The value of `final_op` after `num_evals` runs of `eval_op`, with the variables of a checkpoint."""
    graph = get_default_graph()
    start = [global_variables_initializer(), local_variables_initializer()]
    saver = Saver(variables_to_restore)
    with Session(graph=graph) as session:
        session.run(start)
        saver.restore(session, checkpoint_path)
        if initial_op is not None:
            session.run(initial_op, initial_op_feed_dict)
        if eval_op is not None:
            for _ in range(num_evals):
                session.run(eval_op, eval_op_feed_dict)
        if summary_op is not None and logdir:
            with FileWriter(logdir) as writer:
                writer.add_summary(session.run(summary_op, summary_op_feed_dict))
        return None if final_op is None else session.run(final_op, final_op_feed_dict)


def evaluation_loop(
    master: str, checkpoint_dir: str, logdir: str | None, num_evals: int = 1, eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None, timeout: float | None = None, **options: Any,
) -> Any:  # fmt: skip
    """`evaluate_once` of each checkpoint that appears in a folder, until so many were evaluated or none came for `timeout`
    seconds."""
    last, found, count, since = None, None, 0, time.monotonic()
    while max_number_of_evaluations is None or count < max_number_of_evaluations:
        newest = latest_checkpoint(checkpoint_dir)
        if newest is not None and newest != last:
            found, last, count, since = (
                evaluate_once(master, newest, logdir, num_evals, **options),
                newest,
                count + 1,
                time.monotonic(),
            )
        elif timeout is not None and time.monotonic() - since >= timeout:
            break
        elif max_number_of_evaluations is None or count < max_number_of_evaluations:
            time.sleep(min(eval_interval_secs, 1.0))
    return found
