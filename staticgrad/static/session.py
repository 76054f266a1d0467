"""Sessions: the values of a graph's variables, and running the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..base.interpreter import module
from ..base.tables import Bounded
from ..compiler.passes.rematerialize import check_budget
from ..compiler.passes.rewrite import Pass, check_passes
from ..compiler.passes.specialize import check_numerics
from ..errors import ArgumentError, FeedError, GraphError
from ..ir import Graph, Node
from ..ops.operators import Tensor, TensorLike, default_graph
from .dependencies import defaults
from .feeds import FedInParts, Feed, flatten, in_parts, is_flat
from .graphs import element, using
from .prepared_run import PreparedCall, Runner, Values, run_steps

if TYPE_CHECKING:
    from ..compiler.execute.plan import Plan
    from .dependencies import Operation

SHORTCUTS = 4096
"""Structures of fetches, and programs, that a session keeps, and as many that have gone longer without a run."""


class Session:
    """Runs a graph, the default graph unless given, and owns the values of its variables.

    Each session has its own values; several may run one graph, and several threads one session (they take turns).
    `with Session() as sess:` makes it the default for `tensor.eval()` and its graph the default graph, and closes it
    at the end. numerics: "fast", within the error bounds of docs/numerics.md; or "strict", the bits of eager mode at about
    its speed. passes: functions from a graph to a graph, called at the stage that `sg.graph_pass` names. memory_budget: of each
    plan, as for `sg.compile`. shard: "optimizer" divides the state of optimizers among the processes of `sg.distributed`, and
    gradients, as `apply_gradients` gets them, are averaged unless a sum over the processes gave them; with "gradients" each
    goes to the owner of its variable alone. All processes get the values that a variable's owner assigns.

    A session can be pickled, together with tensors of its graph: `pickle.dumps((session, x, y))`. Graph and values of variables
    travel; plans are made anew, or found in the kernel cache. Random numbers are those of the generator where it arrives.

    Raises ArgumentError when `graph` is no graph, for another `numerics` or `shard`, and DistError for `shard` before
    `init_process_group`.

    Examples:
        >>> x = sg.placeholder(sg.float32, [None])
        >>> y = sg.exp(x)
        >>> with sg.Session() as sess:
        ...     sess.run({"y": y, "total": sg.sum(y)}, {x: [0, 0]})
        {'y': array([1., 1.], dtype=float32), 'total': np.float32(2.0)}
    """

    def __init__(
        self, graph: Graph | None = None, *, numerics: str = "fast", passes: Sequence[Pass] = (),
        memory_budget: int | float | None = None, shard: str | None = None,
    ):  # fmt: skip
        if graph is not None and not isinstance(graph, Graph):
            raise ArgumentError(f"a session needs a graph, got {type(graph).__name__}", "sg.Session(graph=g)")
        self.graph = default_graph() if graph is None else graph
        self.numerics, self.passes = check_numerics(numerics), check_passes(passes)
        self.memory_budget = check_budget(memory_budget)
        self._sharding = None
        if shard is not None:
            self._sharding = module("staticgrad.static.prepared_run").Sharding(self.graph, shard)
        self._values = Values()
        self._steps: Bounded[PreparedCall] = Bounded(SHORTCUTS)
        self._runners: Bounded[Runner] = Bounded(SHORTCUTS)
        """By the nodes that are fetched and fed."""
        self._entered: list[ExitStack] = []

    def __reduce__(self) -> Any:
        """The graph and the values of its variables; plans are made where it arrives. Raises GraphError for a closed session,
        and for graphs that can't be pickled."""
        with self._values.lock:
            self._values.check_open()
            values = [(cell, array.copy()) for cell, array in self._values.store.items()]
        shard = None if self._sharding is None else self._sharding.shard
        return _arrived, (self.graph, self.numerics, self.passes, self.memory_budget, shard, values)

    # running ------------------------------------------------------------------------------------------------------

    @overload
    def run(self, fetches: Tensor, feed_dict: Mapping[Any, Any] | None = None) -> np.ndarray: ...
    @overload
    def run(self, fetches: Operation, feed_dict: Mapping[Any, Any] | None = None) -> None: ...
    @overload
    def run(self, fetches: Sequence[Tensor], feed_dict: Mapping[Any, Any] | None = None) -> Sequence[np.ndarray]: ...
    @overload
    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any: ...
    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """The values of `fetches`, which may be a tensor, an operation, an assign, a variable, a name, or lists,
        tuples, named tuples and dicts of these, nested: the result has the same structure.

        Tensors give NumPy arrays (fresh ones; NumPy scalars for no axes), assigns the new value, operations None.
        feed_dict: values for any tensors of the graph: a fed tensor is not computed. A contiguous ndarray of
        the right dtype is used as it is; numbers, lists, eager tensors and other arrays are converted where nothing
        but precision is lost.

        Raises FeedError for a missing or unfitting value, UninitializedError for a variable without a value,
        GraphError for fetches that are not of this graph, and errors of the ops. The variables are unchanged then.
        """
        kind = fetches.__class__
        keys = tuple(feed_dict) if feed_dict else ()
        try:
            step = self._steps[kind, tuple(fetches) if kind is list else fetches, keys]
        except TypeError:  # not hashable: a nested structure, whose key is made of its parts, or no tensor
            step = None
        if step is None:
            step = self._step(fetches, keys, feed_dict)
        return step(feed_dict.values() if feed_dict else ())

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] | None = None) -> Callable[..., Any]:
        """A function of one value per entry of `feed_list` that is equivalent to `run`, with the least overhead.

        Raises as `run` does: for the fetches and the feeds now, for the values when it is called.
        """
        keys = () if feed_list is None else tuple(feed_list)
        step = self._step(fetches, keys, None)
        count = len(keys)

        def call(*values: Any) -> Any:
            if len(values) != count:
                raise FeedError(f"this callable takes {count} values, one for each entry of its feed_list; got {len(values)}")
            return step(values)

        return call

    @overload
    def run_steps(self, fetches: Tensor, batches: Mapping[Any, Any]) -> np.ndarray: ...
    @overload
    def run_steps(self, fetches: Any, batches: Mapping[Any, Any]) -> Any: ...
    @overload
    def run_steps(self, fetches: Any, batches: Iterable[Mapping[Any, Any]]) -> list[Any]: ...
    def run_steps(self, fetches: Any, batches: Any) -> Any:
        """Many runs. `batches` is a feed dict of stacked values: one run per index of their leading axis, and the results
        have a leading axis, too. Or it is an iterable of feed dicts: `run(fetches, batch)` for each, and the list of the
        results.

        Runs with the same feeds and shapes are done in one native call; eager hyper-parameters are read at the start of it,
        and batches are taken from an iterable some 256 ahead. Random numbers are those of single runs.

        Raises FeedError for stacked values of different leading extents, and the errors of `run`, with the number of the step;
        the steps before it are done then, as after Ctrl-C.

        Examples:
            >>> x = sg.placeholder(sg.float32, [])
            >>> total = sg.Variable(0.0)
            >>> add = sg.assign(total, total + x)
            >>> with sg.Session() as sess:
            ...     sess.run(sg.global_variables_initializer())
            ...     sess.run_steps(add, {x: np.arange(4, dtype="float32")})
            array([0., 1., 3., 6.], dtype=float32)
        """
        return run_steps(lambda feed_dict: self._step(fetches, tuple(_mapping(feed_dict)), feed_dict), batches)

    def plan(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Plan:
        """The native plan that `run` of the same arguments uses; made, but not run, when there is none yet.

        It is inspected by `explain()`, `source()`, and, after a run, `profile()`. Raises the errors of `run` for the fetches
        and the feeds.
        """
        feeds = {} if feed_dict is None else _mapping(feed_dict)
        return self._step(fetches, tuple(feeds), feeds).plan(feeds.values())

    @property
    def plans(self) -> list[Plan]:
        """The plans that were made for the runs of this session; see `plan`."""
        with self._values.lock:
            programs = [runner.program for runner in self._runners.everything().values()]
            return [plan for program in programs for plan in program.plans.everything().values()]

    def load(self, variable: Tensor, value: TensorLike) -> None:
        """Set the value of a variable (or captured eager tensor) now. Raises FeedError for a wrong shape or dtype."""
        node = element(self.graph, variable)
        if node.op.leaf != "variable":
            raise GraphError(f"only variables can be loaded, got {variable!r}", "feed other tensors when you run")
        self._set({node: Feed(node).accept(value)})

    def _set(self, arrays: Mapping[Node, np.ndarray]) -> None:
        with self._values.lock:
            self._values.check_open()
            for node, array in arrays.items():
                cell = node.attrs["cell"]
                if cell in self._values.store:
                    self._values.store[cell][...] = array
                else:
                    self._values.store[cell] = array.copy()

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of the values that this session has, by the names of variables; the random generators of the graph's own are
        among them. `sg.save`, `sg.distributed.checkpoint` and `sg.fit` take it, the latter two the session itself.

        Examples:
            >>> w = sg.Variable([1.0, 2.0], name="w")
            >>> with sg.Session() as sess:
            ...     sess.run(sg.global_variables_initializer())
            ...     sess.state_dict()
            {'w': array([1., 2.], dtype=float32)}
        """
        with self._values.lock:
            self._values.check_open()
            store = self._values.store
            return {
                name: store[node.attrs["cell"]].copy()
                for name, node in self._state_nodes().items()
                if node.attrs["cell"] in store
            }

    def load_state_dict(self, state_dict: Mapping[str, TensorLike]) -> None:
        """Set the values that `state_dict` of a session of this graph gave; variables without an entry keep theirs. Raises
        GraphError for a name that the graph doesn't have, FeedError for a wrong shape or dtype; nothing is changed then."""
        nodes = self._state_nodes()
        if unknown := [name for name in state_dict if name not in nodes]:
            raise GraphError(f"the graph has no variable {unknown[0]!r}", f"it has {', '.join(nodes)}")
        self._set({nodes[name]: Feed(nodes[name]).accept(value) for name, value in state_dict.items()})

    def _state_nodes(self) -> dict[str, Node]:
        return {self.graph.name_of(node): node for node in self.graph.nodes if node.op.leaf == "variable"}

    # the way from structures to programs --------------------------------------------------------------------------

    def _step(self, fetches: Any, keys: tuple[Any, ...], feed_dict: Any) -> PreparedCall:
        """The step of a structure, from the cache or made."""
        parts = in_parts(keys) if keys else None
        if parts is not None:
            return FedInParts(self._step(fetches, parts[0], None), parts[1])  # type: ignore[return-value]
        leaves: list[Any] = []
        structure = flatten(fetches, leaves)
        nested = (structure, tuple(leaves), keys)
        try:
            known = self._steps[nested]
        except TypeError:  # something unhashable, which is no tensor: found out below
            known = None
        if known is not None:
            return known
        if feed_dict is not None:
            _mapping(feed_dict)
        with self._values.lock:
            self._values.check_open()
            wanted = [self._fetched(leaf) for leaf in leaves]
            step = self._made(wanted, self._fed(keys), structure)
            self._steps[nested] = step
            if is_flat(structure):
                self._steps[fetches.__class__, tuple(fetches) if fetches.__class__ is list else fetches, keys] = step
        return step

    def _made(self, wanted: list[Node], fed: tuple[Node, ...], structure: Any) -> PreparedCall:
        nodes = tuple(dict.fromkeys(wanted))
        runner = self._runners[nodes, fed]
        if runner is None:
            runner = self._runners[nodes, fed] = Runner(
                self._values, self.graph, nodes, fed, self.numerics, self.passes, self.memory_budget, self._sharding
            )
        return PreparedCall(runner, nodes, wanted, structure)

    def _fetched(self, fetch: Any) -> Node:
        try:
            return element(self.graph, fetch)
        except GraphError as error:
            raise GraphError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error.summary})", *error.details
            ) from None

    def _fed(self, keys: tuple[Any, ...]) -> tuple[Node, ...]:
        fed: dict[Node, Any] = {}
        for key in keys:
            try:
                node = element(self.graph, key)
            except GraphError as error:
                raise FeedError(
                    f"Cannot interpret feed_dict key as Tensor: {key!r}. ({error.summary})",
                    *(error.details or ("keys of a feed are tensors of the graph, or their names",)),
                ) from None
            if node.op.effect == "group":
                raise FeedError(f"Cannot interpret feed_dict key as Tensor: {key!r}. (An operation has no value.)")
            if node in fed:
                raise FeedError(f"Tensor '{self.graph.name_of(node)}' is fed twice, as {fed[node]!r} and as {key!r}")
            fed[node] = key
        return tuple(fed)

    # default and end ----------------------------------------------------------------------------------------------

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        """In this context and thread, `tensor.eval()` and `operation.run()` use this session. Does not close it."""
        defaults.sessions.append(self)
        try:
            yield self
        finally:
            defaults.sessions.pop()

    def close(self) -> None:
        """Drop the values of the variables. Later uses of the session raise GraphError."""
        with self._values.lock:
            self._values.closed = True
            self._values.store.clear()
            for runner in list(self._values.runners):
                runner.close()
            self._runners.clear()
            self._steps.clear()

    def __enter__(self) -> Session:
        self._values.check_open()
        with ExitStack() as stack:
            stack.enter_context(self.as_default())
            stack.enter_context(using(self.graph))
            self._entered.append(stack.pop_all())
        return self

    def __exit__(self, *exception: object) -> None:
        self._entered.pop().close()
        self.close()

    def __repr__(self) -> str:
        return f"<sg.Session of {self.graph!r}{', closed' if self._values.closed else ''}>"


def _arrived(
    graph: Graph, numerics: str, passes: Sequence[Pass], budget: int | float | None, shard: str | None, values: Any
) -> Session:
    """A session that was pickled."""
    session = Session(graph, numerics=numerics, passes=passes, memory_budget=budget, shard=shard)
    session._values.store.update(values)
    return session


def _mapping(feed_dict: Any) -> Mapping[Any, Any]:
    if not isinstance(feed_dict, Mapping):
        raise FeedError(f"feed_dict has to map tensors to values, got {type(feed_dict).__name__}", "write {placeholder: value}")
    return feed_dict
