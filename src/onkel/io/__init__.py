"""Models in and out of files."""

from .model_files import ModelFileError, load, save

__all__ = ["ModelFileError", "load", "save"]
