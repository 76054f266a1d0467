"""What happens around the runs of a monitored session: checkpoints, summaries, logs, an end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import replacing
from ..graph import GraphKeys, get_default_graph
from ..platform import info, warning
from ..session import RunOptions, Session
from .saver import Saver


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


class _Stepping(SessionRunHook):
    """A hook that reads the global step."""

    def begin(self) -> None:
        self.step = _global_step()

    def number(self, session: Session) -> int:
        """The step that a session has come to."""
        return int(session.run(self.step))


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
        return time.time() >= self.last[0] + (self.every_secs or 0)

    def reset(self) -> None:
        """Forget the last step."""
        self.last = None

    def last_triggered_step(self) -> int | None:
        return None if self.last is None else self.last[1]

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """(seconds, steps) since the one before."""
        now = time.time()
        found = (None, None) if self.last is None else (now - self.last[0], step - self.last[1])
        self.last = now, step
        return found


class StopAtStepHook(_Stepping):
    """Stop at a step, or after so many."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None):
        if (num_steps is None) == (last_step is None):
            raise ValueError("Exactly one of num_steps and last_step should be provided.")
        self.num_steps, self.last_step = num_steps, last_step

    def after_create_session(self, session: Session, coord: Any) -> None:
        if self.last_step is None:
            self.last_step = self.number(session) + (self.num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self.step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self.number(run_context.session) >= (self.last_step or 0):
            run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Log tensors every so many steps or seconds."""

    def __init__(self, tensors: Any, every_n_iter: int | None = None, every_n_secs: float | None = None,
                 at_end: bool = False, formatter: Callable[[Any], str] | None = None):  # fmt: skip
        if (every_n_iter is None) == (every_n_secs is None) and (every_n_iter is not None or not at_end):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self.tensors = tensors if isinstance(tensors, dict) else {str(getattr(t, "name", t)): t for t in tensors}
        self.formatter, self.at_end, self.count = formatter, at_end, 0
        never = every_n_iter is None and every_n_secs is None
        self.timer = None if never else SecondOrStepTimer(every_n_secs, every_n_iter)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self.due = self.timer is not None and self.timer.should_trigger_for_step(self.count)
        return SessionRunArgs(self.tensors) if self.due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self.due and self.timer is not None:
            self.timer.update_last_triggered_step(self.count)
            self._log(run_values.results)
        self.count += 1

    def end(self, session: Session) -> None:
        if self.at_end:
            self._log(session.run(self.tensors))

    def _log(self, values: Any) -> None:
        text = self.formatter(values) if self.formatter else ", ".join(f"{k} = {v}" for k, v in values.items())
        info(text)


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
            warning("Model diverged with loss = NaN.")
            run_context.request_stop()


class CheckpointSaverListener:
    """Called around the checkpoints of a `CheckpointSaverHook`. Subclasses override what they need."""

    def begin(self) -> None: ...

    def before_save(self, session: Session, global_step_value: int) -> None: ...

    def after_save(self, session: Session, global_step_value: int) -> bool | None:
        """True stops the training."""

    def end(self, session: Session, global_step_value: int) -> None: ...


class CheckpointSaverHook(_Stepping):
    """Save every so many steps or seconds, and at the end."""

    def __init__(self, checkpoint_dir: str, save_secs: float | None = None, save_steps: int | None = None,
                 saver: Saver | None = None, checkpoint_basename: str = "model.ckpt", scaffold: Any = None,
                 listeners: Sequence[CheckpointSaverListener] | None = None, save_graph_def: bool = True):  # fmt: skip
        self.listeners = list(listeners or ())
        self.path = os.path.join(checkpoint_dir, checkpoint_basename)
        self.saver, self.timer = saver, SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        super().begin()
        self.saver = self.saver or Saver()
        for listener in self.listeners:
            listener.begin()

    def after_create_session(self, session: Session, coord: Any) -> None:
        self._save(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self.timer.should_trigger_for_step(self.number(run_context.session)) and self._save(run_context.session):
            run_context.request_stop()

    def end(self, session: Session) -> None:
        if self.timer.last is None or self.timer.last[1] != self.number(session):
            self._save(session)
        for listener in self.listeners:
            listener.end(session, self.number(session))

    def _save(self, session: Session) -> bool:
        """Whether a listener asks to stop."""
        step = self.number(session)
        for listener in self.listeners:
            listener.before_save(session, step)
        assert self.saver is not None
        self.saver.save(session, self.path, global_step=step)
        self.timer.update_last_triggered_step(step)
        return True in [listener.after_save(session, step) for listener in self.listeners]  # each is called


class SummarySaverHook(_Stepping):
    """Write summaries every so many steps or seconds."""

    def __init__(self, save_steps: int | None = None, save_secs: float | None = None, output_dir: str | None = None,
                 summary_writer: Any = None, scaffold: Any = None, summary_op: Any = None):  # fmt: skip
        self.timer = SecondOrStepTimer(save_secs, save_steps)
        self.writer, self.directory, self.summary = summary_writer, output_dir, summary_op

    def begin(self) -> None:
        from .. import summary

        super().begin()
        self.writer = self.writer or summary.FileWriter(str(self.directory), get_default_graph())

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        step = self.number(run_context.session)
        self.due = self.timer.should_trigger_for_step(step)
        return SessionRunArgs([self.summary]) if self.due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self.due:
            step = self.number(run_context.session)
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
                info(f"global_step/sec: {steps / seconds:.6g}")


class FinalOpsHook(SessionRunHook):
    """Run something at the end; the results are `final_ops_values`."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None):
        self.final_ops, self.feeds = final_ops, final_ops_feed_dict
        self.final_ops_values: Any = None

    def end(self, session: Session) -> None:
        self.final_ops_values = session.run(self.final_ops, self.feeds)


class FeedFnHook(SessionRunHook):
    """Feed what a function gives in each run."""

    def __init__(self, feed_fn: Callable[[], Any]):
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(None, self.feed_fn())


class GlobalStepWaiterHook(_Stepping):
    """Wait with the first run until the global step has come to a number."""

    def __init__(self, wait_until_step: int):
        self.until = wait_until_step

    def begin(self) -> None:
        super().begin()
        self.waits = True

    def before_run(self, run_context: SessionRunContext) -> None:
        while self.waits and self.number(run_context.session) < self.until:
            time.sleep(0.5)
        self.waits = False


class ProfilerHook(_Stepping):
    """Write the profile of a run every so many steps or seconds: `timeline-<step>.txt`."""

    def __init__(self, save_steps: int | None = None, save_secs: float | None = None, output_dir: str = "",
                 show_dataflow: bool = True, show_memory: bool = False):  # fmt: skip
        self.timer, self.directory = SecondOrStepTimer(save_secs, save_steps), output_dir

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self.due = self.timer.should_trigger_for_step(self.number(run_context.session))
        return SessionRunArgs(None, None, RunOptions(trace_level=RunOptions.FULL_TRACE)) if self.due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self.due:
            step = self.number(run_context.session)
            self.timer.update_last_triggered_step(step)
            with replacing(os.path.join(self.directory, f"timeline-{step}.txt")) as file:
                file.write(str(run_values.run_metadata.profile).encode())
