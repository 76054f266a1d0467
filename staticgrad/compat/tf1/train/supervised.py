"""Training loops: sessions that restore and save themselves, hooks, and coordinators of threads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import logging
from ..errors import OutOfRangeError
from ..graph import GraphKeys, get_default_graph
from ..session import Session
from ..variables import global_variables_initializer, local_variables_initializer
from .saver import Saver, latest_checkpoint
from .threads import Coordinator, start_queue_runners


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class SessionRunArgs(NamedTuple):
    """What a hook adds to a run."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a hook gets from a run."""

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """One run, for hooks."""

    def __init__(self, original_args: SessionRunArgs, session: Session):
        self.original_args, self.session = original_args, session
        self.stop_requested = False

    def request_stop(self) -> None:
        self.stop_requested = True


class SessionRunHook:
    """Called around the runs of a monitored session. Subclasses override what they need."""

    def begin(self) -> None:
        """Before the graph is finalized."""

    def after_create_session(self, session: Session, coord: Any) -> None: ...

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None: ...

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None: ...

    def end(self, session: Session) -> None:
        """After the last run, unless it failed."""


def _global_step() -> Any:
    found = get_default_graph().get_collection(GraphKeys.GLOBAL_STEP)
    if not found:
        raise RuntimeError("Global step should be created to use this hook: tf.train.get_or_create_global_step().")
    return found[0]


class SecondOrStepTimer:
    """Says when `every_secs` seconds or `every_steps` steps have passed."""

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None):
        if (every_secs is None) == (every_steps is None):
            raise ValueError("Exactly one of every_secs and every_steps should be provided.")
        self.every_secs, self.every_steps = every_secs, every_steps
        self.last: tuple[float, int] | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        if self.last is None:
            return True
        if step == self.last[1]:
            return False
        if self.every_steps is not None:
            return step >= self.last[1] + self.every_steps
        return time.monotonic() >= self.last[0] + (self.every_secs or 0)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """(seconds, steps) since the one before."""
        now = time.monotonic()
        found = (None, None) if self.last is None else (now - self.last[0], step - self.last[1])
        self.last = now, step
        return found


class StopAtStepHook(SessionRunHook):
    """Stop at a step, or after so many."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None):
        if (num_steps is None) == (last_step is None):
            raise ValueError("Exactly one of num_steps and last_step should be provided.")
        self.num_steps, self.last_step = num_steps, last_step

    def begin(self) -> None:
        self.step = _global_step()

    def after_create_session(self, session: Session, coord: Any) -> None:
        if self.last_step is None:
            self.last_step = int(session.run(self.step)) + (self.num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self.step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if int(run_context.session.run(self.step)) >= (self.last_step or 0):
            run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Log tensors every so many steps or seconds."""

    def __init__(self, tensors: Any, every_n_iter: int | None = None, every_n_secs: float | None = None,
                 at_end: bool = False, formatter: Callable[[Any], str] | None = None):  # fmt: skip
        self.tensors = tensors if isinstance(tensors, dict) else {str(getattr(t, "name", t)): t for t in tensors}
        self.formatter, self.at_end, self.count = formatter, at_end, 0
        self.timer = SecondOrStepTimer(every_n_secs, every_n_iter)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self.due = self.timer.should_trigger_for_step(self.count)
        return SessionRunArgs(self.tensors) if self.due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self.due:
            self.timer.update_last_triggered_step(self.count)
            self._log(run_values.results)
        self.count += 1

    def end(self, session: Session) -> None:
        if self.at_end:
            self._log(session.run(self.tensors))

    def _log(self, values: Any) -> None:
        text = self.formatter(values) if self.formatter else ", ".join(f"{k} = {v}" for k, v in values.items())
        logging.info(text)


