"""Streams into learners, models in and out of files."""

from .model_files import Contents, ModelFileError, load, read_model, save
from .opening import open_stream
from .streams import Batch, Stream, StreamError

__all__ = ["Batch", "Contents", "ModelFileError", "Stream", "StreamError", "load", "open_stream", "read_model", "save"]
