"""`tf.strings`: functions of tensors of strings, called in Python between the plans of a run. First the
hashes of their bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .core import TensorType, UnrankedType, apply, python_call_op, state, using
from .dtypes import DType, TensorShape, as_dtype, float32, int32, int64, numbers, string
from .elements import broadcast_static_shape
from .graph import MAKERS, get_default_graph
from .handles import Handle
from .py_functions import edges
from .tensor import as_texts, graph_of, reading, symbols, tensor

WORD = (1 << 64) - 1
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
SEED, MIX = 0xDECAFCAFFE, 0xC6A4A7935BD1E995


def _word(s: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(s[at : at + size], "little")


def _turned(x: int, bits: int) -> int:
    """Rotated to the right."""
    x &= WORD
    return (x >> bits) | (x << (64 - bits) & WORD)


def _mixed(x: int) -> int:
    x &= WORD
    return x ^ x >> 47


def _pair(u: int, v: int, mul: int) -> int:
    a = _mixed(((u ^ v) & WORD) * mul)
    return _mixed(((v ^ a) & WORD) * mul) * mul & WORD


def _up_to_16(s: bytes) -> int:
    n = len(s)
    if n >= 8:
        mul, a, b = K2 + 2 * n, _word(s, 0) + K2 & WORD, _word(s, n - 8)
        return _pair(_turned(b, 37) * mul + a & WORD, (_turned(a, 25) + b) * mul & WORD, mul)
    if n >= 4:
        return _pair(n + (_word(s, 0, 4) << 3), _word(s, n - 4, 4), K2 + 2 * n)
    if n > 0:
        y, z = s[0] + (s[n >> 1] << 8), n + (s[n - 1] << 2)
        return _mixed(y * K2 ^ z * K0) * K2 & WORD
    return K2


def _up_to_32(s: bytes) -> int:
    n = len(s)
    mul = K2 + 2 * n
    a, b, c, d = _word(s, 0) * K1, _word(s, 8), _word(s, n - 8) * mul, _word(s, n - 16) * K2
    return _pair(_turned(a + b, 43) + _turned(c, 30) + d & WORD, a + _turned(b + K2, 18) + c & WORD, mul)


def _up_to_64(s: bytes) -> int:
    n = len(s)
    mul = K2 + 2 * n
    a, b, c, d = _word(s, 0) * K2, _word(s, 8), _word(s, n - 8) * mul, _word(s, n - 16) * K2
    y = _turned(a + b, 43) + _turned(c, 30) + d & WORD
    z = _pair(y, a + _turned(b + K2, 18) + c & WORD, mul)
    e, f, g, h = _word(s, 16) * mul, _word(s, 24), (y + _word(s, n - 32)) * mul, (z + _word(s, n - 24)) * mul
    return _pair(_turned(e + f, 43) + _turned(g, 30) + h & WORD, e + _turned(f + a, 18) + g & WORD, mul)


def _weak(s: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(s, at + 8 * i) for i in range(4))
    a = a + w & WORD
    b = _turned(b + a + z, 21)
    c, a = a, a + x + y & WORD
    return a + z & WORD, b + _turned(a, 44) + c & WORD


def fingerprint(s: bytes) -> int:
    """FarmHash's Fingerprint64. Source: https://github.com/google/farmhash, `farmhashna::Hash64`."""
    n = len(s)
    if n <= 64:
        return _up_to_16(s) if n <= 16 else _up_to_32(s) if n <= 32 else _up_to_64(s)
    y = (81 * K1 + 113) & WORD
    z = _mixed(y * K2 + 113) * K2 & WORD
    v, w, x = (0, 0), (0, 0), 81 * K2 + _word(s, 0) & WORD
    end = (n - 1) // 64 * 64
    for at in [*range(0, end, 64), end + (n - 1 & 63) - 63]:
        last = at % 64 or at == end
        mul = K1 + ((z & 0xFF) << 1) if last else K1
        if last:
            first = w[0] + (n - 1 & 63) & WORD
            v = (v[0] + first & WORD, v[1])
            w = (first + v[0] & WORD, w[1])
        x = _turned(x + y + v[0] + _word(s, at + 8), 37) * mul & WORD
        y = _turned(y + v[1] + _word(s, at + 48), 42) * mul & WORD
        x ^= w[1] * 9 & WORD if last else w[1]
        y = y + (v[0] * 9 if last else v[0]) + _word(s, at + 40) & WORD
        z = _turned(z + w[0], 33) * mul & WORD
        v = _weak(s, at, v[1] * mul, x + w[0])
        w = _weak(s, at + 32, z + w[1], y + _word(s, at + 16))
        z, x = x, z
        if last:
            return _pair(_pair(v[0], w[0], mul) + _mixed(y) * K0 + z & WORD, _pair(v[1], w[1], mul) + x & WORD, mul)
    raise AssertionError("the last block returns")


