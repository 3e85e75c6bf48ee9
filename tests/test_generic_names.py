"""The names of the bodies of generic functions, which cached machine code is linked by."""

import importlib
import pkgutil

import onkel


def generics():
    for module in pkgutil.walk_packages(onkel.__path__, "onkel."):
        yield from (f for f in vars(importlib.import_module(module.name)).values() if hasattr(f, "register"))


def test_no_two_bodies_have_the_same_name():
    """numba's symbols are made of names, argument types and a number that differs between processes."""
    bodies = {body for generic in generics() for body in getattr(generic, "table", {}).values()}
    assert len(bodies) > 30
    assert len({(body.__module__, body.__qualname__) for body in bodies}) == len(bodies)
