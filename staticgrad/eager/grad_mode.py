"""Per thread: whether operations are recorded, and whether gradients are checked for NaN."""

from __future__ import annotations

import contextvars
import functools
import inspect
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast, overload

import numpy as np

from ..errors import ArgumentError
from ..ops.operators import check_change
from .calls.call_cache import OF_THREAD, CallCache

Function = TypeVar("Function", bound=Callable[..., Any])


NOTED = 20_000
"""How many records of a thread note their lines."""
ELEMENTWISE = 2048
"""Elements from which a kernel beats NumPy's function of elements: below, the search for the kernel costs more."""


class Setting(NamedTuple):
    """Who computes eager operations. waits: whether the first call of an operation makes its plan; least: the number of
    elements from which elementwise operations look for a kernel; heavy: the same for all other single operations; whole: the
    same for plans of several operations, which are functions, backward passes and steps of optimizers; numpy: NumPy runs such
    plans, None for the thread's choice."""

    waits: bool = False
    least: int = sys.maxsize
    heavy: int = sys.maxsize
    whole: int = sys.maxsize
    numpy: bool | None = None


def kernels_setting(enabled: bool, wait: bool = False, least: int = 0, plans: bool = False) -> Setting:
    """The value of `Mode.kernels`: see `eager_kernels`."""
    most = max(least, 1)
    if enabled:
        return Setting(wait, max(least, ELEMENTWISE), most, most, False)
    return Setting(wait, whole=most, numpy=True) if plans else Setting(wait)


def _of_environment() -> Setting:
    """The setting that STATICGRAD_EAGER names: numpy, kernels, or wait, the latter two perhaps with ":" and the least number of
    elements."""
    text = os.environ.get("STATICGRAD_EAGER", "kernels")
    word, _, least = text.partition(":")
    if word not in ("numpy", "kernels", "wait") or not (least.isdecimal() or least == ""):
        raise ArgumentError(
            f"STATICGRAD_EAGER is {text!r}", "it has to be numpy, kernels or wait; kernels:1000 is for arrays of 1000 elements"
        )
    return kernels_setting(word != "numpy", word == "wait", int(least) if least else 0, plans=True)


DEFAULT = _of_environment()
"""The setting of new threads."""


anomaly_begins: list[Callable[[], None]] = []
"""What is called when a thread begins to detect anomalies: fast paths that look at no mode are left."""


