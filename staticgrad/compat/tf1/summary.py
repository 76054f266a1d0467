"""`tf.summary`: summaries of a run as the bytes of TensorBoard's records, and the writer of its event files.

Records and files are the `tensorboard` package's own: `pip install "staticgrad[summaries]"`.
"""

from __future__ import annotations

import importlib
import io
import re
import time
import wave
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from .core import ArgumentError, fill_histogram, fill_image, fill_text, protocol, reached, static, using
from .dtypes import string, texts
from .graph import Graph, GraphKeys, get_default_graph
from .handles import Handle
from .tensor import tensor


class Serialized(Handle):
    """An operation whose value in a run is a serialized summary, for `FileWriter.add_summary`."""

    __slots__ = ()

    def __init__(self, graph: Graph, inputs: Sequence[Any], build: Callable[[Sequence[np.ndarray]], bytes], name: str):
        operands = [tensor(x).node for x in inputs]
        with using(graph), static.control_dependencies(None):
            self.node = static.group(name=graph._scope + name).node
        self.graph = graph
        graph.operands[self.node], graph.serialized[self.node] = operands, build
        graph._handles[self.node] = self


Fill = Callable[[Any, Any], None]
"""(entry of a record, value): writes the value."""


def _entered(
    name: str, inputs: Sequence[Any], fill: Fill, collections: Any, family: str | None = None,
    parts: Callable[[np.ndarray], np.ndarray] | None = None, kind: str = "", most: int = 1,
) -> Serialized:  # fmt: skip
    """A summary of one value, or of at most so many parts of it, in the collection of summaries."""
    graph = get_default_graph()
    graph.check_open()
    name = re.sub(r"[^-/\w.]", "_", f"{family}/{name}" if family else name).lstrip("/")  # names have no blanks
    tag = graph.scoped(name)

    def build(arrays: Sequence[np.ndarray]) -> bytes:
        record = protocol().Summary()
        if parts is None:
            fill(record.value.add(tag=tag), arrays[0] if arrays else None)
        else:
            for i, part in enumerate(parts(arrays[0])[:most]):
                fill(record.value.add(tag=f"{tag}/{kind}/{i}" if most > 1 else f"{tag}/{kind}"), part)
        return bytes(record.SerializeToString())

    with using(graph):
        made = Serialized(graph, inputs, build, f"{name}_summary")
    graph.add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, made)
    return made


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Serialized:
    """A number per step."""

    def fill(entry: Any, value: np.ndarray) -> None:
        entry.simple_value = float(value)

    return _entered(name, [tensor], fill, collections, family)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Serialized:
    """The distribution of the elements."""
    return _entered(name, [values], lambda entry, value: fill_histogram(entry.histo, value, name), collections, family)


def image(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None) -> Serialized:
    """Images (n, height, width, 1, 3 or 4 channels): uint8, or floats that are scaled so that the largest is 255."""
    return _entered(name, [tensor], fill_image, collections, family, _pictures, "image", max_outputs)


def _pictures(images: np.ndarray) -> np.ndarray:
    if images.ndim != 4 or images.shape[-1] not in (1, 3, 4):
        raise ArgumentError(f"an image summary needs (n, height, width, 1, 3 or 4), got {images.shape}")
    if images.dtype == np.uint8:
        return images
    low, high = images.min(axis=(1, 2, 3), keepdims=True), images.max(axis=(1, 2, 3), keepdims=True)
    scale = 255 / np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-12)
    shifted = np.where(low < 0, images * (scale * 127 / 255) + 128, images * scale)
    return shifted.clip(0, 255).astype(np.uint8)


def text(name: str, tensor: Any, collections: Any = None) -> Serialized:
    """A text, or a tensor of strings without axes."""
    if isinstance(tensor, str):
        return _entered(name, [], lambda entry, _: fill_text(entry, tensor), collections)
    if getattr(tensor, "dtype", None) is not string:
        raise ValueError(f"Expected tensor {tensor} to have dtype string, got {getattr(tensor, 'dtype', type(tensor))}")
    return _entered(name, [tensor], lambda entry, value: fill_text(entry, texts(value).decode()), collections)


def audio(
    name: str, tensor: Any, sample_rate: float, max_outputs: int = 3, collections: Any = None, family: str | None = None
) -> Serialized:
    """Sounds (n, frames) or (n, frames, channels), from -1 to 1, as 16 bits."""

    def fill(entry: Any, sound: np.ndarray) -> None:
        found = entry.audio
        found.sample_rate, found.num_channels, found.length_frames = sample_rate, sound.shape[1], sound.shape[0]
        found.content_type, found.encoded_audio_string = "audio/wav", wav(sound, int(sample_rate))

    def sounds(value: np.ndarray) -> np.ndarray:
        return value if value.ndim == 3 else value[..., None]

    return _entered(name, [tensor], fill, collections, family, sounds, "audio", max_outputs)


