"""Scalars in TensorBoard's format: records of one event each.

TensorBoard's own writer writes through TensorFlow on its own thread. A full disk ends that thread
for good, and it cannot write into a folder whose name is not UTF-8. So only its encoding is used
here.
"""

from __future__ import annotations

import io
import os
import socket
import time
from pathlib import Path

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SourceMetadata
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_SCALAR, SummaryMetadata
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto

_METADATA = SummaryMetadata(
    plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"), data_class=DATA_CLASS_SCALAR
)


def new_file(folder: Path) -> Path:
    """The name of a new file in `folder`, as TensorBoard looks for them."""
    return (
        folder / f"events.out.tfevents.{time.time():010.0f}.{socket.gethostname()}.{os.getpid()}.0"
    )


def header() -> bytes:
    """Return the record that a file begins with."""
    source = SourceMetadata(writer="gpu_studio")
    return _record(
        Event(wall_time=time.time(), file_version="brain.Event:2", source_metadata=source)
    )


def scalar(name: str, value: float, step: int) -> bytes:
    """Return the record of one scalar, with the current time."""
    event = Event(wall_time=time.time(), step=step)
    event.summary.value.add(
        tag=name, tensor=make_tensor_proto(np.float32(value)), metadata=_METADATA
    )
    return _record(event)


def _record(event: Event) -> bytes:
    made = io.BytesIO()
    RecordWriter(made).write(event.SerializeToString())
    return made.getvalue()