class Mode:
    """grad: operations are recorded; anomaly: `detect_anomaly` is on, with check_nan: gradients are checked for NaN; arrays: a
    backward pass is computing on bare arrays, so ops of arrays give arrays; saver: takes over what operations save; apart:
    there is a saver, or anomaly is on, so that functions run op by op; watched: so it is, lines are noted, or there are tensors
    of `inference_mode`, which no record may save; engine: the
    backward pass under way; inference: inside `inference_mode`; quiet: calls a function with NumPy's floating-point warnings
    off. calls: see `call_cache.py`; passes: how many backward passes there were that may be plans; passing: when the latest
    call of a composite function began and ended that was recorded op by op because its plan waits.

    A record notes its line for errors of in-place changes. As that takes a tenth of an operation's time, it is done for the
    first `NOTED` records, in which a mistake of the program shows, after such an error, and while anomalies are detected.
    """

    waits: bool
    least: int
    heavy: int
    whole: int
    numpy: bool
    anomalous: ClassVar[int] = 0
    """Threads in which anomalies are detected."""

    __slots__ = (
        "_anomaly", "_left", "_saver", "apart", "arrays", "calls", "check_nan", "engine", "grad", "heavy", "inference", "least",
        "numpy", "others", "passes", "passing", "quiet", "waits", "watched", "whole",
    )  # fmt: skip

    def __init__(self) -> None:
        self.grad = True
        self._anomaly = False
        self._saver: Any = None
        self._left = NOTED
        self.check_nan = True
        self.engine: Any = None
        self.inference: Inference | None = None
        self.watched = True
        self.apart = False
        self.arrays = False
        self.numpy = DEFAULT.numpy is True
        self.calls, self.others = CallCache(OF_THREAD), CallCache(OF_THREAD)
        """What is known of calls; the same while the other one, kernels or NumPy, runs plans."""
        self.kernels = DEFAULT
        self.passes = 0
        self.passing = 0, 0
        # NumPy keeps its error state in a context variable. Entering a context that is ready takes 0.1 us, np.errstate
        # 1 us. The caller's own state is left alone.
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.quiet: Callable[..., Any] = context.run

    @property
    def kernels(self) -> Setting:
        """Who computes operations."""
        return Setting(self.waits, self.least, self.heavy, self.whole, self.numpy)

    @kernels.setter
    def kernels(self, value: Setting) -> None:
        self.waits, self.least, self.heavy, self.whole, numpy = value
        if numpy is not None and numpy is not self.numpy:
            self.numpy = numpy
            self.calls, self.others = self.others, self.calls

    @property
    def anomaly(self) -> bool:
        return self._anomaly

    @anomaly.setter
    def anomaly(self, value: bool) -> None:
        if value != self._anomaly:
            Mode.anomalous += 1 if value else -1
        self._anomaly = value
        self._watch()
        for begin in anomaly_begins if value else ():
            begin()

    @property
    def saver(self) -> Any:
        return self._saver

    @saver.setter
    def saver(self, value: Any) -> None:
        self._saver = value
        self._watch()

    def _watch(self) -> None:
        self.apart = self._anomaly or self._saver is not None
        self.watched = self.apart or self._left > 0 or bool(INFERRED)

    def notes_line(self) -> bool:
        """Whether a record that is made now notes its line."""
        if self._left > 0:
            self._left -= 1
            if not self._left:
                self._watch()
            return True
        return self._anomaly

    @contextmanager
    def taken_over(self) -> Iterator[None]:
        """Let this be the mode of the current thread, while the thread that it belongs to waits. NumPy's error state is the
        thread's own."""
        own, quiet = modes.now, self.quiet
        modes.now, self.quiet = self, own.quiet
        try:
            yield
        finally:
            modes.now, self.quiet = own, quiet

    def note_lines(self) -> None:
        """Note the lines of the next records."""
        self._left = NOTED
        self._watch()


class Modes(threading.local):
    """`now`: the mode of this thread (hot paths look a thread's attributes up once)."""

    def __init__(self) -> None:
        self.now = Mode()

    @property
    def grad(self) -> bool:
        return self.now.grad

    @grad.setter
    def grad(self, value: bool) -> None:
        self.now.grad = value


modes = Modes()


def is_grad_enabled() -> bool:
    """Whether operations in this thread are recorded.

    Examples:
        >>> with sg.no_grad():
        ...     sg.is_grad_enabled()
        False
    """
    return modes.now.grad


class _Decorator:
    """A context manager that is a decorator too: the mode holds while the function's body runs.

    For a function these are its calls. For a generator or a coroutine they are the steps between two yields: the code that
    waits there has its own mode.
    """

    def __call__(self, fn: Function) -> Function:
        make: Callable[[], Any] = self.again
        if not callable(fn):
            raise ArgumentError(f"{type(self).__name__} decorates functions, got {fn!r}")
        if inspect.isclass(fn):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions "
                "or methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` "
                "method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
        switched: Callable[..., Any]
        if inspect.isgeneratorfunction(fn):

            def switched(*args: Any, **kwargs: Any) -> Any:
                return (yield from _stepwise(fn(*args, **kwargs), make))

        elif inspect.iscoroutinefunction(fn):

            async def switched(*args: Any, **kwargs: Any) -> Any:
                return await _Awaited(fn(*args, **kwargs), make)

        elif inspect.isasyncgenfunction(fn):

            async def switched(*args: Any, **kwargs: Any) -> Any:
                body = fn(*args, **kwargs)
                step = body.__anext__()
                while True:
                    try:
                        value = await _Awaited(step, make)
                    except StopAsyncIteration:
                        return
                    try:
                        step = body.asend((yield value))
                    except GeneratorExit:
                        await _Awaited(body.aclose(), make)
                        raise
                    except BaseException as error:
                        step = body.athrow(error)

        else:

            def switched(*args: Any, **kwargs: Any) -> Any:
                with make():
                    return fn(*args, **kwargs)

        functools.update_wrapper(switched, fn, updated=() if inspect.isclass(fn) else functools.WRAPPER_UPDATES)
        return cast("Function", switched)

    def again(self) -> Self:
        """Another context manager of this kind, for one call."""
        return type(self)()


