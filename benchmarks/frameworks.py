"""What the implementations of several cases share: settings of the frameworks, and calls of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np

from .registry import Arrays, Case

OURS = ("compiled", "eager")
JAX = ("sync", "async")
"""Variants of JAX: with `jax_cpu_enable_async_dispatch` off, and as it comes."""
THREADS = ("1 thread", "2 threads")


def torch_variants(case: Case) -> tuple[str, ...]:
    """Threads only cost where arrays are small."""
    return THREADS if case.large else THREADS[:1]


def session_variants(case: Case) -> tuple[str, ...]:
    """The call only matters where steps are short."""
    return ("run",) if case.large else ("run", "callable")


def batches(data: Arrays, *names: str, place: Callable[[Any], Any] = np.asarray) -> Callable[[], tuple[Any, ...]]:
    """A function that gives the next batch: arrays of these names along their first axis, over and over."""
    values = [[place(part) for part in data[name]] for name in names]
    turns: Iterator[tuple[Any, ...]] = cycle(list(zip(*values, strict=True)))
    return turns.__next__


def labels_long(data: Arrays, *names: str) -> Arrays:
    """The data with arrays of these names as int64, which PyTorch wants its labels to be."""
    return data | {name: data[name].astype(np.int64) for name in names}


def mode(function: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """Our function of tensors as one of NumPy arrays: compiled, or eager."""
    import staticgrad as sg

    def of_arrays(*arrays: np.ndarray) -> Any:
        return function(*map(sg.from_numpy, arrays))

    return sg.compile(of_arrays) if backend == "compiled" else of_arrays


def values_of(call: Any, batch: Any) -> Any:
    """A step that passes the next vector to `call` and reads the value and the gradient as float and array."""

    def step() -> Any:
        value, gradient = call(*batch())
        return float(value), np.asarray(gradient)

    return step


def value_and_gradient(value_of: Callable[[Any], Any], backend: str) -> Callable[..., Any]:
    """Our function of a NumPy vector: what `value_of` a tensor is, and its gradient."""
    import staticgrad as sg

    def function(x: Any) -> Any:
        x.requires_grad_()
        value = value_of(x)
        return value, sg.grad(value, x)[0]

    return mode(function, backend)


def torch_value_and_gradient(value_of: Callable[[Any], Any]) -> Callable[[np.ndarray], Any]:
    """The same of PyTorch's."""
    import torch

    def call(vector: np.ndarray) -> Any:
        x = torch.from_numpy(vector).requires_grad_()
        value = value_of(x)
        return value.item(), torch.autograd.grad(value, x)[0].numpy()

    return call


def torch_compiled_value_and_gradient(value_of: Callable[[Any], Any]) -> Callable[[np.ndarray], Any]:
    """The same in one graph of torch.compile."""
    import torch

    compiled = torch_compiled(torch.func.grad_and_value(value_of))

    def call(vector: np.ndarray) -> Any:
        gradient, value = compiled(torch.from_numpy(vector))
        return value.item(), gradient.numpy()

    return call


def session(graph: Any, fetches: Any, feeds: list[Any], variant: str) -> tuple[Any, Callable[..., Any]]:
    """A session of the graph, its variables initialized, and a function of the feeds' values."""
    import staticgrad as sg

    with graph.as_default():
        initialize = sg.global_variables_initializer()
    sess = sg.Session(graph)
    sess.run(initialize)
    if variant == "callable":
        return sess, sess.make_callable(fetches, feeds)
    return sess, lambda *values: sess.run(fetches, dict(zip(feeds, values, strict=True)))


def tf1_for(backend: str) -> Any:
    """TensorFlow 1's dialect: ours, or TensorFlow's with what its second version changes turned off."""
    if backend == "tf1":
        import staticgrad.compat.tf1 as tf
    else:
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
    return tf


def tf1_session(tf: Any, fetches: Any, feeds: list[Any], variant: str) -> tuple[Any, Callable[..., Any]]:
    """A session of the default graph, its variables initialized, and a function of the feeds' values."""
    threads = {"intra_op_parallelism_threads": 1, "inter_op_parallelism_threads": 1} if "1 thread" in variant else {}
    sess = tf.Session(config=tf.ConfigProto(**threads))
    sess.run(tf.global_variables_initializer())
    if "callable" in variant:
        return sess, sess.make_callable(fetches, feeds)
    return sess, lambda *values: sess.run(fetches, dict(zip(feeds, values, strict=True)))


def jax_for(variant: str, *, float64: bool = False) -> tuple[Any, Any]:
    """(jax, jax.numpy) with settings made before anything runs."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_cpu_enable_async_dispatch", "async" in variant)
    jax.config.update("jax_enable_x64", float64)
    return jax, jnp


def jax_batches(variant: str, data: Arrays, *names: str) -> Callable[[], tuple[Any, ...]]:
    """As `batches`; variants with "placed" have them in JAX's memory beforehand."""
    import jax.numpy as jnp

    return batches(data, *names, place=jnp.asarray if "placed" in variant else np.asarray)


def torch_for(variant: str) -> Any:
    import torch

    torch.set_num_threads(2 if "2 threads" in variant else 1)
    return torch


def torch_compiled(function: Any) -> Any:
    """torch.compile for fixed shapes, graph breaks refused."""
    import torch

    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    return torch.compile(function, fullgraph=True, dynamic=False)


def pytensor_function(inputs: list[Any], outputs: Any, **options: Any) -> Any:
    """A function compiled by Numba: inputs not checked or copied, outputs not copied."""
    import pytensor

    listed = outputs if isinstance(outputs, list) else [outputs]
    outs = [pytensor.Out(output, borrow=True) for output in listed]
    function = pytensor.function(inputs, outs if isinstance(outputs, list) else outs[0], mode="NUMBA", **options)
    function.trust_input = True
    return function