def murmur(s: bytes) -> int:
    """MurmurHash64A with TensorFlow's seed: `tf.string_to_hash_bucket`. Source: A. Appleby, MurmurHash2."""
    whole = len(s) // 8 * 8
    h = SEED ^ len(s) * MIX & WORD
    for at in range(0, whole, 8):
        k = _mixed(_word(s, at) * MIX) * MIX & WORD
        h = (h ^ k) * MIX & WORD
    if whole < len(s):
        h = (h ^ _word(s, whole)) * MIX & WORD
    return _mixed(_mixed(h) * MIX)


def keyed(key: tuple[int, int], s: bytes) -> int:
    """SipHash-2-4. Source: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", 2012."""
    k0, k1 = (k & WORD for k in key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(count: int) -> None:
        a, b, c, d = v
        for _ in range(count):
            a, c = a + b & WORD, c + d & WORD
            b, d = _turned(b, 51) ^ a, _turned(d, 48) ^ c
            a = _turned(a, 32)
            c, a = c + b & WORD, a + d & WORD
            b, d = _turned(b, 47) ^ c, _turned(d, 43) ^ a
            c = _turned(c, 32)
        v[:] = a, b, c, d

    whole = len(s) // 8 * 8
    for m in [*(_word(s, at) for at in range(0, whole, 8)), _word(s, whole) | (len(s) & 0xFF) << 56]:
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


# functions of strings -------------------------------------------------------------------------------------------------


def call_python(inputs: Sequence[Any], fn: Callable[..., Any], dtype: DType, shape: TensorShape, name: str, type_: str) -> Any:
    """The tensor of `fn(*arrays)`, called in each run that needs it. In the body of a loop or branch it needs a known shape."""
    graph = graph_of(inputs)
    graph.check_open()
    with using(graph):
        given = [tensor(x) for x in symbols(list(inputs))]
        read = reading(given, lambda arrays: fn(*arrays))

        def call(arrays: Sequence[np.ndarray]) -> np.ndarray:
            found = read(arrays)
            return numbers(found) if dtype is string else np.asarray(found, dtype.numpy, order="C")

        kind = UnrankedType(dtype.numpy) if shape.dims is None else TensorType(tuple(shape.as_list()), dtype.numpy)
        if state.inside:
            if not shape.is_fully_defined():
                raise NotImplementedError(f"tf.strings: {type_} in the body of a loop or branch needs operands of known shape")
            made = apply(python_call_op, *given, call=lambda *arrays: call(arrays), type=kind)
            graph.adopt(made.node, name, type_)
            return graph.handle((as_texts(made) if dtype is string else made).node)
        return graph.host_call(given, lambda arrays: [call(arrays)], [kind], name, type_)[0]


def _each(fn: Callable[..., Any], *arrays: Any) -> Any:
    """A function of elements over arrays."""
    if all(not np.ndim(a) for a in arrays):
        return fn(*(a if isinstance(a, bytes) else np.asarray(a)[()] for a in arrays))
    spread = np.broadcast_arrays(*(np.asarray(a, object) if isinstance(a, bytes) else a for a in arrays))
    found = np.empty(spread[0].shape, object)
    found.ravel()[:] = [fn(*items) for items in zip(*(s.ravel() for s in spread), strict=True)]
    return found


def _shape_of(*inputs: Any) -> TensorShape:
    """The shape of operands that are broadcast together."""
    found = TensorShape([])
    for x in inputs:
        shape = x.shape if isinstance(x, Handle) else TensorShape(np.asarray(x, object).shape)
        found = TensorShape(None) if shape.dims is None or found.dims is None else broadcast_static_shape(found, shape)
    return found


def _of_each(type_: str, name: str, fn: Callable[[bytes], bytes], doc: str) -> Callable[..., Any]:
    """A function of the texts of a tensor."""

    def call(input: Any, name: str | None = None) -> Any:
        return call_python([input], lambda a: _each(fn, a), string, _shape_of(input), name or type_, type_)

    call.__name__, call.__doc__ = name, doc
    return call


def _text(x: Any) -> bytes:
    return x.encode() if isinstance(x, str) else bytes(x)


def as_string(
    input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1, fill: str = "",
    name: str | None = None,
) -> Any:  # fmt: skip
    """Numbers as texts, as C's printf writes them: floats with six digits, or `precision`, after the point."""
    if scientific and shortest:
        raise ValueError("Cannot select both scientific and shortest notation")
    flags = fill + (str(width) if width > -1 else "")
    digits = f".{precision}" if precision > -1 else ""
    floating = f"%{flags}{digits}{'e' if scientific else 'g' if shortest else 'f'}"

    def write(x: Any) -> bytes:
        if isinstance(x, bytes):
            return x
        if isinstance(x, (bool, np.bool_)):
            return f"%{flags}s".encode() % (b"true" if x else b"false")
        return ((floating % float(x)) if isinstance(x, (float, np.floating)) else f"%{flags}d" % int(x)).encode()

    return call_python([input], lambda a: _each(write, a), string, _shape_of(input), name or "AsString", "AsString")


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Any:
    """Texts of several tensors of one shape, or without axes, one after another."""
    between, items = _text(separator), list(inputs)

    def write(*arrays: Any) -> Any:
        return _each(lambda *parts: between.join(parts), *arrays)

    return call_python(items, write, string, _shape_of(*items), name or "StringJoin", "StringJoin")


def _joined(items: Sequence[Any], name: str | None = None) -> Any:
    """The sum of two tensors of strings."""
    return join(items, name=name or "add")


MAKERS["join"] = _joined


def reduce_join(
    inputs: Any, axis: Any = None, keep_dims: bool | None = None, separator: str = "", name: str | None = None,
    reduction_indices: Any = None, keepdims: bool | None = None,
) -> Any:  # fmt: skip
    """The texts along axes, all unless given, one after another."""
    axis = reduction_indices if axis is None else axis
    between, kept = _text(separator), bool(keepdims or keep_dims)
    rank = _shape_of(inputs).ndims
    if rank is None:
        raise ValueError("reduce_join: the rank of the texts has to be known")
    axes = list(range(rank)) if axis is None else [a % rank for a in ([axis] if isinstance(axis, int) else list(axis))]

    def write(a: Any) -> Any:
        a = np.asarray(a, object)
        for one in axes:
            moved = np.moveaxis(a, one, -1)
            rows = moved.reshape(-1, moved.shape[-1])
            joined = np.empty(len(rows), object)
            joined[:] = [between.join(row) for row in rows]
            a = np.expand_dims(joined.reshape(moved.shape[:-1]), one)
        return a if kept else np.squeeze(a, tuple(axes)) if a.ndim else a

    sizes = _shape_of(inputs).as_list()
    shape = [1 if i in axes else n for i, n in enumerate(sizes)]
    shape = shape if kept else [n for i, n in enumerate(shape) if i not in axes]
    return call_python([inputs], write, string, TensorShape(shape), name or "ReduceJoin", "ReduceJoin")


def to_number(string_tensor: Any, out_type: Any = float32, name: str | None = None) -> Any:
    """The numbers that texts spell. Raises, in the run, InvalidArgumentError for one that spells none."""
    from .errors import InvalidArgumentError

    kind = as_dtype(out_type)
    parse: Callable[[bytes], Any] = float if kind.is_floating else int

    def read(x: bytes) -> Any:
        try:
            return parse(x)
        except ValueError:
            raise InvalidArgumentError(f"StringToNumberOp could not correctly convert string: {x.decode()}") from None

    return call_python([string_tensor], lambda a: np.asarray(_each(read, a), kind.numpy), kind, _shape_of(string_tensor),
                       name or "StringToNumber", "StringToNumber")  # fmt: skip


def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """The number of bytes of each text; of characters for "UTF8_CHAR"."""

    def count(x: bytes) -> int:
        return len(x.decode()) if unit == "UTF8_CHAR" else len(x)

    return call_python([input], lambda a: np.asarray(_each(count, a), np.int32), int32, _shape_of(input),
                       name or "StringLength", "StringLength")  # fmt: skip


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """`len` bytes of each text from `pos` on, from the end for a negative one."""

    def part(x: bytes, start: int, count: int) -> bytes:
        first = int(start) + (0 if start >= 0 else x.__len__())
        return x[first : first + int(count)]

    return call_python([input, pos, len], lambda *arrays: _each(part, *arrays), string, _shape_of(input, pos, len),
                       name or "Substr", "Substr")  # fmt: skip


lower = _of_each("StringLower", "lower", bytes.lower, "Each text in small letters.")
upper = _of_each("StringUpper", "upper", bytes.upper, "Each text in capital letters.")
strip = _of_each("StringStrip", "strip", bytes.strip, "Each text without white space at its ends.")


def regex_replace(input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None) -> Any:
    r"""Each text with what a regular expression of Python's matches replaced; `\1` is the first group."""
    found, by, count = re.compile(_text(pattern)), _text(rewrite), 0 if replace_global else 1

    def change(x: bytes) -> bytes:
        return found.sub(by, x, count=count)

    return call_python([input], lambda a: _each(change, a), string, _shape_of(input), name or "RegexReplace", "RegexReplace")


def regex_full_match(input: Any, pattern: str, name: str | None = None) -> Any:
    """Whether a regular expression of Python's matches the whole of each text."""
    found = re.compile(_text(pattern))

    def match(x: bytes) -> bool:
        return found.fullmatch(x) is not None

    return call_python([input], lambda a: np.asarray(_each(match, a), bool), as_dtype(bool), _shape_of(input),
                       name or "RegexFullMatch", "RegexFullMatch")  # fmt: skip


def format(template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Any:
    """A text with tensors in the places of `placeholder`, written as `tf.print` writes them."""
    items = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if parts.__len__() - 1 != items.__len__():
        raise ValueError(
            f"{parts.__len__() - 1} placeholder(s) in template does not match {items.__len__()} tensor(s) provided as input"
        )

    def write(*arrays: Any) -> bytes:
        shown = [edges(np.asarray(a, object if isinstance(a, bytes) else None), summarize) for a in arrays]
        return "".join(a + b for a, b in zip(parts, [*shown, ""], strict=True)).encode()

    if not items:
        return tensor_of(template)
    return call_python(items, write, string, TensorShape([]), name or "StringFormat", "StringFormat")


def tensor_of(text: str) -> Any:
    """A constant."""
    graph = get_default_graph()
    with using(graph):
        return graph.handle(tensor(text).node)


def decode_raw(input_bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None) -> Any:
    """The bytes of texts, which are of one length, as numbers along a new last axis."""
    kind = as_dtype(out_type)
    order = kind.numpy.newbyteorder("<" if little_endian else ">")

    def read(a: Any) -> np.ndarray:
        if isinstance(a, bytes):
            return np.frombuffer(a, order).astype(kind.numpy)
        return np.stack([np.frombuffer(x, order) for x in a.ravel()]).reshape(*a.shape, -1).astype(kind.numpy)

    shape = _shape_of(input_bytes)
    whole = shape if shape.dims is None else shape.concatenate([None])
    return call_python([input_bytes], read, kind, whole, name or "DecodeRaw", "DecodeRaw")


# parts, and hashes ------------------------------------------------------------------------------------------------------


def _in_parts(source: Any, cut: Callable[[bytes], list[bytes]], name: str, type_: str) -> Any:
    """The parts of each text of a tensor with one axis, as the rows of a sparse tensor."""
    from .sparse import SparseTensor

    graph = graph_of([source])
    graph.check_open()
    if state.inside:
        raise NotImplementedError(f"tf.strings: {type_} in the body of a loop or branch")
    with using(graph):
        texts = tensor(symbols(source))

    def call(arrays: Sequence[Any]) -> list[np.ndarray]:
        rows = [cut(x) for x in np.atleast_1d(np.asarray(arrays[0], object))]
        places = [(i, j) for i, row in enumerate(rows) for j in range(row.__len__())]
        parts = [part for row in rows for part in row]
        whole = [rows.__len__(), max((row.__len__() for row in rows), default=0)]
        values = numbers(parts) if parts else np.zeros(0, string.numpy)
        return [np.asarray(places, np.int64).reshape(-1, 2), values, np.asarray(whole, np.int64)]

    kinds = [TensorType((None, 2), np.dtype(np.int64)), TensorType((None,), string.numpy), TensorType((2,), np.dtype(np.int64))]
    return SparseTensor(*graph.host_call([texts], reading([texts], call), kinds, name, type_))


def string_split(
    source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None, result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The parts of texts between delimiters, spaces unless given, as a sparse tensor. Each byte of `sep` is a delimiter;
    without any, each byte is a part."""
    given = delimiter if sep is None else sep
    marks = _text(" " if given is None else given)
    _check_sparse(result_type)

    def cut(x: bytes) -> list[bytes]:
        found = re.split(b"[" + re.escape(marks) + b"]", x) if marks else [x[i : i + 1] for i in range(x.__len__())]
        return [part for part in found if part] if skip_empty else found

    return _in_parts(source, cut, name or "StringSplit", "StringSplit")


def split(
    input: Any = None, sep: Any = None, maxsplit: int = -1, result_type: str = "SparseTensor", source: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The parts of texts between separators, runs of white space unless given, as a sparse tensor: at most `maxsplit` + 1 of
    each text."""
    _check_sparse(result_type)
    mark = None if sep is None or not _text(sep) else _text(sep)
    texts = source if input is None else input
    return _in_parts(texts, lambda x: x.split(mark, maxsplit), name or "StringSplitV2", "StringSplitV2")


def _check_sparse(result_type: str) -> None:
    if result_type != "SparseTensor":
        raise NotImplementedError(f"result_type {result_type!r}: the parts are a SparseTensor here; see tf.sparse.to_dense")


def _bucket(type_: str, name: str | None, input: Any, num_buckets: int, hashed: Callable[[bytes], int]) -> Any:
    if num_buckets < 1:
        raise ValueError(f"Value for attr 'num_buckets' of {num_buckets} must be at least minimum 1")
    return call_python(
        [input], lambda a: np.asarray(_each(lambda x: hashed(x) % num_buckets, a), np.int64), int64, _shape_of(input),
        name or type_, type_,
    )  # fmt: skip


def string_to_hash_bucket(string_tensor: Any = None, num_buckets: int = 0, name: str | None = None, input: Any = None) -> Any:
    """The remainder of a hash of each text; see `to_hash_bucket_fast`."""
    texts = input if string_tensor is None else string_tensor
    return _bucket("StringToHashBucket", name, texts, num_buckets, murmur)


to_hash_bucket = string_to_hash_bucket


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """The remainder of the 64-bit fingerprint of each text."""
    return _bucket("StringToHashBucketFast", name, input, num_buckets, fingerprint)


def to_hash_bucket_strong(input: Any, num_buckets: int, key: Sequence[int], name: str | None = None) -> Any:
    """The remainder of a hash of each text that depends on a key of two integers."""
    first, second = key
    return _bucket("StringToHashBucketStrong", name, input, num_buckets, lambda x: keyed((first, second), x))
