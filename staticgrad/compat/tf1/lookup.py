"""`tf.lookup`: tables from texts or integers to values. A session has the entries of its own, in memory of Python's; runs call
Python to look them up, between their plans.

An element of a tensor of strings is the number of a text, so that all keys are integers here.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import math, strings
from .arrays import size, where
from .control import group
from .core import TensorType, UnrankedType, lock, user_line, using
from .dtypes import DType, as_dtype, int64, numbers, string
from .errors import FailedPreconditionError, InvalidArgumentError
from .graph import GraphKeys, get_default_graph
from .handles import Handle, Operation
from .sparse import SparseTensor
from .tensor import kind_of, symbols, tensor

TABLES = GraphKeys.TABLE_INITIALIZERS


class TextFileIndex:
    """What a line of a file gives: itself, or its number."""

    WHOLE_LINE, LINE_NUMBER = -2, -1


class KeyValueTensorInitializer:
    """Entries from two tensors of one axis."""

    def __init__(self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None):
        with using(get_default_graph()):
            self.keys, self.values = (
                tensor(symbols(x), None if kind is None else as_dtype(kind).numpy)
                for x, kind in ((keys, key_dtype), (values, value_dtype))
            )
        self.key_dtype, self.value_dtype = _dtype_of(self.keys, key_dtype), _dtype_of(self.values, value_dtype)

    @property
    def operands(self) -> list[Any]:
        return [self.keys, self.values]

    def entries(self, arrays: Sequence[np.ndarray]) -> tuple[Any, Any]:
        keys, values = arrays
        if keys.shape != values.shape:
            raise InvalidArgumentError(f"keys and values cannot have different shapes: {keys.shape} and {values.shape}")
        return keys.ravel().tolist(), values.ravel().tolist()


def _dtype_of(x: Any, given: Any) -> DType:
    return as_dtype(given) if given is not None else as_dtype(kind_of(x))


class TextFileInitializer:
    """Entries from the lines of a file. key_index, value_index: of a column, or one of `TextFileIndex`. vocab_size: the number
    of lines that are read; all unless given."""

    def __init__(
        self, filename: Any, key_dtype: Any, key_index: int, value_dtype: Any, value_index: int, vocab_size: int | None = None,
        delimiter: str = "\t", name: str | None = None,
    ):  # fmt: skip
        for index, kind in ((key_index, key_dtype), (value_index, value_dtype)):
            if index == TextFileIndex.LINE_NUMBER and as_dtype(kind) is not int64:
                raise ValueError(f"Signature mismatch. Keys must be dtype {int64}, got {as_dtype(kind)}.")
            if index == TextFileIndex.WHOLE_LINE and as_dtype(kind) not in (string, int64):
                raise ValueError(f"Signature mismatch. Values must be dtype {string}, got {as_dtype(kind)}.")
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self.operands: list[Any] = []
        self._file, self._columns, self._size, self._delimiter = filename, (key_index, value_index), vocab_size, delimiter

    def entries(self, arrays: Sequence[np.ndarray]) -> tuple[Any, Any]:
        with open(self._file, "rb") as stream:
            lines = stream.read().splitlines()
        if self._size is not None:
            if len(lines) < self._size:
                raise InvalidArgumentError(f"Invalid vocab_size in {self._file}: expected {self._size} but got {len(lines)}")
            lines = lines[: self._size]
        kinds = self.key_dtype, self.value_dtype
        keys, values = (self._column(lines, index, kind) for index, kind in zip(self._columns, kinds, strict=True))
        return keys, values

    def _column(self, lines: Sequence[bytes], index: int, kind: DType) -> list[Any]:
        if index == TextFileIndex.LINE_NUMBER:
            return list(range(len(lines)))
        found = list(lines)
        if index != TextFileIndex.WHOLE_LINE:
            found = [line.split(self._delimiter.encode())[index] for line in lines]
        if kind is string:
            return list(numbers(found).tolist()) if found else []
        return [kind.numpy.type(x.decode()).item() for x in found]


class LookupInterface:
    """Base of the tables."""

    def __init__(self, key_dtype: Any, value_dtype: Any, name: str):
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._graph = get_default_graph()
        self.name = self._graph.scoped(name)
        self._rows: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
        self._lock = lock()

    def _of(self, session: Any, where: Any) -> dict[Any, Any]:
        found = self._rows.get(session)
        if found is None:
            raise FailedPreconditionError("Table not initialized.", where=where)
        return found

    def _call(self, operands: Sequence[Any], fn: Callable[..., Any], dtype: DType, shape: Any, name: str, type_: str) -> Handle:
        """A tensor of `fn(entries, *arrays)`."""
        where = user_line()

        def call(arrays: Sequence[np.ndarray], session: Any) -> list[np.ndarray]:
            with self._lock:
                return [np.asarray(fn(self._of(session, where), *arrays), dtype.numpy)]

        kind = UnrankedType(dtype.numpy) if shape is None else TensorType(shape, dtype.numpy)
        found: Handle = self._graph.host_call(operands, call, [kind], name, type_, with_session=True)[0]
        return found

    def _act(self, operands: Sequence[Any], act: Callable[..., None], name: str) -> Operation:
        """An operation that hands arrays and the session to `act`."""

        def run(arrays: Sequence[np.ndarray], session: Any) -> None:
            with self._lock:
                act(session, *arrays)

        made: Operation = self._graph.host_action(operands, run, name, with_session=True)
        return made

    def _operand(self, x: Any, dtype: DType) -> Any:
        if isinstance(x, Handle) and x.dtype is not dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {dtype}, got {x.dtype}.")
        with using(self._graph):
            return tensor(symbols(x), dtype.numpy)

    def size(self, name: str | None = None) -> Handle:
        """The number of entries, int64."""
        return self._call([], len, int64, (), name or f"{self.name}_Size", "LookupTableSizeV2")

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys, dense or sparse; `default_value` for others. Raises, in the run, FailedPreconditionError before
        the table is initialized."""
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values, name))
        x, default = self._operand(keys, self.key_dtype), self._operand(self.default_value, self.value_dtype)

        def find(rows: dict[Any, Any], keys: np.ndarray, default: np.ndarray) -> np.ndarray:
            other = default.item()
            found = [rows.get(key, other) for key in keys.ravel().tolist()]
            return np.array(found, self.value_dtype.numpy).reshape(keys.shape)

        shape = None if isinstance(x.node.type, UnrankedType) else x.node.type.shape
        return self._call([x, default], find, self.value_dtype, shape, name or f"{self.name}_Lookup", "LookupTableFindV2")

    default_value: Any