def _stepwise(body: Any, make: Callable[[], Any]) -> Generator[Any, Any, Any]:
    """The generator `body`, each of its steps inside a context of its own."""
    resume: Callable[[Any], Any] = body.send
    given: Any = None
    while True:
        try:
            with make():
                value = resume(given)
        except StopIteration as end:
            return end.value
        try:
            resume, given = body.send, (yield value)
        except GeneratorExit:
            with make():
                body.close()
            raise
        except BaseException as error:
            resume, given = body.throw, error


class _Awaited:
    """An awaitable that runs each step of `body` inside a context of its own."""

    def __init__(self, body: Any, make: Callable[[], Any]):
        self.body, self.make = body, make

    def __await__(self) -> Generator[Any, Any, Any]:
        return _stepwise(self.body.__await__(), self.make)


class set_grad_enabled(_Decorator):
    """Switch recording: as a statement for good, as a context manager until its end, as a decorator while the function runs."""

    def __init__(self, mode: bool):
        self.saved = modes.now.grad
        self.mode = modes.now.grad = bool(mode)

    def __call__(self, fn: Function) -> Function:
        modes.now.grad = self.saved  # not used as a statement
        return super().__call__(fn)

    def again(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        modes.now.grad = self.mode

    def __exit__(self, *error: Any) -> None:
        modes.now.grad = self.saved

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


class _Switch(_Decorator):
    """A recording mode; as a decorator, with or without parentheses."""

    enabled: bool

    @overload
    def __new__(cls, fn: None = None, /) -> Self: ...
    @overload
    def __new__(cls, fn: Function, /) -> Function: ...  # type: ignore[misc]
    def __new__(cls, fn: Callable[..., Any] | None = None, /) -> Any:
        return super().__new__(cls) if fn is None else cls()(fn)

    def __init__(self, fn: Callable[..., Any] | None = None, /):
        self.saved: list[bool] = []

    def __enter__(self) -> None:
        now = modes.now
        self.saved.append(now.grad)
        now.grad = self.enabled and not now.inference

    def __exit__(self, *error: Any) -> None:
        modes.now.grad = self.saved.pop()


class no_grad(_Switch):
    """Operations are not recorded: `with sg.no_grad(): ...`, or as a decorator.

    Examples:
        >>> w = sg.tensor(1.0, requires_grad=True)
        >>> with sg.no_grad():
        ...     y = w * 2
        >>> y.requires_grad
        False
    """

    enabled = False


class enable_grad(_Switch):
    """Operations are recorded, inside a `no_grad` too.

    Examples:
        >>> w = sg.ones(1, requires_grad=True)
        >>> with sg.no_grad(), sg.enable_grad():
        ...     (w * 2).requires_grad
        True
    """

    enabled = True


class inference_mode(_Decorator):
    """As `no_grad`, for code whose results are never trained through: `with sg.inference_mode(): ...`, or as a decorator.

    mode=False switches recording on again inside it. `x.is_inference()` tells tensors that were made inside. They can't require
    grad, nor be changed in place outside, nor be what an operation saves for its gradient.

    Examples:
        >>> w = sg.ones(1, requires_grad=True)
        >>> with sg.inference_mode():
        ...     (w * 2).requires_grad
        False
    """

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True):
        self.mode = mode
        self.saved: list[tuple[bool, Inference | None]] = []

    def again(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        now = modes.now
        self.saved.append((now.grad, now.inference))
        made = Inference() if self.mode else None
        if made is not None:
            INFERRED.append(weakref.ref(made))
        _infer(now, not self.mode, made)

    def __exit__(self, *error: Any) -> None:
        _infer(modes.now, *self.saved.pop())


INFERRING: list[Mode] = []
"""The modes of threads that are inside `inference_mode`: results without a record are marked only while there are some."""


class Inference:
    """What tensors hold that were made inside one `inference_mode`."""

    __slots__ = ("__weakref__",)


INFERRED: list[weakref.ref[Inference]] = []
"""As long as one of these lives, new records look for such tensors among what they save."""


def _infer(mode: Mode, grad: bool, inference: Inference | None) -> None:
    if inference and not mode.inference:
        INFERRING.append(mode)
    elif mode.inference and not inference:
        INFERRING.remove(mode)
    mode.grad, mode.inference = grad, inference
    forget_inferred(mode)


def mark_inference(out: Any) -> None:
    """Note that a tensor was made inside `inference_mode`, where it was."""
    if modes.now.inference:
        out._inference = modes.now.inference


def forget_inferred(mode: Mode) -> None:
    """Drop those that live no more."""
    if INFERRED:
        INFERRED[:] = [x for x in INFERRED if x() is not None]
    mode._watch()


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return modes.now.inference is not None


class eager_kernels(_Decorator):
    """Whether eager operations run the compiler's kernels: as a statement for good, as a context manager until its end, as a
    decorator while the function runs. It holds for this thread.

    enabled: kernels compute what recurs, from a certain call of an operation on, and NumPy the rest; False: NumPy computes
    everything, one operation after another. plans: then functions of several operations, backward passes and steps of
    optimizers that recur are plans of NumPy, which take half the time and may add gradients in another order. wait: the first
    call of an operation makes its plan, for benchmarks. Results don't depend on time with any of these. least: the number of
    elements from which operations look for a kernel or plan.

    The environment variable STATICGRAD_EAGER gives the setting that a process begins with: `kernels` (the default), `wait`,
    or `numpy`, with plans. Kernels agree with NumPy within the bounds of `docs/numerics.md`, not in the last bit.

    Examples:
        >>> x = sg.linspace(0, 1, 5)
        >>> with sg.eager_kernels(False):
        ...     y = sg.exp(x)
    """

    def __init__(self, enabled: bool = True, *, wait: bool = False, least: int = 0, plans: bool = False):
        self.saved = modes.now.kernels
        self.setting = modes.now.kernels = kernels_setting(bool(enabled), bool(wait), int(least), bool(plans))

    def __call__(self, fn: Function) -> Function:
        modes.now.kernels = self.saved  # not used as a statement
        return super().__call__(fn)

    def again(self) -> eager_kernels:
        made = object.__new__(eager_kernels)
        made.saved, made.setting = modes.now.kernels, self.setting
        return made

    def __enter__(self) -> None:
        modes.now.kernels = self.setting

    def __exit__(self, *error: Any) -> None:
        modes.now.kernels = self.saved


class detect_anomaly:
    """Record each operation's line, and raise AnomalyError at the first NaN that a backward function returns.

    A compiled step, or a run of a session, that ends in NaN is replayed in NumPy: the error names the operation that made the
    first one, its operands' ranges and its line, and the step has changed nothing.

    Examples:
        >>> x = sg.tensor(0.0, requires_grad=True)
        >>> with sg.detect_anomaly():
        ...     y = sg.sqrt(x * 0)
        ...     y.backward()
        Traceback (most recent call last):
            ...
        staticgrad.errors.AnomalyError: Function 'MulBackward0' returned nan values in its 0th output...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            UserWarning,
            stacklevel=2,
        )
        self.saved: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        check_change(None, "detect_anomaly is entered")
        now = modes.now
        self.saved.append((now.anomaly, now.check_nan))
        now.anomaly, now.check_nan = True, self.check_nan

    def __exit__(self, *error: Any) -> None:
        modes.now.anomaly, modes.now.check_nan = self.saved.pop()


class set_detect_anomaly:
    """Switch `detect_anomaly` on or off: as a statement for good, as a context manager until its end.

    Examples:
        >>> with sg.autograd.set_detect_anomaly(True):
        ...     sg.is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        check_change(None, "set_detect_anomaly")
        now = modes.now
        self.saved = now.anomaly, now.check_nan
        now.anomaly, now.check_nan = bool(mode), check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        modes.now.anomaly, modes.now.check_nan = self.saved


def is_anomaly_enabled() -> bool:
    """Whether `detect_anomaly` is on in this thread."""
    return modes.now.anomaly


def watches_nan() -> bool:
    """Whether a NaN in a compiled step of this thread is an error."""
    return modes.now.anomaly and modes.now.check_nan


def is_anomaly_check_nan_enabled() -> bool:
    """Whether gradients are checked for NaN in this thread."""
    return modes.now.check_nan
