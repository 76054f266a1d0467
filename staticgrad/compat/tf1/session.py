"""Sessions of the dialect: `static.Session` with TensorFlow's arguments and error classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from ... import manual_seed, static
from ...errors import StaticgradError
from . import host
from .errors import as_tensorflow
from .graph import Graph, get_default_graph


class Session:
    """Runs a graph, the default graph unless given, and owns the values of its variables.

    target and config are accepted: there is one machine, and numbers of threads are this process's. Each session begins
    the random numbers of a graph with a seed anew.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None):
        if isinstance(target, static.Graph):
            raise TypeError("the first argument of a session is its target: write tf.Session(graph=graph)")
        self._session = static.Session(get_default_graph() if graph is None else graph)
        seed = getattr(self._session.graph, "seed", None)
        if seed is not None:
            manual_seed(seed)

    @property
    def graph(self) -> Graph:
        return self._session.graph  # type: ignore[return-value]

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """The values of `fetches`: tensors, operations (None), variables, names, or nests of them.

        feed_dict: values for any tensors of the graph. options and run_metadata are accepted. Raises `tf.errors`,
        ValueError for a value of another shape than its tensor's, TypeError for a fetch that is none.
        """
        if fetches is None:
            raise TypeError("Fetch argument None has invalid type <class 'NoneType'>")
        try:
            return host.run(self._session, fetches, feed_dict)
        except StaticgradError as error:
            raise as_tensorflow(error) from None

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
        super().__init__(gpu_options=SimpleNamespace(), graph_options=SimpleNamespace(), **fields)


class GPUOptions(SimpleNamespace):
    """Accepted."""


class RunOptions(SimpleNamespace):
    """Accepted."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)


class RunMetadata(SimpleNamespace):
    """Accepted."""
