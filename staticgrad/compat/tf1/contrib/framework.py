"""`tf.contrib.framework`: scopes of arguments, and variables by their collections and names."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import nest as nest
from ..arrays import placeholder
from ..control import group
from ..debugging import assert_same_float_dtype as assert_same_float_dtype
from ..debugging import assert_scalar as assert_scalar
from ..graph import GraphKeys, get_default_graph
from ..handles import Handle
from ..state import is_tensor as is_tensor
from ..train.decay import assert_global_step as assert_global_step
from ..train.decay import create_global_step as create_global_step
from ..train.decay import get_global_step as get_global_step
from ..train.decay import get_or_create_global_step as get_or_create_global_step
from ..train.saver import NewCheckpointReader
from ..train.saver import init_from_checkpoint as init_from_checkpoint
from ..train.saver import list_variables as list_variables
from ..train.saver import load_checkpoint as load_checkpoint
from ..train.saver import load_variable as load_variable
from ..variable_scopes import get_variable
from ..variables import Variable, assign

# scopes of arguments --------------------------------------------------------------------------------------------------

Scope = dict[Any, dict[str, Any]]
"""Arguments by the function that takes them."""
_SCOPES: list[Scope] = [{}]


def _key(func: Any) -> Any:
    """What stands for a function in scopes: that inside of its decorators."""
    return getattr(func, "_key_op", func)


def has_arg_scope(func: Any) -> bool:
    """Whether `arg_scope` can give a function arguments."""
    return hasattr(func, "_key_op")


def current_arg_scope() -> Scope:
    return _SCOPES[-1]


@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Scope]:
    """Let functions that `add_arg_scope` decorates have these arguments unless a call gives others. A scope that was kept is
    entered again.

    Raises TypeError for a list of other things, ValueError for a function that takes none and for a kept scope with arguments.
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling adictionary, kwargs must be empty.")
        made: Scope = dict(list_ops_or_scope)
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
        made = dict(current_arg_scope())
        for func in list_ops_or_scope:
            if not has_arg_scope(func):
                raise ValueError(f"{getattr(func, '__name__', func)} is not decorated with @add_arg_scope")
            made[_key(func)] = {**made.get(_key(func), {}), **kwargs}
    _SCOPES.append(made)
    try:
        yield made
    finally:
        _SCOPES.pop()


