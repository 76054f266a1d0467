"""Mutated files: graphs as JSON, and safetensors. `python -m tests.fuzz_saving --count 10000 [--seed 1] [--kind json]`.

Each mutation is refused by one of our errors, or accepted. A graph that is accepted has the types that inference gives, and
runs in the interpreter and compiled; what it raises there are our errors too. The work is done in a process of its own,
so that a crash is seen: the mutation under way lies in a file, whose path the report names.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import functional as F
from staticgrad.base import dtypes, types
from staticgrad.compiler.program import Program
from staticgrad.errors import CompileError, GraphError, StaticgradError
from staticgrad.interchange import graph_json
from staticgrad.ir import REGISTRY, Graph
from staticgrad.ir.graph import interpret
from staticgrad.ir.text import verify
from staticgrad.safetensors import SafetensorsError, load_file, save_file

MEMORY = 8 << 30
"""Bytes of address space of the process that works."""
SECONDS = 30
"""For which one mutation may run: a loop may have lost its end."""
LARGEST = 1 << 20
"""Elements of a value up to which an accepted graph is run: more is allowed, but slow."""


# graphs that are mutated --------------------------------------------------------------------------------------------


def _network() -> None:
    x, t = sg.placeholder(sg.float32, (None, 4), name="x"), sg.placeholder(sg.int64, (None,), name="t")
    w = sg.Variable(np.full((4, 3), 0.5, np.float32), name="w")
    h = sg.tanh(x @ w) * sg.rand(3)
    loss = F.cross_entropy(h[:, 1:], t)
    (g,) = sg.gradients(loss, [w])
    with sg.control_dependencies([sg.assign(w, w - 0.1 * g)]):
        sg.identity(loss, name="after")


def _indexing() -> None:
    table, index = sg.placeholder(sg.float32, (5, 3), name="table"), sg.placeholder(sg.int64, (2, 3), name="index")
    rows = sg.take(table, index, 0)
    y = sg.take_along_axis(rows, index[:, :, None], 2).sum() + table[index[0], index[1]].sum()
    z = sg.index_add(table, 0, index[0], rows[0]) * sg.concatenate([table[::2], table[1::2]], 0)
    sg.gradients(y + sg.sum(z), [table])
    sg.argmax(z, 1)


def _windows() -> None:
    x, w = sg.placeholder(sg.float32, (1, 2, 6, 6), name="x"), sg.placeholder(sg.float32, (2, 1, 3, 3), name="w")
    y = F.avg_pool2d(F.max_pool2d(F.conv2d(x, w, padding=1, groups=2), 2), 2, 1, padding=1)
    sg.gradients(sg.softmax(y.reshape(2, -1).T, 0).sum(), [x, w])


def _loops() -> None:
    x, xs = sg.placeholder(sg.float64, (2,), name="x"), sg.placeholder(sg.float64, (3, 2), name="xs")
    carry, ys = sg.scan(lambda c, item: (sg.tanh(c * item + sg.rand(2, dtype=sg.float64)), sg.exp(c)), x, xs)
    last = sg.while_loop(lambda c: c.sum() < 20, lambda c: c * c + 1, [carry])[0]
    y = sg.cond(last.sum() > 3, lambda: last * 2, lambda: sg.cumsum(ys, 0)[0])
    sg.gradients(y.sum() + ys.sum(), [x, xs])


def _shapes() -> None:
    x, k = sg.placeholder(sg.float32, (2, 3, 4), name="x"), sg.placeholder(sg.int32, (3,), name="k")
    y = sg.transpose(x, 0, 2).reshape(4, -1)[1:, ::-2].expand(2, 3, 3)
    z = sg.where(k > 1, y.mean(0), sg.clip(x[0, :, :1], 0, 1)) ** 2
    sg.gradients(sg.logsumexp(z, 0).sum() + sg.amax(sg.squeeze(x[:1], 0), 1).sum(), [x])
    sg.astype(k // 2 % 3, sg.float64).unsqueeze(0)
    sg.norm(y) + sg.var(x, correction=0)


def _sources() -> list[str]:
    texts = []
    for build in (_network, _indexing, _windows, _loops, _shapes):
        graph = sg.Graph()
        with graph.as_default():
            build()
        texts.append(sg.to_json(graph))
    return texts


# mutations ----------------------------------------------------------------------------------------------------------

VALUES = [
    None, True, False, 0, 1, 2, 3, -1, -4, 7, 10**9, 10**12, 2**31, 2**62, 2**63, -(2**63), 10**30, 1.5, -0.0, 1e308, "", "x",
    "float64", "int64", "bool", "uint8", [], {}, [0], [0, 0], [1, 0], [-1], [10**9, 10**9], [None], {"float": "nan"},
    {"dtype": "int8"},
    {"array": {"shape": [1], "dtype": "int64", "values": [-4]}}, {"cell": "w"}, {"type": {"shape": [3], "dtype": "float32"}},
]  # fmt: skip


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            found += _paths(part, (*at, key))
    return found


def _get(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def _changed(rng: random.Random, old: Any) -> Any:
    """Another value: any, or one that is near to the old one."""
    near: list[Any] = []
    if type(old) is int:
        near = [old + 1, old - 1, -old, old * 2, old + 10**9]
    elif isinstance(old, list) and old:
        shuffled = rng.sample(old, len(old))
        near = [old[:-1], [*old, old[-1]], shuffled, [old[0]] * len(old), old[::-1]]
    elif isinstance(old, str):
        near = [rng.choice(list(REGISTRY)), rng.choice(list(dtypes.SHORT)).name, old + "x"]
    elif isinstance(old, bool):
        near = [not old]
    return rng.choice(near) if near and rng.random() < 0.7 else rng.choice(VALUES)


def mutated_document(rng: random.Random, text: str) -> str:
    document = json.loads(text)
    paths = _paths(document)
    deep = [path for path in paths if "attrs" in path] or paths
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice(deep if rng.random() < 0.6 else paths)
        try:
            parent, key = _get(document, path[:-1]), path[-1]
            way = rng.random()
            if way < 0.08:
                del parent[key]
            elif way < 0.25:
                parent[key] = json.loads(json.dumps(_get(document, rng.choice(paths))))
            elif way < 0.3 and isinstance(parent, dict):
                parent[rng.choice(["axis", "shape", "extra", "name", "inputs", "after"])] = rng.choice(VALUES)
            else:
                parent[key] = _changed(rng, parent[key])
        except (KeyError, IndexError, TypeError):  # an earlier change took the place away
            continue
    return json.dumps(document)


def retyped_document(rng: random.Random, text: str) -> str:
    """As above, with the types that inference gives after the change: what has to be found out is the attribute."""
    document = json.loads(mutated_document(rng, text))
    kinds: list[Any] = []
    try:
        for entry in document["nodes"]:
            op = REGISTRY[entry["op"]]
            reader = graph_json._Reader.__new__(graph_json._Reader)
            reader.place = reader.at_node = ""
            reader.depth, reader.nodes, reader.cells = 0, [], {}
            given = reader.type(entry["type"], "")
            try:
                if not any(key in json.dumps(entry.get("attrs", {})) for key in ('"cell"', '"subgraph"')):
                    attrs = {key: reader.attr(value, "") for key, value in entry.get("attrs", {}).items()}
                    given = op.infer(*(kinds[i] for i in entry.get("inputs", ())), **attrs)
                    entry["type"] = graph_json._type(given)
            except Exception:
                pass
            kinds.append(given)
        return json.dumps(document)
    except Exception:
        return json.dumps(document)


def mutated_text(rng: random.Random, text: str) -> str:
    at, n = rng.randrange(len(text)), rng.randrange(1, 20)
    other = rng.choice('{}[]",:0-e\\')
    return text[:at] + rng.choice(["", text[at + n :], text[at : at + n] + text[at:], other + text[at + 1 :]])


def mutated_json(rng: random.Random, sources: list[str]) -> bytes:
    text = rng.choice(sources)
    way = rng.choice((mutated_document, mutated_document, retyped_document, retyped_document, mutated_text))
    return way(rng, text).encode()


# what a graph has to stand ------------------------------------------------------------------------------------------


def try_json(data: bytes) -> str:
    """ "refused" or "accepted", or how it ran. Raises what must not be."""
    try:
        graph = sg.from_json(data.decode())
    except GraphError:
        return "refused"
    verify(graph)  # every type is what inference gives
    str(graph)
    return f"accepted, {run(graph)}"


def run(graph: Graph) -> str:
    sizes = [part.size for node in graph.nodes for part in getattr(node.type, "parts", [node.type]) if part.static]
    if any(size > LARGEST for size in sizes):
        return "not run: large"
    rng = np.random.default_rng(0)

    def value(kind: Any) -> np.ndarray:
        shape = tuple(2 if d is None else d for d in kind.shape)
        return rng.integers(0, 2, shape).astype(kind.dtype) if kind.dtype.kind != "f" else rng.random(shape).astype(kind.dtype)

    leaves = {node: value(node.type) for node in graph.nodes if node.op.leaf in ("placeholder", "variable", "generator")}
    targets = [node for node in graph.nodes if type(node.type) is types.TensorType and not node.op.leaf]
    outcome = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            interpret(graph, targets, leaves)
        outcome.append("interpreted")
    except (StaticgradError, MemoryError) as error:
        outcome.append(type(error).__name__)
    feeds = [node for node in leaves if node.op.leaf == "placeholder"]
    cells = {node.attrs["cell"]: array for node, array in leaves.items() if node.op.leaf == "variable"}
    try:
        Program(graph, targets, feeds).run([leaves[node] for node in feeds], cells)
        outcome.append("compiled")
    except CompileError:  # what passes verification can be compiled
        raise
    except (StaticgradError, MemoryError) as error:
        outcome.append(type(error).__name__)
    return " and ".join(outcome)


# safetensors --------------------------------------------------------------------------------------------------------


def _tensors(folder: Path) -> bytes:
    path = folder / "source.safetensors"
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b.c": np.array([True, False]), "": np.zeros((0, 4), np.int64)}
    save_file(arrays, path, {"made by": "a test"})
    return path.read_bytes()


def mutated_safetensors(rng: random.Random, source: bytes) -> bytes:
    (length,) = struct.unpack("<Q", source[:8])
    header, body = source[8 : 8 + length], source[8 + length :]
    way = rng.randrange(6)
    if way == 0:  # bytes
        data = bytearray(source)
        for _ in range(rng.randrange(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    if way == 1:
        return source[: rng.randrange(len(source))]
    if way == 2:  # its length
        other = rng.choice([0, 1, length - 1, length + 1, 10**8, 2**63, 2**64 - 1, rng.randrange(2 * length)])
        return struct.pack("<Q", other) + header + body
    if way == 3:  # a key twice, deep nesting, long integers, bytes that are no text
        text = rng.choice([
            header[:-1].rstrip(b"} ") + b'}, "a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}}', b"[" * 10**5,
            b'{"a": ' + b"9" * 5000 + b"}", b'{"\xff\xfe": 1}', header.replace(b"[2, 3]", b"[NaN]"), b'{"a": {"dtype": {}}}',
        ])  # fmt: skip
        return struct.pack("<Q", len(text)) + text + body
    document = json.loads(header)
    paths = _paths(document)
    for _ in range(rng.randrange(1, 3)):
        path = rng.choice(paths)
        try:
            parent = _get(document, path[:-1])
            dtype = rng.choice(["F16", "BF16", "U8", "I64", "BOOL", "F8_E4M3"])
            parent[path[-1]] = rng.choice([_changed(rng, parent[path[-1]]), dtype, _get(document, rng.choice(paths))])
        except (KeyError, IndexError, TypeError):
            continue
    try:
        text = json.dumps(document).encode()
    except ValueError:  # an object put into itself
        return source[:8]
    return struct.pack("<Q", len(text)) + text + body[: rng.choice([len(body), len(body), rng.randrange(len(body) + 1)])]


def try_safetensors(data: bytes, folder: Path) -> str:
    path = folder / "mutated.safetensors"
    path.write_bytes(data)
    try:
        found = load_file(path)
    except SafetensorsError:
        return "refused"
    for tensor in found.values():
        np.array(tensor.numpy(), copy=True)  # every byte can be read
    assert sum(t.numpy().nbytes for t in found.values()) <= 2 * len(data)
    return "accepted"


# the processes ------------------------------------------------------------------------------------------------------


class TooLong(BaseException):
    """No error of the program, so that nothing takes it for one."""


def _ring(*args: Any) -> None:
    raise TooLong


def work(kind: str, seed: int, first: int, count: int, kept: Path) -> None:
    """Mutations first to first + count; prints what came of them, as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _ring)
    outcomes: Counter[str] = Counter()
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources: Any = _sources() if kind == "json" else _tensors(folder)
        mutate: Callable[..., bytes] = mutated_json if kind == "json" else mutated_safetensors
        for number in range(first, first + count):
            data = mutate(random.Random(f"{seed}/{number}"), sources)
            kept.write_bytes(data)
            signal.alarm(SECONDS)
            try:
                outcomes[try_json(data) if kind == "json" else try_safetensors(data, folder)] += 1
            except TooLong:
                outcomes["too long"] += 1
            except BaseException as error:
                bad.append(f"mutation {number}: {type(error).__name__}: {str(error)[:300]}")
            finally:
                signal.alarm(0)
    print(json.dumps({"outcomes": outcomes, "bad": bad}))


