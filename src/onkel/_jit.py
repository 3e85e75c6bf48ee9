"""The only file that knows how numba is used: `jit` compiles, `generic` dispatches on type, `vector` writes IR.

What `vector` writes is part of every function that calls it; a `routine` is compiled once, for all of them.
"""

import contextlib
import functools
import hashlib
import inspect
import linecache
import os
import pathlib
import tempfile

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.extending import intrinsic, overload

SHELLS = {"estimators", "io", "evaluation", "datasets", "cli"}  # no compiled code there is used from another file
_home = pathlib.Path(__file__).parent
_engine = hashlib.sha256(
    numba.__version__.encode()
    + b"".join(f.read_bytes() for f in sorted(_home.rglob("*.py")) if f.relative_to(_home).parts[0] not in SHELLS)
)
_outside = hashlib.sha256()  # source of every file outside the package that registers bodies
_compiled = []
COMPILED = not numba.config.DISABLE_JIT


class _MachineCode(IndexDataCacheFile):
    """A function's machine code on disk: one file per signature, named after all the source it was built from.

    numba's own numbers its files, in an index that two processes may write at once: each then runs the other's code.
    """

    def __init__(self, path, name, source, outside):
        super().__init__(path, name, source)
        self._folder, self._function, self._prefix = pathlib.Path(path), name, f"{name}.{source[:16]}."
        self._outside = outside

    def _name(self, key):
        return f"{self._prefix}{hashlib.sha256(f'{self._outside} {key}'.encode()).hexdigest()[:16]}.nbc"

    def load(self, key):
        try:
            kept, data, routines = self._load_data(self._name(key))
        except (OSError, EOFError):
            return None
        return data if kept == key and all(map(_bring, routines)) else None

    def save(self, key, data):
        self._save_data(self._name(key), (key, data, sorted(_routines)))
        _forget(self._folder.glob(f"{self._function}.*.nbc"), self._prefix)


def _forget(files, prefix):
    """Delete those of the files that other source made."""
    for old in files:
        if not old.name.startswith(prefix):
            with contextlib.suppress(OSError):
                old.unlink()


def _freshen(function):
    """Tie the machine code on disk to all the source it was built from.

    numba hashes a function's own file only: an edit to a helper elsewhere would go unseen.
    """
    stamp = _engine.copy()
    stamp.update(_source(function.py_func.__code__.co_filename))
    cache = function._cache
    name, source = cache._impl.filename_base, stamp.hexdigest()
    cache._cache_file = _MachineCode(cache.cache_path, name, source, _outside.hexdigest())


@functools.cache
def _source(path):
    return pathlib.Path(path).read_bytes()


def _file_of(body):
    """The text of the whole file, or notebook cell, that holds `body`: its constants and helpers are compiled too."""
    file = inspect.getsourcefile(body)
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    if not lines:
        raise ValueError(f"The body of a generic must be in a file, to notice edits; the source {file} cannot be read.")
    return "".join(lines)


