"""Sessions for training: they initialize or restore themselves, and call hooks around their runs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from .. import summary
from ..core import communicators
from ..errors import OutOfRangeError
from ..graph import GraphKeys, get_default_graph
from ..session import RunMetadata, Session
from ..state import report_uninitialized_variables
from ..variables import global_variables_initializer, local_variables_initializer
from .hooks import (
    CheckpointSaverHook,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepCounterHook,
    SummarySaverHook,
)
from .saver import Saver, latest_checkpoint
from .threads import Coordinator, LooperThread, start_queue_runners


class Scaffold:
    """What a monitored session begins with. `finalize` makes what is not given, and finds in the graph's collections what an
    earlier scaffold made."""

    def __init__(self, init_op: Any = None, init_feed_dict: Any = None, init_fn: Any = None, ready_op: Any = None,
                 ready_for_local_init_op: Any = None, local_init_op: Any = None, summary_op: Any = None,
                 saver: Saver | None = None, copy_from_scaffold: Any = None, local_init_feed_dict: Any = None):  # fmt: skip
        self.init_fn = init_fn
        self.init_op, self.init_feed_dict, self.local_init_feed_dict = init_op, init_feed_dict, local_init_feed_dict
        self.ready_op, self.ready_for_local_init_op = ready_op, ready_for_local_init_op
        self.local_init_op, self.summary_op, self.saver = local_init_op, summary_op, saver
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        if copy_from_scaffold is not None:
            for name, value in vars(copy_from_scaffold).items():
                if getattr(self, name) is None:
                    setattr(self, name, value)

    def finalize(self) -> Scaffold:
        from .. import summary

        keys = GraphKeys
        parts: dict[str, tuple[str, Callable[[], Any]]] = {
            "init_op": (keys.INIT_OP, global_variables_initializer),
            "ready_op": (keys.READY_OP, report_uninitialized_variables),
            "ready_for_local_init_op": (keys.READY_FOR_LOCAL_INIT_OP, report_uninitialized_variables),
            "local_init_op": (keys.LOCAL_INIT_OP, local_variables_initializer),
            "summary_op": (keys.SUMMARY_OP, summary.merge_all),
        }
        if get_default_graph().get_collection(keys.GLOBAL_VARIABLES):
            parts["saver"] = (keys.SAVERS, Saver)
        for name, (key, make) in parts.items():
            if getattr(self, name) is None:
                setattr(self, name, Scaffold.get_or_default(name, key, make))
        get_default_graph().finalize()
        return self

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The item of a collection, which is made and entered if there is none. Raises RuntimeError for several."""
        graph = get_default_graph()
        items = graph.get_collection(collection_key)
        if len(items) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by passing it to '
                f"the tf.Scaffold constructor as: tf.Scaffold({arg_name}=item to use)"
            )
        if items:
            return items[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made


class StepContext:
    """The argument of a function that `run_step_fn` calls."""

    def __init__(self, session: Session, run_with_hooks: Callable[..., Any]):
        self.session, self.run_with_hooks = session, run_with_hooks

    def request_stop(self) -> None:
        """End the function, and the training."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class MonitoredSession:
    """A session that initializes or restores its variables, and calls hooks around each run."""

    def __init__(self, session_creator: Any = None, hooks: Sequence[SessionRunHook] = (), stop_grace_period_secs: int = 120):
        creator = session_creator or ChiefSessionCreator()
        self._hooks = list(hooks)
        for hook in self._hooks:
            hook.begin()
        self._session: Session = creator.create_session()
        self._stop = self._closed = False
        self._coordinator = Coordinator()
        start_queue_runners(self._session, self._coordinator)
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coordinator)

    graph = property(lambda self: self._session.graph)

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """`Session.run` between the hooks' `before_run` and `after_run`."""
        if self._closed:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        wanted: dict[Any, Any] = {"": fetches}
        feeds = dict(feed_dict or {})
        for i, hook in enumerate(self._hooks):
            added = hook.before_run(context)
            if added is not None:
                wanted[i] = [] if added.fetches is None else added.fetches
                feeds.update(added.feed_dict or {})
                options = added.options or options
        run_metadata = run_metadata or RunMetadata()
        try:
            found = self._session.run(wanted, feeds, options, run_metadata)
        except OutOfRangeError:
            self._stop = True
            raise
        for i, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(found.get(i), options, run_metadata))
        self._stop = self._stop or context.stop_requested
        return found[""]

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """The result of `step_fn(step_context)`, whose context runs the session, with and without hooks, and may stop it."""
        names = list(inspect.signature(step_fn).parameters)
        if names not in (["step_context"], ["self", "step_context"]):
            raise ValueError(f"`step_fn` may either have one `step_context` argument, or be a method with it, got {names}")
        return step_fn(StepContext(self._session, self.run))

    def should_stop(self) -> bool:
        return self._stop or self._closed or self._coordinator.should_stop()

    def close(self) -> None:
        """Call the hooks' `end`, and close the session."""
        self._finish(None)

    def _finish(self, error: Any) -> None:
        try:
            if error is None or issubclass(error, (OutOfRangeError, StopIteration)):
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            self._closed = True
            self._session.close()

    def __enter__(self) -> MonitoredSession:
        if self._closed:
            raise RuntimeError("Session is already closed")
        return self

    def __exit__(self, kind: Any, *exception: object) -> bool:
        self._finish(kind)
        return kind is not None and issubclass(kind, (OutOfRangeError, StopIteration))


