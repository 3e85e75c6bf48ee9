"""The version, which model files and the command tell."""

__version__ = "0.1.0"
