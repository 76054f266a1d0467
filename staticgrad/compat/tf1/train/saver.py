"""Checkpoints: the values of variables in safetensors files, written at once or not at all.

A checkpoint `model-10` is the file `model-10.safetensors`. The file `checkpoint` beside it lists the checkpoints, in
TensorFlow's format. Checksums cover every tensor, so that damage is found before a variable changes.
"""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core import StaticgradError, get_default_session, replacing, safetensors
from ..dtypes import DType, as_dtype
from ..errors import InvalidArgumentError, NotFoundError
from ..gathering import where_v2
from ..graph import GraphKeys, get_default_graph
from ..layer import Layer
from ..meta_graph import export_meta_graph, import_meta
from ..platform import info
from ..state import has_value
from ..variable_scopes import tables_of
from ..variables import Variable, variables_initializer
from .optimizers import Optimizer

SUFFIX = ".safetensors"


class Saver:
    """Saves and restores variables.

    var_list: variables, or a dict of variables by their names in the file; all variables of the graph unless given. reshape:
    values of another shape are taken if they have as many elements.
    max_to_keep: older checkpoints are deleted; None or 0 keeps all. keep_checkpoint_every_n_hours: of those, one per so many
    hours stays.
    """

    def __init__(
        self, var_list: Any = None, reshape: bool = False, sharded: bool = False, max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
        saver_def: Any = None, builder: Any = None, defer_build: bool = False, allow_empty: bool = False, **options: Any,
    ):  # fmt: skip
        chosen = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES) if var_list is None else var_list
        named = chosen.items() if isinstance(chosen, Mapping) else [(None, v) for v in chosen]
        self._variables: dict[str, list[Variable]] = {}
        """By the names in the file: a variable, or the slices of one."""
        for given, item in named:
            for v in tables_of(item):
                if not isinstance(v, Variable):
                    raise TypeError(f"Variable to save is not a Variable: {v}")
                name = given or (v.op.name if v.save_slice is None else v.save_slice.full_name)
                known = self._variables.setdefault(name, [])
                if known and (v.save_slice is None or v in known):
                    raise ValueError(f"At least two variables have the same name: {name}")
                known.append(v)
        self._reshape = reshape
        if not self._variables and not allow_empty:
            raise ValueError("No variables to save")
        self._keep = max_to_keep or 0
        self._hours, self._next = keep_checkpoint_every_n_hours, time.time() + keep_checkpoint_every_n_hours * 3600
        self._kept: list[tuple[str, float]] = []
        self._meta: tuple[int, bytes] | None = None
        """The number of nodes of the graph, and its meta graph."""

    @property
    def last_checkpoints(self) -> list[str]:
        return [path for path, _ in self._kept]

    def save(
        self, sess: Any, save_path: str, global_step: Any = None, latest_filename: str | None = None,
        meta_graph_suffix: str = "meta", write_meta_graph: bool = True, write_state: bool = True,
        strip_default_attrs: bool = False, **options: Any,
    ) -> str:  # fmt: skip
        """Write a checkpoint; returns its path, `save_path-global_step` with a step. The folder is made where only it is
        missing. Raises ValueError where the folder around it is missing, too, and OSError."""
        if sess is None or not hasattr(sess, "run"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        if latest_filename and os.path.basename(latest_filename) != latest_filename:
            raise ValueError("'latest_filename' must not contain path components")
        path = os.fspath(save_path)
        if global_step is not None:
            step = global_step if isinstance(global_step, (int, np.integer)) else sess.run(global_step)
            path = f"{path}-{int(step)}"
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(os.path.dirname(folder) or os.curdir):
            raise ValueError(f"Parent directory of {path} doesn't exist, can't save.")
        values = {name: _whole(self._variables[name], found) for name, found in sess.run(self._variables).items()}
        if folder:
            os.makedirs(folder, exist_ok=True)
        sums = {name: str(zlib.crc32(np.ascontiguousarray(value).tobytes())) for name, value in values.items()}
        safetensors.save_file({name: np.asarray(value) for name, value in values.items()}, path + SUFFIX, sums)
        self._kept = [(known, at) for known, at in self._kept if known != path] + [(path, time.time())]
        if write_meta_graph:
            self._write_meta(f"{path}.{meta_graph_suffix}")
        old = self._too_many()
        if write_state:
            _write_state(folder, path, self.last_checkpoints, latest_filename)
        for other in old:  # last: until here the state file may name them
            for file in (other + SUFFIX, f"{other}.{meta_graph_suffix}"):
                with suppress(FileNotFoundError):
                    os.remove(file)
        return path

    def _write_meta(self, path: str) -> None:
        """The graph beside the checkpoint, where text can hold it; a log entry says why not."""
        graph = self._graph()
        known = len(graph.nodes)
        if self._meta is None or self._meta[0] != known:
            try:
                self._meta = known, export_meta_graph(graph=graph, saver_def=self.as_saver_def()).SerializeToString()
            except ValueError as error:
                info("%s is not written: %s", os.path.basename(path), error)
                self._meta = known, b""
        if self._meta[1]:
            with replacing(path) as file:
                file.write(self._meta[1])

    def export_meta_graph(self, filename: str | None = None, **options: Any) -> Any:
        """See `tf.train.export_meta_graph`; the names that this saver gives are part of it."""
        return export_meta_graph(filename, saver_def=self.as_saver_def(), graph=self._graph())

    def _graph(self) -> Any:
        return next((v.graph for parts in self._variables.values() for v in parts), get_default_graph())

    def as_saver_def(self) -> dict[str, str]:
        """The names in a checkpoint, and of the variables."""
        return {key: v.op.name for key, parts in self._variables.items() for v in parts[:1]}

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Take checkpoints for those that this saver wrote, so that it deletes them in time."""
        self._kept = [(path, 0.0) for path in last_checkpoints]

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """`set_last_checkpoints` of those that exist."""
        self.set_last_checkpoints([path for path in checkpoint_paths if checkpoint_exists(path)])

    def _too_many(self) -> list[str]:
        """The checkpoints to delete, of which the saver knows no longer."""
        gone = []
        while self._keep and len(self._kept) > self._keep:
            path, at = self._kept.pop(0)
            if at > self._next:
                self._next += self._hours * 3600
            else:
                gone.append(path)
        return gone

    def restore(self, sess: Any, save_path: str) -> None:
        """Give the variables their values of a checkpoint. The file is checked first: no variable changes when it is damaged
        or does not fit. Raises ValueError, NotFoundError, InvalidArgumentError."""
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fspath(save_path)
        if not checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        found = arrays_of(path)
        values: list[tuple[Variable, np.ndarray]] = []
        for name, variable in ((name, v) for name, parts in self._variables.items() for v in parts):
            if name not in found:
                raise NotFoundError(f"Key {name} not found in checkpoint", f"{path} has {', '.join(sorted(found))}")
            value = found[name] if variable.save_slice is None else _part(found[name], variable.save_slice)
            if self._reshape and value.size == variable.shape.num_elements():
                value = value.reshape(variable.node.type.shape)
            if list(value.shape) != variable.shape.as_list() or value.dtype != variable.dtype.numpy:
                raise InvalidArgumentError(
                    f"Assign requires shapes of both tensors to match. lhs shape= {variable.shape} rhs shape= {value.shape}",
                    f"{name} of {path} is {value.dtype}, the variable is {variable.dtype.name}",
                )
            values.append((variable, value))
        for variable, value in values:
            variable.load(value, sess)


def _whole(parts: list[Variable], values: list[np.ndarray]) -> np.ndarray:
    """The value of a variable from those of its slices. Raises ValueError where one is missing."""
    if parts[0].save_slice is None:
        return np.asarray(values[0])
    whole = np.empty(parts[0].save_slice.full_shape, values[0].dtype)
    if sum(np.size(v) for v in values) != whole.size:
        raise ValueError(f"Saver: {parts[0].save_slice.full_name} is saved whole: give all of its slices")
    for part, value in zip(parts, values, strict=True):
        part.save_slice.of(whole)[...] = value
    return whole


def _part(whole: np.ndarray, place: Any) -> np.ndarray:
    """A slice's part of a value; the value itself where its shape does not fit, which is told then."""
    return place.of(whole) if list(whole.shape) == place.full_shape else whole


def arrays_of(path: str) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint, also of one of TensorFlow's where that is installed. InvalidArgumentError: it is damaged."""
    if not os.path.isfile(path + SUFFIX):
        return _tensorflows(path)
    try:
        found = {name: tensor.numpy() for name, tensor in safetensors.load_file(path + SUFFIX).items()}
        sums = safetensors.metadata(path + SUFFIX)
    except StaticgradError as error:
        raise InvalidArgumentError(f"Unable to open table file {path}: Data loss", error.summary, *error.details) from None
    for name, value in found.items():
        if sums.get(name) != str(zlib.crc32(np.ascontiguousarray(value).tobytes())):
            raise InvalidArgumentError(f"Checksum does not match for {name} in {path}", "the file is damaged")
    return found


def _tensorflows(path: str) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint that TensorFlow wrote (`.index`, `.data-...`), read by that package."""
    try:
        from tensorflow.python.training import py_checkpoint_reader  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise InvalidArgumentError(
            f"{path} is a checkpoint of TensorFlow's", "reading it takes the tensorflow package: pip install tensorflow-cpu"
        ) from None
    try:
        reader = py_checkpoint_reader.NewCheckpointReader(path)
        return {name: np.asarray(reader.get_tensor(name)) for name in reader.get_variable_to_shape_map()}
    except Exception as error:
        raise InvalidArgumentError(f"Unable to open table file {path}: Data loss", str(error)) from None


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint of this name: ours, or one of TensorFlow's."""
    path = os.fspath(checkpoint_prefix)
    return os.path.isfile(path + SUFFIX) or os.path.isfile(path + ".index")


def _write_state(folder: str, latest: str, paths: list[str], filename: str | None) -> None:
    def shown(path: str) -> str:
        relative = os.path.relpath(path, folder or ".")
        return relative.replace("\\", "\\\\").replace('"', '\\"')

    lines = [f'model_checkpoint_path: "{shown(latest)}"']
    lines += [f'all_model_checkpoint_paths: "{shown(path)}"' for path in paths]
    with replacing(os.path.join(folder, filename or "checkpoint")) as file:
        file.write(("\n".join(lines) + "\n").encode())


class CheckpointState:
    """The newest checkpoint of a folder, and all that were kept."""

    def __init__(self, latest: str, paths: list[str]):
        self.model_checkpoint_path, self.all_model_checkpoint_paths = latest, paths


def _with(paths: list[str] | None, last: str) -> list[str]:
    return [*(paths or []), *([] if paths and last in paths else [last])]


def generate_checkpoint_state_proto(
    save_dir: str, model_checkpoint_path: str, all_model_checkpoint_paths: list[str] | None = None,
    all_model_checkpoint_timestamps: Any = None, last_preserved_timestamp: Any = None,
) -> CheckpointState:  # fmt: skip
    """A state in which paths in `save_dir` are relative to it."""
    paths = _with(all_model_checkpoint_paths, model_checkpoint_path)
    if not os.path.isabs(save_dir):
        return CheckpointState(os.path.relpath(model_checkpoint_path, save_dir), [os.path.relpath(p, save_dir) for p in paths])
    return CheckpointState(model_checkpoint_path, paths)


def update_checkpoint_state(
    save_dir: str, model_checkpoint_path: str, all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None, all_model_checkpoint_timestamps: Any = None, last_preserved_timestamp: Any = None,
) -> None:  # fmt: skip
    """Write the file `checkpoint` of a folder."""
    _write_state(save_dir, model_checkpoint_path, _with(all_model_checkpoint_paths, model_checkpoint_path), latest_filename)


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> CheckpointState | None:
    """What the file `checkpoint` of a folder says; None without one."""
    try:
        with open(os.path.join(checkpoint_dir, latest_filename or "checkpoint"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    entries = re.findall(r'^(\w+): "((?:[^"\\]|\\.)*)"$', text, re.MULTILINE)
    paths = [(key, os.path.join(checkpoint_dir, re.sub(r"\\(.)", r"\1", value))) for key, value in entries]
    latest = [path for key, path in paths if key == "model_checkpoint_path"]
    return CheckpointState(latest[0], [p for key, p in paths if key != "model_checkpoint_path"]) if latest else None


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The newest checkpoint of a folder; None where there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    return state.model_checkpoint_path if state and checkpoint_exists(state.model_checkpoint_path) else None


# reading checkpoints without a graph ----------------------------------------------------------------------------------

# Reading checkpoints without a graph, and variables that begin with the values of one.


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


class VocabInfo(NamedTuple):
    """The texts for which the rows of a variable stand, in order, by files with one in each line: now and in a checkpoint. A
    vocabulary is the first lines of its file, or all for -1; `num_oov_buckets` more rows are for all other texts. axis: 1 for
    columns. backup_initializer: of rows that the checkpoint lacks, which are zeros without one."""

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0

    def moved(self, value: np.ndarray, variable: Variable) -> Any:
        """The first value of a variable, by its value in the checkpoint. Raises ValueError for another shape."""
        new = _lines(self.new_vocab, self.new_vocab_size)
        old = _lines(self.old_vocab, self.old_vocab_size)
        number = {text: i for i, text in enumerate(old[: value.shape[self.axis]])}
        places = np.array([number.get(text, -1) for text in new] + [-1] * self.num_oov_buckets)
        rows, known = value.take(np.maximum(places, 0), self.axis), places >= 0
        if [*rows.shape] != variable.shape.as_list():
            raise ValueError(
                f"Shape of variable {variable.name} ({variable.shape}) doesn't match with {rows.shape}, which the vocabulary "
                f"of {self.new_vocab} and the checkpoint give."
            )
        known = known.reshape([-1 if axis == self.axis else 1 for axis in range(value.ndim)])
        if self.backup_initializer is None:
            return np.where(known, rows, 0)
        return where_v2(known, rows, self.backup_initializer(rows.shape, dtype=variable.dtype))


def _lines(file: str, count: int) -> list[str]:
    """The first lines of a file, or all for -1."""
    found = Path(file).read_text(encoding="utf-8").splitlines()
    return found if count < 0 else found[:count]


def warm_start(
    ckpt_to_initialize_from: str, vars_to_warm_start: Any = ".*", var_name_to_vocab_info: Any = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """`init_from_checkpoint` for the trainable variables whose names fit a pattern, or for a list of variables or patterns.

    var_name_to_vocab_info: by names of variables, how their rows or columns are found in the checkpoint; see `VocabInfo`.
    Raises ValueError for names that no variable has, and for a variable of another shape.
    """
    graph, former, vocabularies = get_default_graph(), var_name_to_prev_var_name or {}, dict(var_name_to_vocab_info or {})
    if isinstance(vars_to_warm_start, str):
        chosen = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, vars_to_warm_start)
    else:
        every = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        wanted = vars_to_warm_start or ()
        chosen = [v for v in every if any(v is w or (isinstance(w, str) and re.match(w, v.name)) for w in wanted)]
    named = {former.get(v.op.name, v.op.name): v for v in chosen}
    moved = {name: (v, vocabularies.pop(v.op.name)) for name, v in named.items() if v.op.name in vocabularies}
    if vocabularies:
        raise ValueError(f"warm_start: var_name_to_vocab_info has names that no variable has: {sorted(vocabularies)}")
    reader = load_checkpoint(ckpt_to_initialize_from)
    for name, (v, vocabulary) in moved.items():
        v.begin_with(vocabulary.moved(reader.get_tensor(name), v))
    init_from_checkpoint(ckpt_to_initialize_from, {name: v for name, v in named.items() if name not in moved})


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


# checkpoints of objects -----------------------------------------------------------------------------------------------

COUNTER = "save_counter"


def _variables(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Variable]]:
    """The variables of an object, and of what its attributes and items lead to, by their paths."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Variable):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _variables(item, f"{path}/{key}", seen)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _variables(item, f"{path}/{i}", seen)
    elif isinstance(value, Optimizer):
        for variable in value.variables():
            yield f"{path}/{variable.op.name}", variable
    elif isinstance(value, (Layer, Checkpoint)) or getattr(type(value), "__module__", "builtins") != "builtins":
        for key, item in vars(value).items() if hasattr(value, "__dict__") else ():
            if isinstance(item, (Variable, Mapping, list, tuple, Optimizer, Layer, Checkpoint)):
                yield from _variables(item, f"{path}/{key}", seen)


class Checkpoint:
    """Saves and restores the variables of the objects that are given by name: variables, optimizers, layers, and lists, dicts
    and attributes of these."""

    def __init__(self, root: Any = None, **kwargs: Any):
        if root is not None:
            kwargs["root"] = root
        self._objects = kwargs
        self.__dict__.update(kwargs)
        self.save_counter = Variable(np.int64(0), trainable=False, name=COUNTER, collections=[])

    def _all(self) -> dict[str, Variable]:
        return {path.lstrip("/"): v for path, v in _variables(self._objects, "", set())}

    def write(self, file_prefix: str, options: Any = None, session: Any = None) -> str:
        """Write a checkpoint of this name; returns its path."""
        saver = Saver({**self._all(), COUNTER: self.save_counter})
        return saver.save(_session(session), file_prefix, write_meta_graph=False, write_state=False)

    def save(self, file_prefix: str, session: Any = None, options: Any = None) -> str:
        """Write the checkpoint `file_prefix-N` and count; returns its path."""
        chosen = _session(session)
        self.save_counter.load(self._count(chosen) + 1, chosen)
        path = self.write(f"{file_prefix}-{self._count(chosen)}", session=chosen)
        update_checkpoint_state(os.path.dirname(path), path)
        return path

    def _count(self, session: Any) -> int:
        if not has_value(getattr(session, "_session", session), self.save_counter):
            self.save_counter.load(0, session)
        return int(session.run(self.save_counter))

    def read(self, save_path: str, options: Any = None) -> Restored:
        """See `restore`."""
        return self.restore(save_path)

    def restore(self, save_path: str | None, options: Any = None) -> Restored:
        """The values of a checkpoint for the variables of these objects: `run_restore_ops` or `initialize_or_restore` of the
        result gives them to a session, at once where there is a default one. Raises NotFoundError for no such checkpoint."""
        if save_path is None:
            return Restored(self._all(), {})
        if not checkpoint_exists(save_path):
            raise NotFoundError(
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {save_path}"
            )
        found = Restored({**self._all(), COUNTER: self.save_counter}, arrays_of(save_path))
        if get_default_session() is not None:
            found.run_restore_ops()
        return found


class Restored:
    """The values of a checkpoint, and the variables that they are for."""

    def __init__(self, variables: dict[str, Variable], values: dict[str, np.ndarray]):
        self._variables, self._values = variables, values

    def assert_consumed(self) -> Restored:
        """Raises AssertionError unless variables and values have the same names."""
        differing = (set(self._variables) ^ set(self._values)) - {COUNTER}
        if differing:
            raise AssertionError(f"Unresolved object in checkpoint: {', '.join(sorted(differing))}")
        return self

    def assert_existing_objects_matched(self) -> Restored:
        """Raises AssertionError for variables without a value."""
        missing = set(self._variables) - set(self._values) - {COUNTER}
        if missing:
            raise AssertionError(f"Object not assigned a value from checkpoint: {', '.join(sorted(missing))}")
        return self

    def expect_partial(self) -> Restored:
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Give the variables their values."""
        chosen = _session(session)
        for name, variable in self._variables.items():
            if name in self._values:
                variable.load(self._values[name], chosen)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Give the variables their values; those without one their initial ones."""
        chosen = _session(session)
        rest = [v for name, v in self._variables.items() if name not in self._values]
        if rest:
            chosen.run(variables_initializer(rest))
        self.run_restore_ops(chosen)


class CheckpointManager:
    """Keeps the last checkpoints of a folder."""

    def __init__(
        self, checkpoint: Checkpoint, directory: str, max_to_keep: int | None, keep_checkpoint_every_n_hours: Any = None,
        checkpoint_name: str = "ckpt", step_counter: Any = None, checkpoint_interval: int | None = None, init_fn: Any = None,
    ):  # fmt: skip
        self.checkpoint, self.directory, self._keep, self._name = checkpoint, directory, max_to_keep, checkpoint_name
        self._init_fn = init_fn
        os.makedirs(directory, exist_ok=True)
        state = get_checkpoint_state(directory)
        self.checkpoints: list[str] = [] if state is None else list(state.all_model_checkpoint_paths)

    @property
    def latest_checkpoint(self) -> str | None:
        return self.checkpoints[-1] if self.checkpoints else None

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None, session: Any = None) -> str:
        """Write the next checkpoint, and delete those that are too many; returns its path."""
        chosen, prefix = _session(session), os.path.join(self.directory, self._name)
        number = chosen.run(checkpoint_number) if hasattr(checkpoint_number, "graph") else checkpoint_number
        count = self.checkpoint._count(chosen) + 1
        self.checkpoint.save_counter.load(count, chosen)
        path = self.checkpoint.write(f"{prefix}-{count if number is None else int(number)}", session=chosen)
        self.checkpoints = [p for p in self.checkpoints if p != path] + [path]
        old = self.checkpoints[: -self._keep] if self._keep else []
        self.checkpoints = self.checkpoints[len(old) :]
        update_checkpoint_state(self.directory, path, self.checkpoints)
        for other in old:
            if os.path.exists(other + ".safetensors"):
                os.remove(other + ".safetensors")
        return path

    def restore_or_initialize(self, session: Any = None) -> str | None:
        """Restore the last checkpoint; without one, call `init_fn`. Returns its path, or None."""
        path = self.latest_checkpoint
        if path is not None:
            self.checkpoint.restore(path).run_restore_ops(session)
        elif self._init_fn is not None:
            self._init_fn()
        return path


class CheckpointOptions:
    """Accepted."""

    def __init__(self, **options: Any):
        self.__dict__.update(options)


def _session(session: Any) -> Any:
    """Raises RuntimeError without one."""
    chosen = get_default_session() if session is None else session
    if chosen is None:
        raise RuntimeError("a checkpoint of a graph needs a session: give one, or make it the default with `with sess:`")
    return chosen