def fuzz(kind: str, count: int, seed: int, chunk: int = 500, *, told: bool = False) -> tuple[Counter[str], list[str]]:
    """What came of `count` mutations, and what must not have."""
    outcomes: Counter[str] = Counter()
    bad: list[str] = []
    kept = Path(tempfile.gettempdir()) / f"staticgrad-fuzz-{os.getpid()}.bin"
    for first in range(0, count, chunk):
        args = ["--worker", str(kept), "--kind", kind, "--seed", str(seed), "--first", str(first)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz_saving", *args, "--count", str(min(chunk, count - first))],
            capture_output=True, text=True, cwd=Path(__file__).resolve().parent.parent, check=False,
        )  # fmt: skip
        if done.returncode:
            last = kept.with_suffix(f".{first}.crash")
            if kept.exists():
                kept.rename(last)
            bad.append(f"{kind} {first} and on: exit {done.returncode} at the mutation in {last}: {done.stderr[-1000:]}")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        outcomes.update(found["outcomes"])
        bad += found["bad"]
        if told:
            print(f"{kind}: {first + chunk} tried, {len(bad)} bad", flush=True)
    kept.unlink(missing_ok=True)
    return outcomes, bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=("json", "safetensors"), action="append")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutation")
    given = parser.parse_args()
    if given.worker:
        work(given.kind[0], given.seed, given.first, given.count, Path(given.worker))
        return 0
    failures = 0
    for kind in given.kind or ("json", "safetensors"):
        outcomes, bad = fuzz(kind, given.count, given.seed, told=True)
        print(f"{kind}: {sum(outcomes.values())} mutations of {given.count}")
        for outcome, n in outcomes.most_common():
            print(f"  {n:6}  {outcome}")
        for line in bad:
            print(f"  BAD  {line}")
        failures += len(bad)
    return 1 if failures else 0


if __name__ == "__main__":
    os.environ.setdefault("STATICGRAD_TIERS", "0")  # what runs is native
    sys.exit(main())