class StaticHashTable(LookupInterface):
    """Entries that an initializer gives, once in a session: `sess.run(tf.tables_initializer())`."""

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None):
        super().__init__(initializer.key_dtype, initializer.value_dtype, name or "hash_table")
        self.default_value = default_value
        self._initializer = initializer
        self.initializer = self._act(initializer.operands, self._enter, f"{self.name}_init")
        self._graph.add_to_collection(TABLES, self.initializer)

    @property
    def init(self) -> Operation:
        return self.initializer

    def _enter(self, session: Any, *arrays: np.ndarray) -> None:
        rows: dict[Any, Any] = {}
        for key, value in zip(*self._initializer.entries(arrays), strict=True):
            if rows.setdefault(key, value) != value:
                raise InvalidArgumentError(f"HashTable has different value for same key. Key {key} has {rows[key]} and {value}")
        self._rows[session] = rows


HashTable = StaticHashTable


class StaticVocabularyTable(LookupInterface):
    """Ids of texts: those of an initializer, and for all others one of `num_oov_buckets` after these, by their hash."""

    def __init__(self, initializer: Any, num_oov_buckets: int, lookup_key_dtype: Any = None, name: str | None = None):
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        if initializer is not None and initializer.value_dtype is not int64:
            raise TypeError("Invalid value dtype, expected int64.")
        kind = lookup_key_dtype or (string if initializer is None else initializer.key_dtype)
        super().__init__(kind, int64, name or "string_to_index")
        self.default_value, self._buckets = -1, num_oov_buckets
        self._table = None if initializer is None else StaticHashTable(initializer, -1, name or "hash_table")

    @property
    def initializer(self) -> Operation:
        return group() if self._table is None else self._table.initializer

    init = initializer

    def size(self, name: str | None = None) -> Any:
        return self._buckets if self._table is None else vars(math)["add"](self._table.size(name), self._buckets)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values, name))
        texts = keys if self.key_dtype is string else strings.as_string(keys)
        bucket = strings.to_hash_bucket_fast(texts, self._buckets)
        if self._table is None:
            return bucket
        found = self._table.lookup(keys, name)
        return where(vars(math)["less"](found, np.int64(0)), vars(math)["add"](bucket, self._table.size()), found)


