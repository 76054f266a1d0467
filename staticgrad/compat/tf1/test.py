# ruff: noqa: PT009, PT027  (these are methods of a unittest.TestCase)
"""`tf.test`: test cases with sessions and comparisons of arrays, and numeric gradients."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import tempfile
import time
import unittest
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock as mock

import numpy as np

from .core import ARM, X86
from .gradients import gradients
from .graph import Graph, reset_default_graph
from .handles import Handle, Operation
from .session import ConfigProto, Session, get_default_session


class TestCase(unittest.TestCase):
    """Each test begins with an empty default graph and the same random numbers; `session()` and `evaluate` run graphs."""

    __test__ = False  # subclasses are tests

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__test__ = True

    _cached: Any = None

    def setUp(self) -> None:
        np.random.seed(87654321)
        reset_default_graph()

    def tearDown(self) -> None:
        if self._cached is not None:
            self._cached.close()

    def get_temp_dir(self) -> str:
        """A folder of this test case."""
        return get_temp_dir()

    @contextmanager
    def session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Session]:
        """A session that is the default one, with its graph."""
        with Session(graph=graph, config=config) as made:
            yield made

    def test_session(self, *args: Any, **options: Any) -> Any:
        """`session`; by its name it would be a test, which is skipped."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")
        return self.session(*args, **options)

    @contextmanager
    def cached_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Session]:
        """The same session at each call in a test."""
        if self._cached is None:
            self._cached = Session(graph=graph, config=config)
        with self._cached.graph.as_default(), self._cached.as_default():
            yield self._cached

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in the default session, or in a session of this test."""
        default = get_default_session()
        if default is not None:
            from .handles import evaluate

            return evaluate(tensors)
        with self.cached_session() as session:
            return session.run(tensors)

    def _array(self, a: Any) -> Any:
        if isinstance(a, (Handle, Operation)):
            a = self.evaluate(a)
        return np.asarray(a)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Nests of arrays or tensors are near each other: |a - b| <= atol + rtol |b|."""
        if isinstance(a, Mapping):
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
            return
        if isinstance(a, (list, tuple)) and not _plain(a):
            self.assertEqual(len(a), len(b), msg)
            for x, y in zip(a, b, strict=True):
                self.assertAllClose(x, y, rtol, atol, msg)
            return
        np.testing.assert_allclose(self._array(a), self._array(b), rtol, atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6, float_atol: float = 1e-6,
        msg: str | None = None, **half: float,
    ) -> None:  # fmt: skip
        """`assertAllClose` with tolerances for float32."""
        single = np.float32 in (self._array(a).dtype, self._array(b).dtype)
        self.assertAllClose(a, b, max(rtol, float_rtol) if single else rtol, max(atol, float_atol) if single else atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, **options: Any) -> None:
        """Two arrays are not near each other."""
        try:
            self.assertAllClose(a, b, **options)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Two arrays are equal; NaN equals NaN."""
        np.testing.assert_array_equal(self._array(a), self._array(b), err_msg=msg or "")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Two arrays differ."""
        if np.array_equal(self._array(a), self._array(b)):
            raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def assertArrayNear(self, farray1: Sequence[float], farray2: Sequence[float], err: float, msg: str | None = None) -> None:
        """Two arrays differ by at most `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        self.assertAllClose(farray1, farray2, 0.0, err, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Two numbers differ by at most `err`."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1!r} != {f2!r} +/- {err!r} {msg or ''}")

    assertNDArrayNear = assertArrayNear

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """An array and a tensor have one shape."""
        a, b = (x.shape.as_list() if isinstance(x, Handle) else list(np.shape(x)) for x in (input_a, input_b))
        self.assertEqual(a, b, msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """A text begins with another one."""
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} does not start with {expected_start!r}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self.assertTrue((self._array(a) > comparison_target).all())

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self.assertTrue((self._array(a) < comparison_target).all())

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertTrue((self._array(a) >= comparison_target).all())

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertTrue((self._array(a) <= comparison_target).all())

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Each element is one of a set."""
        self.assertTrue(np.isin(self._array(target), list(expected_set)).all())

    @contextmanager
    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Iterator[None]:
        """An error of a run whose text fits a pattern."""
        from .errors import OpError

        with self.assertRaisesRegex(OpError, expected_err_re_or_predicate):
            yield

    @contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected_err_re_or_predicate: Any) -> Iterator[None]:
        """An exception whose text fits a pattern, or for which a function of it holds."""
        if callable(expected_err_re_or_predicate):
            with self.assertRaises(exception_type) as caught:
                yield
            self.assertTrue(expected_err_re_or_predicate(caught.exception))
        else:
            with self.assertRaisesRegex(exception_type, expected_err_re_or_predicate):
                yield


def _plain(value: Any) -> bool:
    """Whether a list is an array, not a nest of several."""
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except (ValueError, TypeError, NotImplementedError):
        return False


# gradients ------------------------------------------------------------------------------------------------------------