def wav(sound: np.ndarray, rate: int) -> bytes:
    """A WAV file of sound (frames, channels) from -1 to 1."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(sound.shape[1])
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(np.round(np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())
    return file.getvalue()


def tensor_summary(
    name: str, tensor: Any, summary_description: Any = None, collections: Any = None, summary_metadata: Any = None,
    family: str | None = None, display_name: str | None = None,
) -> Serialized:  # fmt: skip
    """Any array."""

    def fill(entry: Any, value: np.ndarray) -> None:
        from tensorboard.util import tensor_util

        entry.tensor.CopyFrom(tensor_util.make_tensor_proto(np.asarray(value)))
        if summary_metadata is not None:
            entry.metadata.CopyFrom(summary_metadata)

    return _entered(name, [tensor], fill, collections, family)


def all_v2_summary_ops() -> None:
    """None: there are no summaries of TensorFlow 2 in a graph."""


def initialize(graph: Graph | None = None, session: Any = None) -> None:
    """Does nothing: writers begin with their first summary."""


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Serialized:
    """One summary of several."""
    items = list(inputs)
    graph = items[0].graph if items else get_default_graph()
    counts = [len(graph.operands[s.node]) for s in items]
    builders = [graph.serialized[s.node] for s in items]

    def build(arrays: Sequence[np.ndarray]) -> bytes:
        rest = iter(arrays)
        return b"".join(make([next(rest) for _ in range(n)]) for make, n in zip(builders, counts, strict=True))

    with using(graph):
        made = Serialized(graph, [], build, name or "Merge/MergeSummary")
    graph.operands[made.node] = [operand for s in items for operand in graph.operands[s.node]]
    for collection in collections or []:
        graph.add_to_collection(collection, made)
    return made


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Serialized | None:
    """One summary of all in a collection; None where there is none."""
    items = get_default_graph().get_collection(key, scope)
    return merge(items, name=name) if items else None


class FileWriterCache:
    """One writer per folder."""

    _writers: ClassVar[dict[str, FileWriter]] = {}

    @classmethod
    def get(cls, logdir: str) -> FileWriter:
        if logdir not in cls._writers:
            cls._writers[logdir] = FileWriter(logdir)
        return cls._writers[logdir]

    @classmethod
    def clear(cls) -> None:
        """Close all writers."""
        for writer in cls._writers.values():
            writer.close()
        cls._writers.clear()


def summary_iterator(path: str) -> Iterator[Any]:
    """The events of an event file."""
    protocol()
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    return iter(LegacyEventFileLoader(path).Load())


class FileWriter:
    """Writes an event file for TensorBoard in `logdir`."""

    def __init__(self, logdir: str, graph: Graph | None = None, max_queue: int = 10, flush_secs: int = 120,
                 graph_def: Any = None, filename_suffix: str | None = None, session: Any = None):  # fmt: skip
        protocol()
        self._logdir, self._options = str(logdir), (max_queue, flush_secs, filename_suffix or "")
        self._closed = True
        self.reopen()
        if graph is not None:
            self.add_graph(graph)

    def get_logdir(self) -> str:
        return self._logdir

    def add_summary(self, summary: bytes, global_step: Any = None) -> None:
        """Write a fetched summary, at a step."""
        from tensorboard.compat.proto.event_pb2 import Event

        record = protocol().Summary.FromString(summary) if isinstance(summary, bytes) else summary
        event = Event(wall_time=time.time(), summary=record)
        if global_step is not None:
            event.step = int(global_step)
        self._writer.add_event(event)

    def add_event(self, event: Any) -> None:
        self._writer.add_event(event)

    def add_graph(self, graph: Graph, global_step: Any = None) -> None:
        """Write a graph, for the tab of graphs."""
        from tensorboard.compat.proto.event_pb2 import Event

        self._writer.add_event(Event(wall_time=time.time(), graph_def=graph_record(graph).SerializeToString()))

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Accepted: metadata has no record here."""

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Accepted."""

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()
        self._closed = True

    def reopen(self) -> None:
        """Begin a new file after `close`; nothing for an open one."""
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        if self._closed:
            self._writer = EventFileWriter(self._logdir, *self._options)
            self._closed = False

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


RECORDS = {
    "Event": "event", "SessionLog": "event", "LogMessage": "event", "TaggedRunMetadata": "event", "Summary": "summary",
    "HistogramProto": "summary", "SummaryMetadata": "summary", "SummaryDescription": "summary",
}  # fmt: skip
"""TensorBoard's records, and the modules of the `tensorboard` package that have them."""


def __getattr__(name: str) -> Any:
    if name not in RECORDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    protocol()
    return getattr(importlib.import_module(f"tensorboard.compat.proto.{RECORDS[name]}_pb2"), name)


def graph_record(graph: Graph) -> Any:
    """The graph as TensorBoard's record: the operations that the program wrote."""
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    record = GraphDef()
    shown = {node: op for op in graph.get_operations() for node in ([t.node for t in op.outputs] or [op.node])}
    for op in dict.fromkeys(shown.values()):
        node = next(n for n, other in shown.items() if other == op)
        entry = record.node.add(name=op.name, op=op.type)
        entry.input.extend(dict.fromkeys(shown[i].name for i in _shown_operands(node, shown)))
        entry.input.extend(f"^{graph.name_of(i)}" for i in node.after if i in shown)
    return record


def _shown_operands(node: Any, shown: Any) -> list[Any]:
    """The operands of an operation; in the place of parts of others, the operations that these read."""
    return [i for i in reached(node.inputs, lambda i: () if i in shown else i.inputs) if i in shown]
