"""The only file that knows how numba is used: `jit` compiles, `generic` dispatches on type, `vector` writes IR."""

import functools
import hashlib
import inspect
import pathlib

import numba
from numba import types
from numba.extending import intrinsic, overload

SHELLS = {"estimators", "io", "evaluation", "datasets", "cli"}  # no compiled code there is used from another file
_home = pathlib.Path(__file__).parent
_engine = hashlib.sha256(
    b"".join(f.read_bytes() for f in sorted(_home.rglob("*.py")) if f.relative_to(_home).parts[0] not in SHELLS)
)
_outside = hashlib.sha256()  # source of every body registered by code outside the package
_compiled = []
COMPILED = not numba.config.DISABLE_JIT


def _freshen(function):
    """Tie the machine code on disk to all the source it was built from.

    numba hashes a function's own file only: an edit to a helper elsewhere would go unseen.
    """
    stamp = _engine.copy()
    stamp.update(pathlib.Path(function.py_func.__code__.co_filename).read_bytes())
    file = function._cache._cache_file
    name = function._cache._impl.filename_base + "+" + _outside.hexdigest()[:8]
    function._cache._cache_file = type(file)(file._cache_path, name, stamp.hexdigest())


def jit(function=None, *, inline=False):
    """Compile `function`, keeping the machine code on disk between processes.

    _nrt=False: no reference counting, hence no allocation, which then is a compile error. `inline` asks LLVM to
    inline (numba's own inline="always" gave wrong results). No fastmath: sums keep their order on every machine.
    """
    if function is None:
        return functools.partial(jit, inline=inline)
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=inline, _nrt=False)(function)
    if COMPILED:
        _compiled.append(compiled)
        _freshen(compiled)
    return compiled


def generic(stub=None, *, default=False, inline=False):
    """A function whose body is chosen by the NamedTuple type of its first argument.

    With `default`, the stub's own body serves the types that registered none.
    """
    if stub is None:
        return functools.partial(generic, default=default, inline=inline)
    table, fallback = {}, stub if default else None

    @functools.wraps(stub)
    def call(*args):
        return (table.get(type(args[0])) or fallback)(*args)

    def register(kind):
        def add(body):
            # Machine code kept by several processes is linked by name: two bodies named alike could be mixed up.
            body.__name__ = body.__qualname__ = f"{stub.__name__}_{kind.__name__}"
            table[kind] = body
            if not body.__module__.startswith(__package__):
                _outside.update(inspect.getsource(body).encode())
                for function in _compiled:
                    _freshen(function)
            return body

        return add

    call.register, call.table = register, table

    def choose(*kinds):
        return table.get(getattr(kinds[0], "instance_class", None), fallback)

    overload(call, strict=False, jit_options={"_nrt": False, "forceinline": inline})(choose)
    return call


def vector(build, returns=lambda *args: types.void):
    """Replace a NumPy body by the machine code that `build` emits; the body stays when the JIT is off."""

    def replace(twin):
        if not COMPILED:
            return twin

        def emit(context, *args):
            return returns(*args)(*args), build

        plain = inspect.signature(twin)
        first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        emit.__signature__ = plain.replace(parameters=[first, *plain.parameters.values()])
        emit.__name__, emit.__doc__ = twin.__name__, twin.__doc__
        return intrinsic(emit)

    return replace