def compute_gradient(
    x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3, init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:  # fmt: skip
    """(derived, numeric) Jacobians of y by x, (size of x, size of y), in the default session; lists for a list of x.

    The numeric one is made of central differences of `delta`.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient: a default session is needed: `with tf.Session():`")
    for target in init_targets or ():
        target.run()
    if isinstance(x, list):
        values = x_init_value or [None] * len(x)
        return [
            compute_gradient(a, s, y, y_shape, v, delta, None, {**dict(extra_feed_dict or {}), **_others(x, values, a)})
            for a, s, v in zip(x, x_shape, values, strict=True)
        ]
    dtype = x.dtype.numpy
    start = np.random.random_sample(x_shape) if x_init_value is None else x_init_value
    start = np.asarray(start, dtype).reshape(x_shape)
    feeds = dict(extra_feed_dict or {})
    n, m = int(np.prod(x_shape)), int(np.prod(y_shape))
    from .arrays import placeholder

    with y.graph.as_default():
        seed = placeholder(y.dtype, y_shape)
        (slope,) = gradients(y, x, seed)
    derived, numeric = np.zeros((n, m), dtype), np.zeros((n, m), dtype)
    for column in range(m):
        weights = np.zeros(m, y.dtype.numpy)
        weights[column] = 1
        if slope is not None:
            given = _symbols({x: start, seed: weights.reshape(y_shape), **feeds})
            derived[:, column] = session.run(slope.symbol, given).ravel()
    for row in range(n):
        step = np.zeros(n, dtype)
        step[row] = delta
        up, down = (session.run(y.symbol, _symbols({x: start + s, **feeds})) for s in _both(step.reshape(x_shape)))
        numeric[row] = ((up - down) / (2 * delta)).ravel()
    return derived, numeric


def _both(step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return step, -step


def _others(tensors: list[Any], values: Any, own: Any) -> dict[Any, Any]:
    return {t: v for t, v in zip(tensors, values, strict=True) if t is not own and v is not None}


def _symbols(feeds: dict[Any, Any]) -> dict[Any, Any]:
    return {getattr(key, "symbol", key): value for key, value in feeds.items()}


def compute_gradient_error(
    x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3, init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:  # fmt: skip
    """The largest difference between derived and numeric Jacobian."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = found if isinstance(x, list) else [found]
    return max(float(np.abs(a - b).max()) if a.size else 0.0 for a, b in pairs)


# surroundings ---------------------------------------------------------------------------------------------------------

_folders: list[str] = []


def get_temp_dir() -> str:
    """A folder for the tests of this process, which is deleted at its end."""
    import atexit

    if not _folders:
        _folders.append(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, _folders[0], ignore_errors=True)
    return _folders[0]


def test_src_dir_path(relative_path: str) -> str:
    """A path below the working folder."""
    return os.path.join(os.getcwd(), relative_path)


def main(argv: Any = None) -> None:
    """Run the tests of the main module."""
    unittest.main(argv=argv)


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    return False


def is_cpu_target_available(target: str) -> bool:
    return platform.machine() in (X86 if target.startswith("x86") else ARM if target in ARM else (target,))


is_built_with_cuda = is_built_with_rocm = is_built_with_xla = is_built_with_gpu_support = lambda: False


def gpu_device_name() -> str:
    """The empty text: there is none."""
    return ""


def assert_equal_graph_def(actual: Any, expected: Any) -> None:
    """Raises AssertionError for two graphs of different operations."""
    first, second = ([(n.name, n.op, list(n.input)) for n in g.node] for g in (actual, expected))
    if first != second:
        raise AssertionError(f"the graphs differ: {set(map(str, first)) ^ set(map(str, second))}")


def disable_with_predicate(pred: Any, skip_message: str) -> Any:
    """A decorator that skips a test of a `TestCase` where `pred()` holds."""

    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if pred():
                self.skipTest(skip_message)
            return method(self, *args, **kwargs)

        return call

    return decorate


def with_eager_op_as_function(cls: type) -> type:
    """Accepted: graphs have no eager operations."""
    return cls


def benchmark_config() -> ConfigProto:
    """The settings of sessions that measure."""
    return ConfigProto()


class Benchmark:
    """Measures: `run_op_benchmark` gives the times of runs of an operation."""

    def run_op_benchmark(
        self, sess: Any, op_or_tensor: Any, feed_dict: Any = None, burn_iters: int = 2, min_iters: int = 10,
        store_trace: bool = False, store_memory_usage: bool = True, name: str | None = None, extras: Any = None,
        mbs: float = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """{"iters", "wall_time": the median in seconds, "name", "extras"}."""
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _ in range(min_iters):
            begin = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - begin)
        found = {"iters": min_iters, "wall_time": float(np.median(times)), "name": name, "extras": dict(extras or {})}
        self.report_benchmark(**found)
        return found

    def report_benchmark(self, **values: Any) -> None:
        """Print the measurement."""
        print(*(f"{key}: {value}" for key, value in values.items()), sep=", ")


class StubOutForTesting:
    """Replaces attributes until `UnsetAll`."""

    def __init__(self) -> None:
        self._former: list[tuple[Any, str, Any]] = []

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        self._former.append((parent, child_name, getattr(parent, child_name)))
        setattr(parent, child_name, new_child)

    SmartSet = Set

    def UnsetAll(self) -> None:
        while self._former:
            setattr(*self._former.pop())

    SmartUnsetAll = CleanUp = UnsetAll

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *exception: object) -> None:
        self.UnsetAll()