class MutableHashTable(LookupInterface):
    """Entries that operations insert; it is empty at first. Values have `default_value`'s shape."""

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, shared_name: str | None = None,
        name: str = "MutableHashTable", checkpoint: bool = True,
    ):  # fmt: skip
        super().__init__(key_dtype, value_dtype, name)
        self.default_value = default_value
        if np.ndim(default_value):
            raise NotImplementedError("a table of vectors: keep their rows in a variable, and the numbers of rows in the table")
        self.initializer = group()

    def _of(self, session: Any, where: Any = None) -> dict[Any, Any]:
        return self._rows.setdefault(session, {})

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """An operation that enters values, over those that keys had."""

        def enter(session: Any, keys: np.ndarray, values: np.ndarray) -> None:
            values = np.broadcast_to(values, keys.shape)
            self._of(session).update(zip(keys.ravel().tolist(), values.ravel().tolist(), strict=True))

        operands = [self._operand(keys, self.key_dtype), self._operand(values, self.value_dtype)]
        return self._act(operands, enter, name or f"{self.name}_lookup_table_insert")

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """An operation after which these keys have no value."""

        def drop(session: Any, keys: np.ndarray) -> None:
            for key in keys.ravel().tolist():
                self._of(session).pop(key, None)

        return self._act([self._operand(keys, self.key_dtype)], drop, name or f"{self.name}_lookup_table_remove")

    def export(self, name: str | None = None) -> tuple[Handle, Handle]:
        """All keys, and their values."""
        label, kind = name or f"{self.name}_lookup_table_export_values", "LookupTableExportV2"
        keys = self._call([], lambda rows: list(rows), self.key_dtype, (None,), label, kind)
        values = self._call([], lambda rows: list(rows.values()), self.value_dtype, (None,), f"{label}_1", kind)
        return keys, values


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that initializes all tables of the graph."""
    return group(*get_default_graph().get_collection(TABLES), name=name)


initialize_all_tables = tables_initializer


def index_table_from_tensor(
    vocabulary_list: Any, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: Any = None,
    dtype: Any = string, name: str | None = None, mapping: Any = None,
) -> Any:  # fmt: skip
    """A table of the places of texts in a list; others get `default_value`, or one of the buckets after the list."""
    words = mapping if vocabulary_list is None else vocabulary_list
    if words is None:
        raise ValueError("vocabulary_list must be specified.")
    count = size(words, out_type=int64) if isinstance(words, Handle) else len(words)
    from .arrays import range_

    ids = range_(count, dtype=int64) if isinstance(words, Handle) else np.arange(count, dtype=np.int64)
    return _index_table(KeyValueTensorInitializer(words, ids, dtype, int64), num_oov_buckets, default_value, name)


def index_table_from_file(
    vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
    hasher_spec: Any = None, key_dtype: Any = string, name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:  # fmt: skip
    """The same for the lines of a file."""
    if not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    entries = TextFileInitializer(
        vocabulary_file, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter
    )
    return _index_table(entries, num_oov_buckets, default_value, name)


def _index_table(entries: Any, buckets: int, default_value: int, name: str | None) -> Any:
    if buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {buckets}.")
    if buckets:
        return StaticVocabularyTable(entries, buckets, name=name or "string_to_index")
    return StaticHashTable(entries, default_value, name or "string_to_index")


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: str = "UNK", name: str | None = None, mapping: Any = None
) -> StaticHashTable:
    """A table of the texts at the places of a list."""
    words = mapping if vocabulary_list is None else vocabulary_list
    ids = np.arange(len(words), dtype=np.int64)
    return StaticHashTable(KeyValueTensorInitializer(ids, words, int64, string), default_value, name or "index_to_string")


def index_to_string_table_from_file(
    vocabulary_file: Any, vocab_size: int | None = None, default_value: str = "UNK", name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER, value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:  # fmt: skip
    """The same for the lines of a file."""
    entries = TextFileInitializer(vocabulary_file, int64, key_column_index, string, value_column_index, vocab_size, delimiter)
    return StaticHashTable(entries, default_value, name or "index_to_string")
