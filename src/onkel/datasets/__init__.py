"""Benchmark data sets by name, from the folder `folder()` or the net, and made-up streams."""

from .catalogue import Task
from .download import DownloadError
from .holdings import folder
from .sets import Description, describe, fetch, load, load_jmlr16, names, path
from .streams import (
    adversarial,
    alternating,
    gradual,
    permutations,
    repeat_blocks,
    rotating_hyperplane,
    sea,
    turning_moons,
)

__all__ = [
    "Description",
    "DownloadError",
    "Task",
    "adversarial",
    "alternating",
    "describe",
    "fetch",
    "folder",
    "gradual",
    "load",
    "load_jmlr16",
    "names",
    "path",
    "permutations",
    "repeat_blocks",
    "rotating_hyperplane",
    "sea",
    "turning_moons",
]