def add_arg_scope(func: Callable[..., Any]) -> Callable[..., Any]:
    """Let `arg_scope` give a function arguments."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**current_arg_scope().get(key, {}), **kwargs})

    key = _key(func)
    call._key_op = key  # type: ignore[attr-defined]
    return call


def arg_scoped_arguments(func: Any) -> list[str]:
    """The names of the arguments that scopes may give."""
    import inspect

    return [p.name for p in inspect.signature(func).parameters.values() if p.default is not p.empty]


# variables ------------------------------------------------------------------------------------------------------------


def add_model_variable(var: Any) -> None:
    """Enter a variable in the collection of model variables."""
    graph = get_default_graph()
    if var not in graph.get_collection(GraphKeys.MODEL_VARIABLES):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


@add_arg_scope
def variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None, trainable: bool = True,
    collections: Any = None, caching_device: Any = None, device: Any = None, partitioner: Any = None, custom_getter: Any = None,
    use_resource: Any = None, synchronization: Any = None, aggregation: Any = None,
) -> Any:  # fmt: skip
    """`tf.get_variable`, with collections beside that of global variables."""
    keys = list(dict.fromkeys([*(collections or [GraphKeys.GLOBAL_VARIABLES]), GraphKeys.GLOBAL_VARIABLES]))
    return get_variable(
        name, shape, dtype, initializer, regularizer, trainable, keys, partitioner=partitioner, custom_getter=custom_getter
    )


@add_arg_scope
def model_variable(name: str, *args: Any, collections: Any = None, **options: Any) -> Any:
    """`variable`, in the collection of model variables."""
    keys = [*(collections or []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(name, *args, collections=keys, **options)


def local_variable(initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: Any = None) -> Any:
    """A variable that is neither trained nor saved."""
    return Variable(initial_value, False, [GraphKeys.LOCAL_VARIABLES], validate_shape, name=name)


def global_variable(initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: Any = None) -> Any:
    """A variable that is not trained."""
    return Variable(initial_value, False, [GraphKeys.GLOBAL_VARIABLES], validate_shape, name=name)


def get_variables(scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES) -> list[Any]:
    """The variables of a collection: of a scope, with names that end in `suffix`."""
    prefix = getattr(scope, "name", scope)
    if suffix is not None:
        pattern = f"{prefix or ''}.*{suffix if ':' in suffix else suffix + ':'}"
        return get_default_graph().get_collection(collection, pattern)
    return get_default_graph().get_collection(collection, prefix)


def _of(key: str, doc: str) -> Callable[..., list[Any]]:
    def find(scope: Any = None, suffix: str | None = None) -> list[Any]:
        return get_variables(scope, suffix, key)

    find.__doc__ = doc
    return find


get_model_variables = _of(GraphKeys.MODEL_VARIABLES, "The model's variables; see `get_variables`.")
get_local_variables = _of(GraphKeys.LOCAL_VARIABLES, "The local variables; see `get_variables`.")
get_trainable_variables = _of(GraphKeys.TRAINABLE_VARIABLES, "The trained variables; see `get_variables`.")


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The variables of this name, without that of their scopes."""
    return get_variables(scope, rf"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The variable of a full name. Raises ValueError where there is none."""
    found = [v for v in get_variables() if v.op.name == var_op_name]
    if not found:
        raise ValueError(f"Variable {var_op_name} was not found")
    return found[0]


def get_variable_full_name(var: Any) -> str:
    return str(var.op.name)


def get_variables_to_restore(include: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> list[Any]:
    """Variables of the scopes `include`, all unless given, without those of the scopes `exclude`."""
    chosen = get_variables() if include is None else [v for scope in include for v in get_variables(scope)]
    left = {v for scope in exclude or [] for v in get_variables(scope)}
    return [v for v in dict.fromkeys(chosen) if v not in left]


def filter_variables(
    var_list: Sequence[Any], include_patterns: Sequence[str] | None = None, exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:  # fmt: skip
    """Variables whose names fit one of some patterns, and none of others."""
    find = re.search if reg_search else re.match

    def fits(v: Any, patterns: Sequence[str]) -> bool:
        return any(find(p, v.op.name) for p in patterns)

    chosen = [v for v in var_list if include_patterns is None or fits(v, include_patterns)]
    return [v for v in chosen if not fits(v, exclude_patterns or [])]


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """An operation that sets a variable to zeros."""
    return assign(ref, np.zeros(ref.shape.as_list(), ref.dtype.as_numpy_dtype), name=name)


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """An operation that gives variables values, by their full names, and what to feed it."""
    return _assigned([(get_unique_variable(name), value) for name, value in var_names_to_values.items()])


def _assigned(pairs: Sequence[tuple[Any, Any]]) -> tuple[Any, dict[Any, Any]]:
    feed, updates = {}, []
    for v, value in pairs:
        value = np.asarray(value)
        if list(value.shape) != v.shape.as_list():
            if value.size != v.shape.num_elements():
                raise ValueError(f"Total size of new array must be unchanged for {v.op.name}: {value.shape} to {v.shape}")
            value = value.reshape(v.shape.as_list())
        place = placeholder(v.dtype, v.shape, name=f"placeholder/{v.op.name}")
        updates.append(assign(v, place))
        feed[place] = value
    return group(*updates), feed


def _function_of(made: tuple[Any, dict[Any, Any]]) -> Callable[[Any], None]:
    op, feed = made
    return lambda session: session.run(op, feed)


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], None]:
    """A function of a session that gives variables values."""
    return _function_of(assign_from_values(var_names_to_values))


def assign_from_checkpoint(model_path: str, var_list: Any, ignore_missing_vars: bool = False) -> tuple[Any, dict[Any, Any]]:
    """An operation that gives variables the values of a checkpoint, and what to feed it. var_list: variables, or variables by
    the checkpoint's names. Raises ValueError for one that the checkpoint lacks, and for another number of elements."""
    chosen = var_list if isinstance(var_list, Mapping) else {v.op.name: v for v in var_list}
    reader = NewCheckpointReader(model_path)
    pairs = []
    for name, variables in chosen.items():
        if not reader.has_tensor(name):
            if not ignore_missing_vars:
                raise ValueError(f"Checkpoint is missing variable [{name}]")
            continue
        pairs += [(v, reader.get_tensor(name)) for v in (variables if isinstance(variables, list) else [variables])]
    return _assigned(pairs)


def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """A function of a session that gives variables the values of a checkpoint; None where it has none of them."""
    op, feed = assign_from_checkpoint(model_path, var_list, ignore_missing_vars)
    return _function_of((op, feed)) if feed else None


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """The tensor with a shape that is checked in the run."""
    from ..state import ensure_shape

    return ensure_shape(tensor, expected_shape)


def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """The tensor with the shape of another."""
    return with_shape(expected_tensor.shape, tensor) if isinstance(expected_tensor, Handle) else tensor


def deprecated(date: Any, instructions: str, warn_once: bool = True) -> Callable[..., Any]:
    """Accepted: a decorator that changes nothing."""
    return lambda func: func


def deprecated_args(*args: Any, **options: Any) -> Callable[..., Any]:
    """Accepted: a decorator that changes nothing."""
    return lambda func: func
