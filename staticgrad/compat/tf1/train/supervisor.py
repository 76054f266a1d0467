"""`Supervisor`: a session that is initialized or restored, with threads that save checkpoints and summaries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from .. import summary
from ..graph import GraphKeys, get_default_graph
from ..session import Session
from ..variables import global_variables_initializer, local_variables_initializer
from .saver import Saver
from .supervised import SessionManager
from .threads import Coordinator, LooperThread, start_queue_runners


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
        from . import get_global_step

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
        made: LooperThread = LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)
        return made

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


PUBLIC = ("Supervisor",)
