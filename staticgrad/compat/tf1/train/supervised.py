"""Sessions for training: they initialize or restore themselves, and call hooks around their runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

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
from .threads import Coordinator, start_queue_runners


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

    @property
    def graph(self) -> Any:
        return self._session.graph

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
        return session


class WorkerSessionCreator(ChiefSessionCreator):
    """`ChiefSessionCreator`: one process has no other to wait for."""

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


def basic_train_loop(supervisor: Any, train_step_fn: Callable[..., Any], args: Any = None, kwargs: Any = None,
                     master: str = "") -> None:  # fmt: skip
    """Call `train_step_fn(session, *args, **kwargs)` again and again until the supervisor says that it should stop."""
    with supervisor.managed_session(master) as session:
        while not supervisor.should_stop():
            train_step_fn(session, *(args or []), **(kwargs or {}))


PUBLIC = (
    "ChiefSessionCreator", "MonitoredSession", "MonitoredTrainingSession", "Scaffold", "SessionCreator", "SessionManager",
    "SingularMonitoredSession", "WorkerSessionCreator", "basic_train_loop",
)  # fmt: skip