class NanTensorHook(SessionRunHook):
    """Stop, or fail, when the loss is not a number."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True):
        self.loss, self.fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self.loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if np.isnan(run_values.results):
            if self.fail:
                raise NanLossDuringTrainingError
            logging.warning("Model diverged with loss = NaN.")
            run_context.request_stop()


class CheckpointSaverHook(SessionRunHook):
    """Save every so many steps or seconds, and at the end."""

    def __init__(self, checkpoint_dir: str, save_secs: float | None = None, save_steps: int | None = None,
                 saver: Saver | None = None, checkpoint_basename: str = "model.ckpt", scaffold: Any = None,
                 listeners: Any = None):  # fmt: skip
        self.path = os.path.join(checkpoint_dir, checkpoint_basename)
        self.saver, self.timer = saver, SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        self.step = _global_step()
        self.saver = self.saver or Saver()

    def after_create_session(self, session: Session, coord: Any) -> None:
        self._save(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self.timer.should_trigger_for_step(int(run_context.session.run(self.step))):
            self._save(run_context.session)

    def end(self, session: Session) -> None:
        if self.timer.last is None or self.timer.last[1] != int(session.run(self.step)):
            self._save(session)

    def _save(self, session: Session) -> None:
        step = int(session.run(self.step))
        assert self.saver is not None
        self.saver.save(session, self.path, global_step=step)
        self.timer.update_last_triggered_step(step)


class SummarySaverHook(SessionRunHook):
    """Write summaries every so many steps or seconds."""

    def __init__(self, save_steps: int | None = None, save_secs: float | None = None, output_dir: str | None = None,
                 summary_writer: Any = None, scaffold: Any = None, summary_op: Any = None):  # fmt: skip
        self.timer = SecondOrStepTimer(save_secs, save_steps)
        self.writer, self.directory, self.summary = summary_writer, output_dir, summary_op

    def begin(self) -> None:
        from .. import summary

        self.step = _global_step()
        self.writer = self.writer or summary.FileWriter(str(self.directory), get_default_graph())

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        step = int(run_context.session.run(self.step))
        self.due = self.timer.should_trigger_for_step(step)
        return SessionRunArgs([self.summary]) if self.due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self.due:
            step = int(run_context.session.run(self.step))
            self.timer.update_last_triggered_step(step)
            self.writer.add_summary(run_values.results[0], step)

    def end(self, session: Session) -> None:
        self.writer.flush()


class StepCounterHook(SessionRunHook):
    """Log steps per second."""

    def __init__(self, every_n_steps: int = 100, every_n_secs: float | None = None, output_dir: str | None = None,
                 summary_writer: Any = None):  # fmt: skip
        self.timer = SecondOrStepTimer(every_n_secs, None if every_n_secs else every_n_steps)
        self.count = 0

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self.count += 1
        if self.timer.should_trigger_for_step(self.count):
            seconds, steps = self.timer.update_last_triggered_step(self.count)
            if seconds and steps:
                logging.info(f"global_step/sec: {steps / seconds:.6g}")


class FinalOpsHook(SessionRunHook):
    """Run something at the end; the results are `final_ops_values`."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None):
        self.final_ops, self.feeds = final_ops, final_ops_feed_dict
        self.final_ops_values: Any = None

    def end(self, session: Session) -> None:
        self.final_ops_values = session.run(self.final_ops, self.feeds)


class Scaffold:
    """What a monitored session begins with."""

    def __init__(self, init_op: Any = None, init_feed_dict: Any = None, init_fn: Any = None, ready_op: Any = None,
                 ready_for_local_init_op: Any = None, local_init_op: Any = None, summary_op: Any = None,
                 saver: Saver | None = None, copy_from_scaffold: Any = None):  # fmt: skip
        self.init_op, self.init_feed_dict, self.init_fn = init_op, init_feed_dict, init_fn
        self.local_init_op, self.summary_op, self.saver = local_init_op, summary_op, saver

    def finalize(self) -> Scaffold:
        self.init_op = self.init_op or global_variables_initializer()
        self.local_init_op = self.local_init_op or local_variables_initializer()
        return self


