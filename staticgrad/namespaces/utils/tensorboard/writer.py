"""Event files for TensorBoard, written by the `tensorboard` package."""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
import zlib
from collections.abc import Mapping
from datetime import datetime
from types import ModuleType
from typing import Any

import numpy as np

from ....base.interpreter import need
from ....errors import ArgumentError, ShapeError


def _array(x: Any) -> np.ndarray:
    """The values of a tensor of any library."""
    return np.asarray(x.detach() if hasattr(x, "detach") else x)


class SummaryWriter:
    """Writes values of a training run to an event file in `log_dir`.

    log_dir: a new folder below `runs/` for None, named by the time and `comment`. purge_step: events of this and later steps of
    an earlier run are hidden. max_queue, flush_secs: how many events wait, and how long, until they are written.

    Raises MissingExtra without the package `tensorboard`.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str] | None = None, comment: str = "", purge_step: int | None = None,
        max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "",
    ):  # fmt: skip
        protocol()
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        if not log_dir:
            started = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{started}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self._settings = max_queue, flush_secs, filename_suffix
        self._make: Any = EventFileWriter
        self._writers: dict[str, Any] = {self.log_dir: EventFileWriter(self.log_dir, *self._settings)}
        if purge_step is not None:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog

            start = SessionLog(status=SessionLog.START)
            self._writers[self.log_dir].add_event(Event(wall_time=time.time(), step=purge_step, session_log=start))

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def _add(self, fill: Any, step: Any, walltime: float | None, folder: str | None = None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        if not self._writers:
            raise ArgumentError("the SummaryWriter is closed")
        folder = self.log_dir if folder is None else folder
        if folder not in self._writers:
            self._writers[folder] = self._make(folder, *self._settings)
        record = protocol().Summary()
        fill(record)
        event = Event(wall_time=time.time() if walltime is None else walltime, summary=record)
        if step is not None:
            event.step = int(step)
        self._writers[folder].add_event(event)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """A number at a step. Raises ShapeError for more than one."""
        value = _scalar(tag, scalar_value)
        self._add(lambda record: record.value.add(tag=tag, simple_value=value), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Several numbers for one diagram, each in a folder of its own."""
        for name, number in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{name}")
            value = _scalar(f"{main_tag}/{name}", number)
            self._add(lambda record, v=value: record.value.add(tag=main_tag, simple_value=v), global_step, walltime, folder)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = 30, walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """The distribution of elements. bins: a number, edges, or a name that `numpy.histogram_bin_edges` knows; "tensorflow"
        is PyTorch's default, 30 bins here. Raises ArgumentError for values that are not finite."""
        array, chosen = _array(values), 30 if bins == "tensorflow" else bins
        self._add(lambda record: fill_histogram(record.value.add(tag=tag).histo, array, tag, chosen), global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """A picture: uint8, or floats in [0, 1]. dataformats: the order of its axes. Raises ShapeError."""
        picture = _picture(tag, _array(img_tensor), dataformats.upper())
        self._add(lambda record: fill_image(record.value.add(tag=tag), picture), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "NCHW"
    ) -> None:
        """Pictures side by side in one."""
        images, order = _array(img_tensor), dataformats.upper()
        if "N" not in order or len(order) != images.ndim:
            raise ShapeError(f"add_images: {tag!r} has shape {images.shape}, dataformats {dataformats!r}")
        rows = np.moveaxis(images, order.index("N"), 0)
        pictures = [_picture(tag, image, order.replace("N", "")) for image in rows]
        columns = int(np.ceil(np.sqrt(len(pictures))))
        pictures += [np.zeros_like(pictures[0])] * (-len(pictures) % columns)
        lines = [np.concatenate(pictures[i : i + columns], 1) for i in range(0, len(pictures), columns)]
        whole = np.concatenate(lines, 0)
        self._add(lambda record: fill_image(record.value.add(tag=tag), whole), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Figures of matplotlib as pictures; they are closed unless `close` is False."""
        figures = list(figure) if isinstance(figure, (list, tuple)) else [figure]
        pictures = []
        for each in figures:
            each.canvas.draw()
            pictures.append(np.asarray(each.canvas.buffer_rgba())[..., :3])
            if close:
                import matplotlib.pyplot as plt

                plt.close(each)
        self.add_images(tag, np.stack(pictures), global_step, walltime, "NHWC")

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """A text, in Markdown."""
        name = f"{tag}/text_summary"
        self._add(lambda record: fill_text(record.value.add(tag=name), str(text_string)), global_step, walltime)

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any], hparam_domain_discrete: Any = None,
        run_name: str | None = None, global_step: Any = None,
    ) -> None:  # fmt: skip
        """The settings of a run and its results, for the table of runs."""
        from tensorboard.plugins.hparams.metadata import PLUGIN_DATA_VERSION, PLUGIN_NAME, SESSION_START_INFO_TAG
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionStartInfo

        folder = os.path.join(self.log_dir, str(time.time()) if run_name is None else run_name)
        info = SessionStartInfo()
        for key, value in hparam_dict.items():
            kind = "bool_value" if isinstance(value, bool) else "string_value" if isinstance(value, str) else "number_value"
            setattr(info.hparams[key], kind, value if kind != "number_value" else _scalar(key, value))
        content = HParamsPluginData(session_start_info=info, version=PLUGIN_DATA_VERSION).SerializeToString()

        def fill(record: Any) -> None:
            entry = record.value.add(tag=SESSION_START_INFO_TAG)
            entry.metadata.plugin_data.plugin_name, entry.metadata.plugin_data.content = PLUGIN_NAME, content

        self._add(fill, global_step, None, folder)
        for name, number in metric_dict.items():
            result = _scalar(name, number)
            self._add(lambda record, n=name, v=result: record.value.add(tag=n, simple_value=v), global_step, None, folder)

    def flush(self) -> None:
        """Write the events that wait."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Write the events that wait, and close the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers = {}

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _scalar(tag: str, value: Any) -> float:
    array = _array(value)
    if array.size != 1:
        raise ShapeError(f"add_scalar: {tag!r} has {array.size} elements, not one")
    return float(array.reshape(()))


def _picture(tag: str, image: np.ndarray, order: str) -> np.ndarray:
    """(height, width, channels) uint8."""
    if sorted(order) not in (["C", "H", "W"], ["H", "W"]) or len(order) != image.ndim:
        raise ShapeError(f"add_image: {tag!r} has shape {image.shape}, dataformats {order!r}")
    picture = np.transpose(image, [order.index(axis) for axis in "HWC" if axis in order])
    picture = picture[..., None] if picture.ndim == 2 else picture
    if picture.shape[-1] not in (1, 3, 4):
        raise ShapeError(f"add_image: {tag!r} has {picture.shape[-1]} channels, not 1, 3 or 4")
    return picture if picture.dtype == np.uint8 else (picture * 255.0).clip(0, 255).astype(np.uint8)


# TensorBoard's records of values, which the `tensorboard` package defines --------------------------------------------


WITHOUT = "tensorboard.compat.notf"
"""Where there is this module, TensorBoard writes files by itself. It would import `tensorflow` otherwise, which may be the name
of the dialect."""


def protocol() -> Any:
    """The module of summaries' records. Raises MissingExtra without the package."""
    need("tensorboard", "summaries")
    sys.modules.setdefault(WITHOUT, ModuleType(WITHOUT))
    import tensorboard.compat.proto.summary_pb2 as records

    return records


def fill_histogram(found: Any, values: Any, name: str, bins: Any = 30) -> None:
    """Fill the record of a histogram. Raises ArgumentError for values that are not finite."""
    x = np.asarray(values, np.float64).ravel()
    if not np.isfinite(x).all():
        raise ArgumentError(f"the histogram {name!r} has values that are not finite")
    counts, edges = np.histogram(x, bins=bins) if x.size else (np.zeros(1, int), np.zeros(2))
    found.min, found.max = (float(x.min()), float(x.max())) if x.size else (0.0, 0.0)
    found.num, found.sum, found.sum_squares = float(x.size), float(x.sum()), float((x * x).sum())
    found.bucket_limit.extend(edges[1:].tolist())
    found.bucket.extend(counts.astype(float).tolist())


def fill_image(entry: Any, picture: np.ndarray) -> None:
    """Fill the record of a picture (height, width, channels) uint8."""
    entry.image.height, entry.image.width, entry.image.colorspace = picture.shape
    entry.image.encoded_image_string = png(picture)


def fill_text(entry: Any, text: str) -> None:
    """Fill the record of a text."""
    entry.metadata.plugin_data.plugin_name = "text"
    entry.tensor.dtype = 7
    entry.tensor.tensor_shape.dim.add(size=1)
    entry.tensor.string_val.append(text.encode())


def png(picture: np.ndarray) -> bytes:
    """A picture (height, width, channels) uint8 in the PNG format (ISO 15948), without a filter."""
    height, width, channels = picture.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows.tobytes())), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
