"""Streams into learners, models in and out of files."""

from .model_files import ModelFileError, load, save
from .opening import open_stream
from .streams import Batch, Stream, StreamError

__all__ = ["Batch", "ModelFileError", "Stream", "StreamError", "load", "open_stream", "save"]
