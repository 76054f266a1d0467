"""Reading checkpoints without a graph, and variables that begin with the values of one."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..dtypes import DType, as_dtype
from ..errors import NotFoundError
from ..graph import GraphKeys, get_default_graph
from ..meta_graph import import_meta
from ..variables import Variable
from .saver import SUFFIX, Saver, arrays_of, checkpoint_exists, latest_checkpoint


class CheckpointReader:
    """The arrays of a checkpoint by their names."""

    def __init__(self, path: str):
        if not checkpoint_exists(path):
            raise NotFoundError(f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {path}")
        self._arrays = arrays_of(path)

    def get_tensor(self, tensor_str: str) -> np.ndarray:
        """Raises `tf.errors.NotFoundError`."""
        if tensor_str not in self._arrays:
            raise NotFoundError(f"Key {tensor_str} not found in checkpoint")
        return self._arrays[tensor_str]

    def has_tensor(self, tensor_str: str) -> bool:
        return tensor_str in self._arrays

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(value.shape) for name, value in self._arrays.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        return {name: as_dtype(value.dtype) for name, value in self._arrays.items()}

    def debug_string(self) -> bytes:
        lines = [f"{name} ({value.dtype}) {list(value.shape)}" for name, value in sorted(self._arrays.items())]
        return "\n".join(lines).encode()


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """A reader of a checkpoint. Raises `tf.errors.NotFoundError` where there is none."""
    return CheckpointReader(os.fspath(filepattern))


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """A reader of a checkpoint, or of the newest one of a folder. Raises ValueError where there is none."""
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        found = latest_checkpoint(path)
        if found is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
        path = found
    return NewCheckpointReader(path)


def load_variable(ckpt_dir_or_file: str, name: str) -> np.ndarray:
    """One array of a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """(name, shape) of the arrays of a checkpoint, by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Mapping[str, Any]) -> None:
    """Let the initializers of variables give them the values of a checkpoint.

    assignment_map: names, or scopes that end in "/", of the checkpoint -> variables, their names, or scopes of the graph.
    Raises ValueError for a name or shape that does not fit.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    shapes = reader.get_variable_to_shape_map()
    graph = get_default_graph()
    known = {v.op.name: v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES)}
    pairs: list[tuple[str, Variable]] = []
    for source, target in assignment_map.items():
        if isinstance(source, str) and (source.endswith("/") or source == ""):
            prefix = "" if target == "/" else str(target)
            prefix = prefix if prefix.endswith("/") or not prefix else f"{prefix}/"
            own = "" if source == "/" else source
            inside = {name: v for name, v in known.items() if name.startswith(prefix)}
            pairs += [(own + name[len(prefix) :], v) for name, v in inside.items()]
        else:
            pairs.append((source, known[target] if isinstance(target, str) and target in known else target))
    for name, variable in pairs:
        if not isinstance(variable, Variable):
            raise ValueError(f"Assignment map with scope only name {name} should map to a variable, got {variable!r}")
        if name not in shapes:
            raise ValueError(f"Tensor {name} is not found in {ckpt_dir_or_file} checkpoint {sorted(shapes)}")
        if shapes[name] != variable.shape.as_list():
            raise ValueError(
                f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of tensor {name} "
                f"({shapes[name]}) from checkpoint reader."
            )
    for name, variable in pairs:
        variable.begin_with(reader.get_tensor(name))


def warm_start(
    ckpt_to_initialize_from: str, vars_to_warm_start: Any = ".*", var_name_to_vocab_info: Any = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """`init_from_checkpoint` for the trainable variables whose names fit a pattern, or for a list of variables or patterns."""
    graph, former = get_default_graph(), var_name_to_prev_var_name or {}
    if var_name_to_vocab_info:
        raise NotImplementedError("warm_start: vocabularies are texts, which no tensor holds")
    if isinstance(vars_to_warm_start, str):
        chosen = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, vars_to_warm_start)
    else:
        every = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        wanted = vars_to_warm_start or ()
        chosen = [v for v in every if any(v is w or (isinstance(w, str) and re.match(w, v.name)) for w in wanted)]
    init_from_checkpoint(ckpt_to_initialize_from, {former.get(v.op.name, v.op.name): v for v in chosen})


def checkpoints_iterator(
    checkpoint_dir: str, min_interval_secs: float = 0, timeout: float | None = None, timeout_fn: Any = None
) -> Iterator[str]:
    """The newest checkpoint of a folder, and each that is written later, until none comes for `timeout` seconds."""
    last = None
    while True:
        begun = time.monotonic()
        while (found := latest_checkpoint(checkpoint_dir)) in (None, last):
            if timeout is not None and time.monotonic() - begun > timeout:
                if timeout_fn is None or timeout_fn():
                    return
                begun = time.monotonic()
            time.sleep(0.1)
        last = found
        yield str(found)
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - begun)))


def get_checkpoint_mtimes(checkpoint_prefixes: Any) -> list[float]:
    """When checkpoints were written; those that don't exist are left out."""
    return [os.path.getmtime(p + SUFFIX) for p in checkpoint_prefixes if checkpoint_exists(p)]


def remove_checkpoint(checkpoint_prefix: str, checkpoint_format_version: Any = None, meta_graph_suffix: str = "meta") -> None:
    """Delete a checkpoint and its meta graph."""
    for path in (checkpoint_prefix + SUFFIX, f"{checkpoint_prefix}.{meta_graph_suffix}"):
        if os.path.exists(path):
            os.remove(path)


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **options: Any
) -> Saver | None:
    """Add a graph that `Saver.save` or `export_meta_graph` wrote to the default graph. Returns a saver of its variables; None
    where it has none. Raises OSError for a missing file, ValueError for another file."""
    meta, found = import_meta(meta_graph_or_file, import_scope)
    graph = get_default_graph()
    names = meta.saved
    if names is None:
        variables = {v["variable"]: v["variable"] for v in meta.collection_def.get(GraphKeys.GLOBAL_VARIABLES, ())}
        names = variables or None
    return None if names is None else Saver({key: graph.handle(found[name]) for key, name in names.items()})


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Write a graph to a file; returns its path."""
    os.makedirs(logdir, exist_ok=True)
    definition = graph_or_graph_def.as_graph_def() if hasattr(graph_or_graph_def, "as_graph_def") else graph_or_graph_def
    path = os.path.join(logdir, name)
    with open(path, "wb") as file:
        file.write(definition.SerializeToString())
    return path