class SessionCreator:
    """Base of what makes sessions."""

    def create_session(self) -> Session:
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class ChiefSessionCreator(SessionCreator):
    """Makes a session whose variables are restored from the last checkpoint, or initialized."""

    def __init__(self, scaffold: Scaffold | None = None, master: str = "", config: Any = None,
                 checkpoint_dir: str | None = None, checkpoint_filename_with_path: str | None = None):  # fmt: skip
        self.scaffold, self.directory, self.file = scaffold or Scaffold(), checkpoint_dir, checkpoint_filename_with_path

    def create_session(self) -> Session:
        scaffold = self.scaffold.finalize()
        saver = scaffold.saver
        session = Session(graph=get_default_graph())
        path = self.file or (latest_checkpoint(self.directory) if self.directory else None)
        if path and saver is not None:
            saver.restore(session, path)
        else:
            session.run(scaffold.init_op, scaffold.init_feed_dict)
            if scaffold.init_fn:
                scaffold.init_fn(scaffold, session)
        session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
        if communicators.launched() > 1:
            from .cluster import share_variables

            share_variables(session)
        return session


class WorkerSessionCreator(ChiefSessionCreator):
    """Makes a session with initial values, or those of the first worker."""

    def __init__(self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, max_wait_secs: int = 1800):
        super().__init__(scaffold, master, config)


class SingularMonitoredSession(MonitoredSession):
    """`MonitoredSession` that makes its own session."""

    def __init__(
        self, hooks: Sequence[SessionRunHook] = (), scaffold: Scaffold | None = None, master: str = "", config: Any = None,
        checkpoint_dir: str | None = None, stop_grace_period_secs: int = 120, checkpoint_filename_with_path: str | None = None,
    ):  # fmt: skip
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks or (), stop_grace_period_secs)

    def raw_session(self) -> Session:
        """The session without hooks."""
        return self._session