class MonitoredSession:
    """A session that initializes or restores its variables, and calls hooks around each run."""

    def __init__(self, session_creator: Any = None, hooks: Sequence[SessionRunHook] = (), stop_grace_period_secs: int = 120):
        creator = session_creator or ChiefSessionCreator()
        self._hooks = list(hooks)
        for hook in self._hooks:
            hook.begin()
        self._session: Session = creator.create_session()
        self._stop = False
        self._coordinator = Coordinator()
        start_queue_runners(self._session, self._coordinator)
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coordinator)

    @property
    def graph(self) -> Any:
        return self._session.graph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """`Session.run` between the hooks' `before_run` and `after_run`."""
        if self._stop and not self._session:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        wanted: dict[Any, Any] = {"": fetches}
        feeds = dict(feed_dict or {})
        for i, hook in enumerate(self._hooks):
            added = hook.before_run(context)
            if added is not None:
                wanted[i] = [] if added.fetches is None else added.fetches
                feeds.update(added.feed_dict or {})
        try:
            found = self._session.run(wanted, feeds)
        except OutOfRangeError:
            self._stop = True
            raise
        for i, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(found.get(i)))
        self._stop = self._stop or context.stop_requested
        return found[""]

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        return step_fn(self)

    def should_stop(self) -> bool:
        return self._stop

    def close(self) -> None:
        """Call the hooks' `end`, and close the session."""
        self._finish(None)

    def _finish(self, error: Any) -> None:
        try:
            if error is None or issubclass(error, (OutOfRangeError, StopIteration)):
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            self._session.close()

    def __enter__(self) -> MonitoredSession:
        return self

    def __exit__(self, kind: Any, *exception: object) -> bool:
        self._finish(kind)
        return kind is not None and issubclass(kind, (OutOfRangeError, StopIteration))


class ChiefSessionCreator:
    """Makes a session whose variables are restored from the last checkpoint, or initialized."""

    def __init__(self, scaffold: Scaffold | None = None, master: str = "", config: Any = None,
                 checkpoint_dir: str | None = None, checkpoint_filename_with_path: str | None = None):  # fmt: skip
        self.scaffold, self.directory, self.file = scaffold or Scaffold(), checkpoint_dir, checkpoint_filename_with_path

    def create_session(self) -> Session:
        scaffold = self.scaffold.finalize()
        saver = scaffold.saver or (Saver() if get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES) else None)
        get_default_graph().finalize()
        session = Session(graph=get_default_graph())
        path = self.file or (latest_checkpoint(self.directory) if self.directory else None)
        if path and saver is not None:
            saver.restore(session, path)
        else:
            session.run(scaffold.init_op, scaffold.init_feed_dict)
            if scaffold.init_fn:
                scaffold.init_fn(scaffold, session)
        session.run(scaffold.local_init_op)
        return session


WorkerSessionCreator = ChiefSessionCreator
SingularMonitoredSession = MonitoredSession


def MonitoredTrainingSession(
    master: str = "", is_chief: bool = True, checkpoint_dir: str | None = None, scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None, chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = "default", save_summaries_steps: Any = "default", save_summaries_secs: Any = "default",
    config: Any = None, stop_grace_period_secs: int = 120, log_step_count_steps: int | None = 100,
    max_wait_secs: int = 7200, save_checkpoint_steps: Any = "default", summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:  # fmt: skip
    """A monitored session that saves checkpoints (every 600 seconds) and summaries (every 100 steps) in `checkpoint_dir`, and
    begins with the last checkpoint there."""
    scaffold = scaffold or Scaffold()
    every = [*(hooks or []), *(chief_only_hooks or [])]
    if checkpoint_dir:
        if log_step_count_steps:
            every.append(StepCounterHook(log_step_count_steps))
        steps = None if save_checkpoint_steps == "default" else save_checkpoint_steps
        seconds = (None if steps else 600) if save_checkpoint_secs == "default" else save_checkpoint_secs
        if steps or seconds:
            every.append(CheckpointSaverHook(checkpoint_dir, None if steps else seconds, steps, scaffold.saver))
        summaries = _summaries(scaffold)
        rate = 100 if save_summaries_steps == "default" and save_summaries_secs == "default" else save_summaries_steps
        if summaries is not None and isinstance(rate, int):
            every.append(SummarySaverHook(rate, output_dir=summary_dir or checkpoint_dir, summary_op=summaries))
    return MonitoredSession(ChiefSessionCreator(scaffold, master, config, checkpoint_dir), every)


def _summaries(scaffold: Scaffold) -> Any:
    from .. import summary

    return scaffold.summary_op if scaffold.summary_op is not None else summary.merge_all()


PUBLIC = (
    "CheckpointSaverHook", "ChiefSessionCreator", "FinalOpsHook", "LoggingTensorHook", "MonitoredSession",
    "MonitoredTrainingSession", "NanLossDuringTrainingError", "NanTensorHook", "Scaffold", "SecondOrStepTimer",
    "SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues", "SingularMonitoredSession",
    "StepCounterHook", "StopAtStepHook", "SummarySaverHook", "WorkerSessionCreator",
)  # fmt: skip
