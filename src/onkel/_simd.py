"""Vector routines on whole arrays. Each body is NumPy that says what is computed; `vector` swaps in machine code.

Sums are taken in an order that does not depend on the machine's vector length: same bits with AVX2 and AVX-512.
An array and the position in it travel apart: slices inside a hot loop cost time.
"""

import ctypes

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._jit import routine, vector
from ._vectors import SINCOS_LIMIT, Vectors

LINE = 64  # bytes of a cache line
BLOCK = 32  # elements summed side by side in `dot`; what it reads is padded to a multiple
HADAMARD = 16  # entries that `turn` combines; the least length of a Hadamard transform
I64 = ir.IntType(64)


def aligned(shape, dtype):
    """Zeros whose first element starts a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + size].view(dtype).reshape(shape)


def pointer(context, b, sig, args, i):
    return context.make_array(sig.args[i])(context, b, args[i]).data


def integer(n):
    return ir.Constant(I64, n)


def ceil(b, n, step):
    return b.sdiv(b.add(n, b.sub(step, integer(1))), step)


def _exp_of(context, b, dtype, k, n, scale):
    v = Vectors(context, b, dtype)
    scale = v.spread(scale)
    with cgutils.for_range(b, ceil(b, n, integer(v.lanes))) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        v.store(v.exp(b.fmul(v.load(k, i), scale)), k, i)


def _call_exp_of(context, b, sig, args):
    dtype = sig.args[0].dtype
    args = [pointer(context, b, sig, args, 0), args[1], context.cast(b, args[2], sig.args[2], dtype)]
    routine(context, b, "exp_of", dtype, _exp_of, args)
    return context.get_dummy_value()


@vector(_call_exp_of)
def exp_of(k, n, scale):
    """k = exp(scale * k) for the first n entries; scale * k <= 0."""
    k[:n] = np.exp(scale * k[:n])


def _take_row(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    a, k = (pointer(context, b, sig, args, i) for i in (0, 2))
    shape = context.make_array(sig.args[0])(context, b, args[0]).shape
    base = b.mul(args[1], cgutils.unpack_tuple(b, shape, 2)[1])
    with cgutils.for_range(b, ceil(b, args[3], integer(v.lanes))) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        v.store(v.load(a, b.add(base, i)), k, i)
    return context.get_dummy_value()


@vector(_take_row)
def take_row(a, row, k, n):
    """k = a[row], the first n entries."""
    k[:n] = a[row, :n]


def _with_norms(change):
    """Code for k[i] = max(change(k[i], norms[i], xx), 0) over whole vectors covering i < n."""

    def build(context, b, sig, args):
        v = Vectors(context, b, sig.args[0].dtype)
        k, norms = (pointer(context, b, sig, args, i) for i in (0, 1))
        xx = v.spread(context.cast(b, args[3], sig.args[3], sig.args[0].dtype))
        with cgutils.for_range(b, ceil(b, args[2], integer(v.lanes))) as loop:
            i = b.mul(loop.index, integer(v.lanes))
            d = change(v, v.load(k, i), v.load(norms, i), xx)
            v.store(b.select(b.fcmp_ordered(">", d, v.const(0.0)), d, v.const(0.0)), k, i)
        return context.get_dummy_value()

    return build


@vector(_with_norms(lambda v, k, norm, xx: v.fma(v.const(-2.0), k, v.b.fadd(norm, xx))))
def sqdists_of_dots(k, norms, n, xx):
    """k = |x - z|^2 from k = <x, z>, |z|^2 and |x|^2, never below zero."""
    k[:n] = np.maximum(xx + norms[:n] - 2 * k[:n], 0)


@vector(_with_norms(lambda v, k, norm, xx: v.b.fadd(norm, k)))
def l1dists_of_excess(k, norms, n, unused):
    """k = |x - z| from k = |x - z| - |z| and |z| (1-norms), never below zero."""
    k[:n] = np.maximum(norms[:n] + k[:n], 0)


def _no_bad(context, b, dtype, values, n, verdict):
    v = Vectors(context, b, dtype)
    zero, sums = v.const(0.0), cgutils.alloca_once_value(b, v.const(0.0))
    whole = b.sdiv(n, integer(v.lanes))
    with cgutils.for_range(b, whole) as loop:
        x = v.load(values, b.mul(loop.index, integer(v.lanes)))
        b.store(v.fma(x, zero, b.load(sums)), sums)  # infinity times 0 is no number
    total = cgutils.alloca_once_value(b, v.total([b.load(sums)]))
    with cgutils.for_range(b, n, start=b.mul(whole, integer(v.lanes))) as loop:
        x = b.load(b.gep(values, [loop.index]))
        b.store(b.fadd(b.fmul(x, ir.Constant(v.scalar, 0.0)), b.load(total)), total)
    bad = b.fcmp_unordered("!=", b.load(total), ir.Constant(v.scalar, 0.0))
    with b.if_then(bad, likely=False):
        b.store(integer(0), verdict)


def _all_finite(context, b, sig, args):
    places, sizes, wide = (pointer(context, b, sig, args, i) for i in range(3))
    shape = context.make_array(sig.args[0])(context, b, args[0]).shape
    verdict = cgutils.alloca_once_value(b, integer(1))
    with cgutils.for_range(b, cgutils.unpack_tuple(b, shape, 1)[0]) as loop:
        place, size = (b.load(b.gep(a, [loop.index])) for a in (places, sizes))
        double = b.icmp_signed("!=", b.load(b.gep(wide, [loop.index])), integer(0))
        with b.if_else(double) as (yes, no):
            for branch, dtype in ((yes, types.float64), (no, types.float32)):
                with branch:
                    values = b.inttoptr(place, context.get_data_type(dtype).as_pointer())
                    routine(context, b, "no_bad", dtype, _no_bad, [values, size, verdict])
    return b.load(verdict)


@vector(_all_finite, returns=lambda places, sizes, wide: types.int64)
def all_finite(places, sizes, wide):
    """Whether arrays hold finite numbers only, given their addresses, sizes, and whether they are of doubles."""
    kinds = ((ctypes.c_double if double else ctypes.c_float) * int(n) for n, double in zip(sizes, wide))
    return int(all(np.isfinite(kind.from_address(int(place))).all() for place, kind in zip(places, kinds)))


def _first_least(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    values, n = pointer(context, b, sig, args, 0), args[1]
    indices = ir.VectorType(I64, v.lanes)
    least = cgutils.alloca_once_value(b, v.const(float("inf")))
    where = cgutils.alloca_once_value(b, ir.Constant(indices, [0] * v.lanes))
    lanes = ir.Constant(indices, list(range(v.lanes)))
    whole = b.sdiv(n, integer(v.lanes))
    with cgutils.for_range(b, whole) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        x = v.load(values, i)
        less = b.fcmp_ordered("<", x, b.load(least))
        here = b.add(v.spread(i), lanes)
        b.store(b.select(less, x, b.load(least)), least)
        b.store(b.select(less, here, b.load(where)), where)
    best = cgutils.alloca_once_value(b, ir.Constant(v.scalar, float("inf")))
    first = cgutils.alloca_once_value(b, integer(0))

    def consider(x, i):
        tie = b.and_(b.fcmp_ordered("==", x, b.load(best)), b.icmp_signed("<", i, b.load(first)))
        better = b.or_(b.fcmp_ordered("<", x, b.load(best)), tie)
        b.store(b.select(better, x, b.load(best)), best)
        b.store(b.select(better, i, b.load(first)), first)

    for lane in range(v.lanes):
        at = ir.Constant(ir.IntType(32), lane)
        consider(b.extract_element(b.load(least), at), b.extract_element(b.load(where), at))
    with cgutils.for_range(b, n, start=b.mul(whole, integer(v.lanes))) as loop:
        consider(b.load(b.gep(values, [loop.index])), loop.index)
    return b.load(first)


@vector(_first_least, returns=lambda values, n: types.int64)
def first_least(values, n):
    """Position of the smallest of the first n entries; of equals the first."""
    return int(np.argmin(values[:n]))


def _lowest_bit(context, b, sig, args):
    return b.cttz(args[0], ir.Constant(ir.IntType(1), 1))


@vector(_lowest_bit, returns=lambda word: types.int64)
def lowest_bit(word):
    """Number of the lowest bit that is set, counted from 0."""
    return (int(word) & -int(word)).bit_length() - 1


def _dot(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    a, k = (pointer(context, b, sig, args, i) for i in (0, 2))
    k = b.gep(k, [args[3]])
    shape = context.make_array(sig.args[0])(context, b, args[0]).shape
    base = b.mul(args[1], cgutils.unpack_tuple(b, shape, 2)[1])
    sums = [cgutils.alloca_once_value(b, v.const(0.0)) for _ in range(BLOCK // v.lanes)]
    with cgutils.for_range(b, ceil(b, args[4], integer(BLOCK))) as loop:
        start = b.mul(loop.index, integer(BLOCK))
        for i, s in enumerate(sums):
            at = b.add(start, integer(i * v.lanes))
            b.store(v.fma(v.load(a, b.add(base, at)), v.load(k, at), b.load(s)), s)
    return v.total([b.load(s) for s in sums])


@vector(_dot, returns=lambda a, *_: a.dtype)
def dot_from(a, row, k, start, n):
    """<a[row], k[start:]> over n entries; beyond n, up to a multiple of BLOCK, one of the two holds zeros."""
    return a[row, :n] @ k[start : start + n]


@vector(lambda context, b, sig, args: _dot(context, b, sig, _without_start(args)), returns=lambda a, *_: a.dtype)
def dot(a, row, k, n):
    """<a[row], k> over the first n entries, with zeros beyond as for `dot_from`."""
    return a[row, :n] @ k[:n]


def _without_start(args):
    a, row, k, n = args
    return a, row, k, integer(0), n


def _add_times(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    a, z = (pointer(context, b, sig, args, i) for i in (0, 2))
    z = b.gep(z, [args[3]])
    shape = context.make_array(sig.args[0])(context, b, args[0]).shape
    base = b.mul(args[1], cgutils.unpack_tuple(b, shape, 2)[1])
    factor = v.spread(context.cast(b, args[5], sig.args[5], sig.args[0].dtype))
    with cgutils.for_range(b, ceil(b, args[4], integer(v.lanes))) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        at = b.add(base, i)
        v.store(v.fma(factor, v.load(z, i), v.load(a, at)), a, at)
    return context.get_dummy_value()


@vector(_add_times)
def add_times(a, row, z, start, n, factor):
    """a[row] += factor * z[start:] over n entries; beyond n, up to a line, z holds zeros."""
    a[row, :n] += factor * z[start : start + n]


def _double(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    z, out = (b.gep(pointer(context, b, sig, args, i), [args[i + 1]]) for i in (0, 5))
    gap, scalar = args[3], context.cast(b, args[4], sig.args[4], sig.args[0].dtype)
    once, twice = v.spread(scalar), v.spread(b.fadd(scalar, scalar))
    with cgutils.for_range(b, ceil(b, args[2], integer(v.lanes))) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        sine, cosine = v.load(z, i), v.load(z, b.add(gap, i))
        v.store(b.fmul(b.fmul(twice, sine), cosine), out, i)
        squares = b.fmul(b.fadd(cosine, sine), b.fsub(cosine, sine))
        v.store(b.fmul(once, squares), out, b.add(gap, i))
    return context.get_dummy_value()


@vector(_double)
def double_angles(z, start, n, gap, root, out, at):
    """out[at:] = sin 2x / root and out[at + gap:] = cos 2x / root, from those of x (see `sincos_of`).

    An error of sin x or cos x doubles; zeros stay zeros.
    """
    sine, cosine = z[start : start + n].copy(), z[start + gap : start + gap + n].copy()
    out[at : at + n] = 2 * root * sine * cosine
    out[at + gap : at + gap + n] = root * ((cosine + sine) * (cosine - sine))


def _sincos(context, b, dtype, z, n, gap, factor):
    v = Vectors(context, b, dtype)
    amplitude, limit = v.spread(factor), v.const(SINCOS_LIMIT[dtype.bitwidth])
    with cgutils.for_range(b, ceil(b, n, integer(v.lanes))) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        x = v.load(z, i)
        sine, cosine = v.sincos(x)
        v.store(b.fmul(amplitude, sine), z, i)
        v.store(b.fmul(amplitude, cosine), z, b.add(gap, i))
        with b.if_then(v.any(b.fcmp_ordered(">", v.call("fabs", x), limit)), likely=False):
            for lane in range(v.lanes):
                one = b.extract_element(x, ir.Constant(ir.IntType(32), lane))
                for name, first in (("llvm.sin", i), ("llvm.cos", b.add(gap, i))):
                    exact = b.call(b.module.declare_intrinsic(name, [v.scalar]), [one])
                    b.store(b.fmul(exact, factor), b.gep(z, [b.add(first, integer(lane))]))


def _call_sincos(context, b, sig, args):
    dtype = sig.args[0].dtype
    z = b.gep(pointer(context, b, sig, args, 0), [args[1]])
    routine(context, b, "sincos_of", dtype, _sincos, [z, *args[2:4], context.cast(b, args[4], sig.args[4], dtype)])
    return context.get_dummy_value()


@vector(_call_sincos)
def sincos_of(z, start, n, gap, amplitude):
    """z[start:] = amplitude * sin of what is there, n entries, and z[start + gap:] = amplitude * its cosine."""
    x = z[start : start + n].copy()
    z[start : start + n] = amplitude * np.sin(x)
    z[start + gap : start + gap + n] = amplitude * np.cos(x)


# The fast Walsh-Hadamard transform: x_i and x_(i + h) become their sum and difference, for h = 1, 2, 4, ...


def _turn(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    x, diagonals = (pointer(context, b, sig, args, i) for i in (0, 1))
    shape = context.make_array(sig.args[1])(context, b, args[1]).shape
    _, rows, p = cgutils.unpack_tuple(b, shape, 3)
    base = b.mul(b.add(b.mul(args[2], rows), args[3]), p)

    def within(value, h):
        partner = ir.Constant(ir.VectorType(ir.IntType(32), v.lanes), [lane ^ h for lane in range(v.lanes)])
        sign = ir.Constant(v.type, [-1.0 if lane & h else 1.0 for lane in range(v.lanes)])
        return v.fma(sign, value, b.shuffle_vector(value, value, partner))

    with cgutils.for_range(b, b.sdiv(p, integer(HADAMARD))) as loop:
        at = [b.add(b.mul(loop.index, integer(HADAMARD)), integer(i)) for i in range(0, HADAMARD, v.lanes)]
        part = [b.fmul(v.load(x, i), v.load(diagonals, b.add(base, i))) for i in at]
        for h in (1, 2, 4, 8):
            if h < v.lanes:
                part = [within(value, h) for value in part]
                continue
            step, after = h // v.lanes, list(part)
            for i in (i for i in range(len(part)) if not i & step):
                after[i], after[i + step] = b.fadd(part[i], part[i + step]), b.fsub(part[i], part[i + step])
            part = after
        for value, i in zip(part, at):
            v.store(value, x, i)
    return context.get_dummy_value()


def _paired(x, h):
    pairs = x.reshape(-1, 2, h)
    return np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)


@vector(_turn)
def turn(x, diagonals, k, row):
    """x <- diag(diagonals[k, row]) x, then the first steps of its Hadamard transform, all with h < HADAMARD."""
    x *= diagonals[k, row]
    for h in (1, 2, 4, 8):
        x[:] = _paired(x, h)


def _butterflies(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    x, h = pointer(context, b, sig, args, 0), args[1]
    with cgutils.for_range(b, b.sdiv(args[2], b.mul(integer(2), h))) as pairs:
        start = b.mul(pairs.index, b.mul(integer(2), h))
        with cgutils.for_range(b, b.sdiv(h, integer(v.lanes))) as loop:
            i = b.add(start, b.mul(loop.index, integer(v.lanes)))
            j = b.add(i, h)
            one, other = v.load(x, i), v.load(x, j)
            v.store(b.fadd(one, other), x, i)
            v.store(b.fsub(one, other), x, j)
    return context.get_dummy_value()


@vector(_butterflies)
def butterflies(x, h, p):
    """The step h of the Hadamard transform of x, of length p; h is a multiple of HADAMARD."""
    x[:] = _paired(x, h)