class SessionManager:
    """Makes sessions that begin with a checkpoint or initial values."""

    def __init__(
        self, local_init_op: Any = None, ready_op: Any = None, ready_for_local_init_op: Any = None, graph: Any = None,
        recovery_wait_secs: int = 30, local_init_run_options: Any = None, local_init_feed_dict: Any = None,
    ):  # fmt: skip
        self._local_init_op, self._ready_op, self._graph = local_init_op, ready_op, graph
        self._feeds = local_init_feed_dict

    def recover_session(
        self, master: str = "", saver: Saver | None = None, checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None, wait_for_checkpoint: bool = False, max_wait_secs: int = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:  # fmt: skip
        """A session, and whether a checkpoint gave its variables their values."""
        session = Session(graph=self._graph or get_default_graph())
        path = checkpoint_filename_with_path or (latest_checkpoint(checkpoint_dir) if checkpoint_dir else None)
        restored = bool(path) and saver is not None
        if restored and saver is not None and path is not None:
            saver.restore(session, path)
            self._localize(session)
        return session, restored

    def prepare_session(
        self, master: str = "", init_op: Any = None, saver: Saver | None = None, checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None, wait_for_checkpoint: bool = False, max_wait_secs: int = 7200,
        config: Any = None, init_feed_dict: Any = None, init_fn: Any = None,
    ) -> Session:  # fmt: skip
        """A session whose variables have values: of a checkpoint, else of `init_op` and `init_fn(session)`. Raises
        RuntimeError where there is none of these."""
        session, restored = self.recover_session(master, saver, checkpoint_dir, checkpoint_filename_with_path)
        if not restored:
            if init_op is None and not init_fn:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                session.run(init_op, init_feed_dict)
            if init_fn:
                init_fn(session)
            self._localize(session)
        return session

    def wait_for_session(self, master: str = "", config: Any = None, max_wait_secs: float = float("inf")) -> Session:
        """A session: one process has no other to wait for."""
        return self.recover_session(master)[0]

    def _localize(self, session: Session) -> None:
        if self._local_init_op is not None:
            session.run(self._local_init_op, self._feeds)


def MonitoredTrainingSession(
    master: str = "", is_chief: bool = True, checkpoint_dir: str | None = None, scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None, chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = "default", save_summaries_steps: Any = "default", save_summaries_secs: Any = "default",
    config: Any = None, stop_grace_period_secs: int = 120, log_step_count_steps: int | None = 100,
    max_wait_secs: int = 7200, save_checkpoint_steps: Any = "default", summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:  # fmt: skip
    """A monitored session that saves checkpoints (every 600 seconds) and summaries (every 100 steps) in `checkpoint_dir`, and
    begins with the last checkpoint there. Of several workers the chief does so; the others have its variables."""
    scaffold = scaffold or Scaffold()
    if not is_chief:
        return MonitoredSession(WorkerSessionCreator(scaffold, master, config, max_wait_secs), list(hooks or []))
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


def basic_train_loop(supervisor: Any, train_step_fn: Callable[..., Any], args: Any = None, kwargs: Any = None,
                     master: str = "") -> None:  # fmt: skip
    """Call `train_step_fn(session, *args, **kwargs)` again and again until the supervisor says that it should stop."""
    with supervisor.managed_session(master) as session:
        while not supervisor.should_stop():
            train_step_fn(session, *(args or []), **(kwargs or {}))


# a session with threads that save checkpoints and summaries -----------------------------------------------------------


class Supervisor:
    """Training in one process: `managed_session` begins with the last checkpoint of `logdir`, or with initial values.

    Parts that are not given are made, and one that is None is left out: the initializer of all variables, a saver of them,
    the merged summaries, the global step. While the session runs, threads save a checkpoint every `save_model_secs` seconds and
    summaries every `save_summaries_secs` (0: never), the first at once. ready_op and recovery_wait_secs are accepted.
    """

    USE_DEFAULT: Any = 0

    def __init__(
        self, graph: Any = None, ready_op: Any = USE_DEFAULT, ready_for_local_init_op: Any = USE_DEFAULT, is_chief: bool = True,
        init_op: Any = USE_DEFAULT, init_feed_dict: Any = None, local_init_op: Any = USE_DEFAULT, logdir: str | None = None,
        summary_op: Any = USE_DEFAULT, saver: Any = USE_DEFAULT, global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120, save_model_secs: float = 600, recovery_wait_secs: int = 30,
        stop_grace_secs: int = 120, checkpoint_basename: str = "model.ckpt", session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT, init_fn: Callable[[Any], Any] | None = None, local_init_run_options: Any = None,
    ):  # fmt: skip
        from .decay import get_global_step

        self.graph = get_default_graph() if graph is None else graph

        def chosen(given: Any, make: Callable[[], Any]) -> Any:
            return make() if given is Supervisor.USE_DEFAULT else given

        with self.graph.as_default():
            self.init_op = chosen(init_op, global_variables_initializer)
            self.local_init_op = chosen(local_init_op, local_variables_initializer)
            self.saver = chosen(saver, lambda: Saver() if self.graph.get_collection(GraphKeys.GLOBAL_VARIABLES) else None)
            self.summary_op = chosen(summary_op, summary.merge_all)
            self.global_step = chosen(global_step, get_global_step)
        self.summary_writer = chosen(summary_writer, lambda: summary.FileWriter(logdir) if logdir else None)
        self.init_feed_dict, self.init_fn, self.is_chief = init_feed_dict, init_fn, is_chief
        self.save_summaries_secs, self.save_model_secs = save_summaries_secs, save_model_secs
        self.logdir, self.save_path = logdir, os.path.join(logdir, checkpoint_basename) if logdir else None
        self.coord, self._grace = Coordinator(), stop_grace_secs
        self.session_manager = session_manager or SessionManager(self.local_init_op, graph=self.graph)

    @property
    def session(self) -> SessionManager:
        """The manager of sessions."""
        return self.session_manager

    def prepare_or_wait_for_session(
        self, master: str = "", config: Any = None, wait_for_checkpoint: bool = False, max_wait_secs: int = 7200,
        start_standard_services: bool = True,
    ) -> Session:  # fmt: skip
        """A session whose variables have values, with its threads."""
        self.coord.clear_stop()
        if self.summary_writer is not None:
            self.summary_writer.reopen()
        session = self.session_manager.prepare_session(
            master, self.init_op, self.saver, self.logdir, init_feed_dict=self.init_feed_dict, init_fn=self.init_fn
        )
        if start_standard_services:
            self.start_standard_services(session)
        self.start_queue_runners(session)
        return session

    def start_standard_services(self, sess: Session) -> list[LooperThread]:
        """Begin to save checkpoints and summaries; returns the threads."""
        if self.logdir is None:
            return []
        if self.summary_writer is not None:
            self.summary_writer.add_graph(self.graph)
        services = []
        if self.summary_op is not None and self.save_summaries_secs:
            services.append((self.save_summaries_secs, self._save_summaries))
        if self.saver is not None and self.save_model_secs:
            services.append((self.save_model_secs, self._save))
        return [LooperThread.loop(self.coord, seconds, save, (sess,)) for seconds, save in services]

    def start_queue_runners(self, sess: Session, queue_runners: Any = None) -> list[Any]:
        """Start the threads of all queue runners, or those given."""
        if queue_runners is None:
            with self.graph.as_default():
                return start_queue_runners(sess, self.coord)
        return [t for runner in queue_runners for t in runner.create_threads(sess, self.coord, daemon=True, start=True)]

    StartStandardServices, StartQueueRunners = start_standard_services, start_queue_runners
    PrepareSession = prepare_or_wait_for_session

    @contextmanager
    def managed_session(
        self, master: str = "", config: Any = None, start_standard_services: bool = True, close_summary_writer: bool = True
    ) -> Iterator[Session]:
        """A session that ends with the threads; an OutOfRangeError ends it, other errors are raised."""
        with ExitStack() as end:
            end.callback(self.stop, close_summary_writer=close_summary_writer)
            try:
                session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
                end.callback(session.close)
                end.enter_context(session.as_default())
                yield session
            except Exception as error:
                self.request_stop(error)

    def loop(self, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None) -> LooperThread:
        """A thread that calls a function until the supervisor stops."""
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop."""
        self.coord.request_stop(ex)

    def should_stop(self) -> bool:
        return self.coord.should_stop()

    def wait_for_stop(self) -> None:
        self.coord.wait_for_stop()

    def stop(self, threads: Any = None, close_summary_writer: bool = True, ignore_live_threads: bool = False) -> None:
        """Stop and wait for all threads; raises what one of them reported."""
        self.coord.request_stop()
        try:
            self.coord.join(threads, self._grace, ignore_live_threads)
        finally:
            if close_summary_writer and self.summary_writer is not None:
                self.summary_writer.close()

    def summary_computed(self, sess: Session, summary: Any, global_step: Any = None) -> None:
        """Write a summary that the program computed. Raises RuntimeError without a writer."""
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        step = self._step(sess) if global_step is None else global_step
        self.summary_writer.add_summary(summary, step)

    Loop, RequestStop, ShouldStop, Stop, SummaryComputed, WaitForStop = (
        loop, request_stop, should_stop, stop, summary_computed, wait_for_stop,
    )  # fmt: skip

    def _step(self, sess: Session) -> int | None:
        return None if self.global_step is None else int(sess.run(self.global_step))

    def _save(self, sess: Session) -> None:
        self.saver.save(sess, self.save_path, self.global_step)

    def _save_summaries(self, sess: Session) -> None:
        if self.summary_writer is not None:
            self.summary_writer.add_summary(sess.run(self.summary_op), self._step(sess))
