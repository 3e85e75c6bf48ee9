"""Onkel: online kernel learning. Non-linear models from streams, in bounded memory, as scikit-learn estimators."""

import lazy_loader

from ._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # names: __init__.pyi
