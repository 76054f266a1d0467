"""Sessions of the dialect: `static.Session` with TensorFlow's arguments and error classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

from . import graph as host
from .core import StaticgradError, static
from .errors import as_tensorflow
from .graph import Graph, get_default_graph


class Session:
    """Runs a graph, the default graph unless given, and owns the values of its variables.

    target and config are accepted: there is one machine, and numbers of threads are this process's. Random operations
    with a seed, their own or the graph's, begin their numbers anew in each session.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None):
        if isinstance(target, static.Graph):
            raise TypeError("the first argument of a session is its target: write tf.Session(graph=graph)")
        self._session = static.Session(get_default_graph() if graph is None else graph)
        self._watch = Growth(self._session.graph)

    @classmethod
    def over(cls, session: static.Session) -> Session:
        """A session of the dialect with the values of another."""
        made = cls.__new__(cls)
        made._session, made._watch = session, Growth(session.graph)
        return made

    @property
    def graph(self) -> Graph:
        return self._session.graph  # type: ignore[return-value]

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """The values of `fetches`: tensors, operations (None), variables, names, or nests of them.

        feed_dict: values for any tensors of the graph. run_metadata: gets the profile of the plan where options ask for a
        trace. Raises `tf.errors`, ValueError for a value of another shape than its tensor's, TypeError for another fetch.
        """
        if fetches is None:
            raise TypeError("Fetch argument None has invalid type <class 'NoneType'>")
        if self._watch.size != len(self._session.graph.nodes):
            self._watch.look()
        try:
            last: list[Any] = []
            found = host.run(self._session, fetches, feed_dict, last)
            if run_metadata is not None and getattr(options, "trace_level", None):
                run_metadata.profile = self._session.plan(*last).profile()
        except StaticgradError as error:
            raise as_tensorflow(error) from None
        return found

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> host.Parts:
        """A handle for `partial_run`: one run of these fetches and feeds in several parts."""
        return host.Parts(self._session, fetches, feeds or [])

    def partial_run(self, handle: host.Parts, fetches: Any, feed_dict: Any = None) -> Any:
        """Go on with a run: values of `fetches` with all that was fed so far. Each fetch and feed may be used once.

        Raises RuntimeError for those that were not announced, and `tf.errors.InvalidArgumentError` for a value that is fed
        again.
        """
        try:
            return handle.run(fetches, feed_dict)
        except StaticgradError as error:
            raise as_tensorflow(error) from None

    def list_devices(self) -> list[DeviceAttributes]:
        """The one device that there is."""
        return [DeviceAttributes("/job:localhost/replica:0/task:0/device:CPU:0", "CPU", 0, 0)]

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] | None = None) -> Callable[..., Any]:
        """A function of the values of `feed_list` that does what `run` does."""
        call = host.callable_of(self._session, fetches, feed_list or ())

        def run(*values: Any) -> Any:
            try:
                return call(*values)
            except StaticgradError as error:
                raise as_tensorflow(error) from None

        return run

    def run_steps(self, fetches: Any, batches: Any) -> Any:
        """Many runs in one native call; see `staticgrad.Session.run_steps`."""
        return self._session.run_steps(fetches, batches)

    def plan(self, fetches: Any, feed_dict: Any = None) -> Any:
        """The compiled plan of a run; see `staticgrad.Session.plan`."""
        return self._session.plan(fetches, feed_dict)

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        with self._session.as_default():
            yield self

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Session:
        self._session.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._session.__exit__(*exception)


class InteractiveSession(Session):
    """A session that is the default one from its making until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None):
        super().__init__(target, graph, config)
        self._default = self._session.as_default()
        self._default.__enter__()

    def close(self) -> None:
        self._default.__exit__(None, None, None)
        super().close()


def get_default_session() -> static.Session | None:
    """The session of the innermost `with` of this thread."""
    return static.get_default_session()


class ConfigProto(SimpleNamespace):
    """Accepted. Fields can be set and read; none has an effect on the CPU's plans."""

    def __init__(self, **fields: Any):
        super().__init__(**{"gpu_options": GPUOptions(), "graph_options": GraphOptions(), **fields})


class GPUOptions(SimpleNamespace):
    """Accepted."""


class GraphOptions(SimpleNamespace):
    """Accepted."""


class OptimizerOptions(SimpleNamespace):
    """Accepted."""

    L0, L1 = -1, 0
    OFF = DEFAULT = 0
    ON_1, ON_2 = 1, 2


class RunOptions(SimpleNamespace):
    """trace_level: anything but NO_TRACE measures the plan of a run; see `RunMetadata`. Other fields are accepted."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)

    def __init__(self, trace_level: int = 0, **fields: Any):
        super().__init__(trace_level=trace_level, **fields)


class RunMetadata:
    """profile: the times of the instructions of a run's plan, where the run's options asked for a trace."""

    def __init__(self) -> None:
        self.profile: Any = None

    step_stats = property(lambda self: self.profile)


class DeviceAttributes(NamedTuple):
    """A device of a session."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int


class Growth:
    """Warns of a program that adds operations to its graph between runs, by the same line again: each run compiles anew."""

    def __init__(self, graph: Any):
        self._graph = graph
        self._lines: set[Any] = set()
        self._known: int | None = None
        self.size = -1
        """The number of nodes at the last run."""

    def look(self) -> None:
        nodes = self._graph.nodes
        if self._known is not None:
            made = [n for n in nodes[self._known :] if self._graph.known(n) and n.where is not None]
            lines = dict.fromkeys(n.where for n in made)
            again = next((where for where in lines if where in self._lines), None)
            if again is not None and not self._graph.growth_told:
                self._graph.growth_told = True
                op = next(n for n in made if n.where == again)
                warnings.warn(
                    f"the graph grows between runs: {self._graph.name_of(op)!r} was made again at {again}\n"
                    "build the graph once, before the loop; each new operation is compiled anew (tf.get_default_graph()."
                    "finalize() makes this an error)",
                    stacklevel=3,
                )
            self._lines.update(lines)
        self._known = self.size = len(nodes)