class _Part(JITCodeLibrary):
    """Code that others take in, where LLVM optimises it. Its own machine code would never run, so there is none."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        whole, module = self._final_module, self._codegen._create_empty_module(self.name)
        for held in whole.global_variables:
            if "NumbaEnv" in held.name:  # numba fills it in
                place = ir.GlobalVariable(module, cgutils.voidptr_t, held.name)
                place.linkage, place.initializer = "common", ir.Constant(cgutils.voidptr_t, None)
        self._final_module = llvm.parse_assembly(str(module))
        super()._finalize_final_module()
        self._final_module = whole


class _PartCompiler(CompilerBase):
    def define_pipelines(self):
        state = self.state
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


_INSIDE = {"pipeline_class": _PartCompiler, "no_cpython_wrapper": True}


def _seal(compiled):
    """Python may not call a function without machine code."""

    def refuse(*args, **named):
        raise TypeError(f"Only compiled code may call {compiled.py_func.__name__}, which is jitted as inside.")

    compiled.add_overload = lambda result: compiled.overloads.update({tuple(result.signature.args): result})
    compiled._compile_for_args = refuse


def jit(function=None, *, inline=False, inside=False):
    """Compile `function`, keeping the machine code on disk between processes.

    _nrt=False: no reference counting, hence no allocation, which then is a compile error. `inline` asks LLVM to
    inline (numba's own inline="always" gave wrong results). `inside`: only compiled code calls it, which spares what
    unpacks Python's tuples of arrays, and its own machine code. No fastmath: sums keep their order on every machine.
    """
    if function is None:
        return functools.partial(jit, inline=inline, inside=inside)
    options = {"forceinline": inline, "_nrt": False, "no_cfunc_wrapper": True, **(_INSIDE if inside else {})}
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    if COMPILED:
        _compiled.append(compiled)
        _freshen(compiled)
        if inside:
            _seal(compiled)
    return compiled


def entry(function, *args):
    """The machine code of a function for arguments of these types: called without numba's look at every argument."""
    return function.compile(tuple(map(numba.typeof, args))) if COMPILED else function


def generic(stub=None, *, default=False, inline=False):
    """A function whose body is chosen by the NamedTuple type of its first argument.

    With `default`, the stub's own body serves the types that registered none.
    """
    if stub is None:
        return functools.partial(generic, default=default, inline=inline)
    table, fallback = {}, stub if default else None

    @functools.wraps(stub)
    def call(*args):
        return body_for(type(args[0]))(*args)

    def register(kind):
        def add(body):
            if kind in table:
                raise ValueError(f"{stub.__name__} has a body for {kind.__name__}, perhaps compiled: make a new type.")
            # Machine code kept by several processes is linked by name: two bodies named alike could be mixed up.
            body.__name__ = body.__qualname__ = f"{stub.__name__}_{kind.__name__}"
            if not f"{body.__module__}.".startswith(f"{__package__}."):
                _outside.update(_file_of(body).encode())
                for function in _compiled:
                    _freshen(function)
            table[kind] = body
            return body

        return add

    call.register, call.table = register, table

    def body_for(kind):
        body = table.get(kind, fallback)
        if body is None:
            raise TypeError(f"{stub.__name__} has no body for {kind.__name__}: {stub.__name__}.register adds one.")
        return body

    def choose(*kinds):
        return body_for(getattr(kinds[0], "instance_class", type(kinds[0])))

    options = {"_nrt": False, "forceinline": inline, "no_cfunc_wrapper": True, **_INSIDE}
    overload(call, strict=False, jit_options=options)(choose)
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


# Routines: machine code that numba's own calls by name. What is part of a caller is compiled again with each caller of
# the caller, which is most of the time that a learner takes to compile.

_routines = {}  # symbol: the engine that holds it


def routine(context, b, name, dtype, emit, args, unroll=True):
    """Call the routine that `emit(context, builder, dtype, *args)` writes for one type of elements; no result.

    `unroll`: whether LLVM may unroll loops further, which short ones of changing length do not like.
    """
    processor = hashlib.sha256(repr(context.codegen().magic_tuple()).encode()).hexdigest()[:8]
    symbol = f"onkel_{name}_{dtype}.{_engine.hexdigest()[:16]}.{processor}"
    kind = ir.FunctionType(ir.VoidType(), [arg.type for arg in args])
    if not _bring(symbol):
        module = ir.Module(symbol)
        function = ir.Function(module, kind, symbol)
        inside = ir.IRBuilder(function.append_basic_block())
        emit(context, inside, dtype, *function.args)
        inside.ret_void()
        code = _machine_code(str(module), context.codegen().magic_tuple(), unroll)
        _keep(symbol, code)
        _link(symbol, code)
    b.call(cgutils.get_or_insert_function(b.module, kind, symbol), args)


def _bring(symbol):
    """Whether the routine is there, or its machine code on disk."""
    if symbol not in _routines:
        with contextlib.suppress(OSError):
            digest, code = (lambda data: (data[:32], data[32:]))(_place(symbol).read_bytes())
            if hashlib.sha256(code).digest() == digest:
                _link(symbol, code)
    return symbol in _routines


def _place(symbol):
    """The file of its machine code, where numba keeps its own."""
    return pathlib.Path(_compiled[0]._cache.cache_path) / f"{symbol}.o"


def _keep(symbol, code):
    place = _place(symbol)
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(file.name, place)
        name, source, _ = symbol.rsplit(".", 2)
        _forget(place.parent.glob(f"{name}.*.o"), f"{name}.{source}.")


def _target(triple, processor, features):
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor, features=features, opt=3, codemodel="jitdefault", jit=True
    )


def _machine_code(text, machine, unroll):
    module, target = llvm.parse_assembly(text), _target(*machine)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = unroll
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return target.emit_object(module)


def _link(symbol, code):
    """Let numba's code find the routine."""
    empty = llvm.parse_assembly("")
    engine = llvm.create_mcjit_compiler(empty, llvm.Target.from_default_triple().create_target_machine(jit=True))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    llvm.add_symbol(symbol, engine.get_function_address(symbol))
    _routines[symbol] = engine
