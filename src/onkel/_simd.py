"""Vector routines on whole arrays. Each body is NumPy that says what is computed; `vector` swaps in machine code.

Sums are taken in an order that does not depend on the machine's vector length: same bits with AVX2 and AVX-512.
An array and the position in it travel apart: slices inside a hot loop cost time.
"""

import ctypes

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import populate_array

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


def _flat(context, b, sig, args):
    old = context.make_array(sig.args[0])(context, b, args[0])
    new = context.make_array(sig.return_type)(context, b)
    size = context.get_constant(types.intp, sig.args[0].dtype.bitwidth // 8)
    populate_array(new, old.data, [old.nitems], [size], size, old.meminfo)
    return new._getvalue()


@vector(_flat, returns=lambda a: a.copy(ndim=1))
def flat(a):
    """A contiguous array as one of a single axis; NumPy's own ways are calls, once compiled."""
    return a.reshape(-1)


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


def _exps_at(context, b, dtype, bases, stride, which, rates, place, capacity, count, columns, m, k, slots):
    v = Vectors(context, b, dtype)
    with cgutils.for_range(b, m) as kernel:
        i = kernel.index
        base, n = b.load(b.gep(which, [i])), b.load(b.gep(count, [b.mul(i, columns)]))
        with b.if_then(b.icmp_signed(">=", base, integer(0))):
            rate = b.fneg(b.load(b.gep(rates, [i])))
            scale = v.spread(rate if v.double else b.fptrunc(rate, v.scalar))
            values, places = b.gep(bases, [b.mul(base, stride)]), b.gep(place, [b.mul(i, capacity)])
            out, last = b.gep(k, [b.mul(i, slots)]), b.sub(n, integer(1))
            with cgutils.for_range(b, ceil(b, n, integer(v.lanes))) as loop:
                j, x = b.mul(loop.index, integer(v.lanes)), ir.Constant(v.type, ir.Undefined)
                for lane in range(v.lanes):
                    at = b.add(j, integer(lane))
                    at = b.load(b.gep(places, [b.select(b.icmp_signed("<", at, last), at, last)]))
                    x = b.insert_element(x, b.load(b.gep(values, [at])), ir.Constant(ir.IntType(32), lane))
                v.store(v.exp(b.fmul(x, scale)), out, j)


def _call_exps_at(context, b, sig, args):
    bases, which, rates, place, count, k = (pointer(context, b, sig, args, i) for i in range(6))
    shapes = [context.make_array(sig.args[i])(context, b, args[i]).shape for i in (0, 3, 4, 5)]
    (_, stride), (m, capacity), (_, columns), (_, slots) = (cgutils.unpack_tuple(b, shape, 2) for shape in shapes)
    args = [bases, stride, which, rates, place, capacity, count, columns, m, k, slots]
    routine(context, b, "exps_at", sig.args[0].dtype, _exps_at, args)
    return context.get_dummy_value()


@vector(_call_exps_at)
def exps_at(bases, which, rates, place, count, k):
    """k[i] = exp(-rates[i] * bases[which[i]]) at the first count[i, 0] of the places place[i], where which[i] >= 0."""
    for i in np.flatnonzero(which >= 0):
        n = count[i, 0]
        k[i, :n] = np.exp(bases.dtype.type(-rates[i]) * bases[which[i], place[i, :n]])


def _copy_row(put):
    """Code that copies a row of a matrix, or to it."""

    def build(context, b, sig, args):
        v = Vectors(context, b, sig.args[0].dtype)
        a, k = (pointer(context, b, sig, args, i) for i in (0, 2))
        shape = context.make_array(sig.args[0])(context, b, args[0]).shape
        a = b.gep(a, [b.mul(args[1], cgutils.unpack_tuple(b, shape, 2)[1])])
        source, target = (k, a) if put else (a, k)
        with cgutils.for_range(b, ceil(b, args[3], integer(v.lanes))) as loop:
            i = b.mul(loop.index, integer(v.lanes))
            v.store(v.load(source, i), target, i)
        return context.get_dummy_value()

    return build


@vector(_copy_row(put=False))
def take_row(a, row, k, n):
    """k = a[row], the first n entries."""
    k[:n] = a[row, :n]


@vector(_copy_row(put=True))
def put_row(a, row, k, n):
    """a[row] = k, the first n entries."""
    a[row, :n] = k[:n]


def _each(change):
    """Code for a[i] = change(a[i], i of other arrays, numbers) over whole vectors covering i < n.

    What is called has the arrays first, then n, then the numbers.
    """

    def build(context, b, sig, args):
        dtype = sig.args[0].dtype
        v, count = Vectors(context, b, dtype), sum(isinstance(kind, types.Array) for kind in sig.args)
        arrays = [pointer(context, b, sig, args, i) for i in range(count)]
        numbers = [context.cast(b, x, kind, dtype) for x, kind in zip(args[count + 1 :], sig.args[count + 1 :])]
        numbers = [v.spread(x) for x in numbers]
        with cgutils.for_range(b, ceil(b, args[count], integer(v.lanes))) as loop:
            i = b.mul(loop.index, integer(v.lanes))
            v.store(change(v, *(v.load(a, i) for a in arrays), *numbers), arrays[0], i)
        return context.get_dummy_value()

    return build


@vector(_each(lambda v, a, most: v.smaller(v.larger(a, v.b.fneg(most)), most)))
def clamp(a, n, most):
    """No entry of a larger than `most`, whatever its sign."""
    a[:n] = np.clip(a[:n], -most, most)


def _squares_at(v, a, rows, stride, factor, i):
    """The machine vector at i of the sum over the rows of (factor * a[row])^2."""
    b, total = v.b, cgutils.alloca_once(v.b, v.type)
    b.store(v.const(0.0), total)
    with cgutils.for_range(b, rows) as row:
        x = b.fmul(factor, v.load(a, b.add(b.mul(row.index, stride), i)))
        b.store(b.fadd(b.load(total), b.fmul(x, x)), total)
    return b.load(total)


def _squares_of(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    a, out = (pointer(context, b, sig, args, i) for i in (0, 1))
    shape = context.make_array(sig.args[0])(context, b, args[0]).shape
    rows, stride = cgutils.unpack_tuple(b, shape, 2)
    factor = v.spread(context.cast(b, args[3], sig.args[3], sig.args[0].dtype))
    with cgutils.for_range(b, ceil(b, args[2], integer(v.lanes))) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        v.store(_squares_at(v, a, rows, stride, factor, i), out, i)
    return context.get_dummy_value()


@vector(_squares_of)
def squares_of(a, out, n, factor):
    """out[i] = sum over the rows of (factor * a[row, i])^2, for the first n columns."""
    out[:n] = ((factor * a[:, :n]) ** 2).cumsum(0)[-1]


def _sum_of_squares(context, b, sig, args):
    scalar, bytes_ = context.get_data_type(sig.args[0].dtype), sig.args[0].dtype.bitwidth // 8
    four = ir.VectorType(scalar, 4)
    values, count = b.gep(pointer(context, b, sig, args, 0), [args[1]]), b.sub(args[2], args[1])
    sums, rest = cgutils.alloca_once_value(b, ir.Constant(four, None)), b.and_(count, integer(3))
    with cgutils.for_range(b, b.ashr(count, integer(2))) as loop:
        x = b.load(b.bitcast(b.gep(values, [b.mul(loop.index, integer(4))]), four.as_pointer()), align=bytes_)
        b.store(b.fadd(b.load(sums), b.fmul(x, x)), sums)
    lanes = [b.extract_element(b.load(sums), ir.Constant(ir.IntType(32), i)) for i in range(4)]
    first = cgutils.alloca_once_value(b, lanes[0])
    with cgutils.for_range(b, rest) as loop:
        x = b.load(b.gep(values, [b.add(b.sub(count, rest), loop.index)]))
        b.store(b.fadd(b.load(first), b.fmul(x, x)), first)
    return b.fadd(b.fadd(b.load(first), lanes[1]), b.fadd(lanes[2], lanes[3]))


@vector(_sum_of_squares, returns=lambda values, *_: values.dtype)
def sum_of_squares(values, start, stop):
    """That of values[start:stop]: four sums side by side, in one order on any machine."""
    x = values[start:stop]
    whole = len(x) - len(x) % 4
    a, b, c, d = np.vstack([np.zeros(4, x.dtype), (x * x)[:whole].reshape(-1, 4)]).cumsum(0)[-1]
    a = np.append(a, (x * x)[whole:]).cumsum()[-1]
    return (a + b) + (c + d)


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


class _Least:
    """The smallest of the values at positions below n that are considered, in order; of equals the first."""

    def __init__(self, v, n):
        self.v, self.b = v, v.b
        self.count = ir.IntType(64 if v.double else 32)  # as wide as the values
        self.end, self.kind = v.spread(self._own(n)), ir.VectorType(self.count, v.lanes)
        self.lanes = ir.Constant(self.kind, list(range(v.lanes)))
        self.least = cgutils.alloca_once_value(v.b, v.const(float("inf")))
        self.where = cgutils.alloca_once_value(v.b, ir.Constant(self.kind, [0] * v.lanes))

    def _own(self, n):
        return n if self.v.double else self.b.trunc(n, self.count)

    def consider(self, x, i):
        """The values x of the positions from i on."""
        b, here = self.b, self.b.add(self.v.spread(self._own(i)), self.lanes)
        less = b.and_(b.fcmp_ordered("<", x, b.load(self.least)), b.icmp_signed("<", here, self.end))
        b.store(b.select(less, x, b.load(self.least)), self.least)
        b.store(b.select(less, here, b.load(self.where)), self.where)

    def position(self):
        b, n = self.b, self.v.lanes
        x, at, half = b.load(self.least), b.load(self.where), n // 2
        while half:  # the better of every lane and the one `half` further
            turned = ir.Constant(ir.VectorType(ir.IntType(32), n), [i ^ half for i in range(n)])
            y, other = b.shuffle_vector(x, x, turned), b.shuffle_vector(at, at, turned)
            tie = b.and_(b.fcmp_ordered("==", y, x), b.icmp_signed("<", other, at))
            better = b.or_(b.fcmp_ordered("<", y, x), tie)
            x, at, half = b.select(better, y, x), b.select(better, other, at), half // 2
        first = b.extract_element(at, ir.Constant(ir.IntType(32), 0))
        return first if self.v.double else b.sext(first, I64)


def _first_least(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    values, n = pointer(context, b, sig, args, 0), args[1]
    best = _Least(v, n)
    with cgutils.for_range(b, ceil(b, n, integer(v.lanes))) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        best.consider(v.load(values, i), i)
    return best.position()


@vector(_first_least, returns=lambda values, n: types.int64)
def first_least(values, n):
    """Position of the smallest of the first n entries; of equals the first. Beyond n there are entries up to a line."""
    return int(np.argmin(values[:n]))


def _least_alone(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    coef, k, diag = (pointer(context, b, sig, args, i) for i in (0, 2, 3))
    outputs, stride = cgutils.unpack_tuple(b, context.make_array(sig.args[0])(context, b, args[0]).shape, 2)
    scale, share = (v.spread(context.cast(b, args[i], sig.args[i], sig.args[0].dtype)) for i in (1, 4))
    best = _Least(v, args[5])
    with cgutils.for_range(b, ceil(b, args[5], integer(v.lanes))) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        weights, z = _squares_at(v, coef, outputs, stride, scale, i), v.load(k, i)
        apart = b.fsub(v.load(diag, i), b.fmul(z, b.fmul(z, share)))
        best.consider(b.fmul(weights, apart), i)
    return best.position()


@vector(_least_alone, returns=lambda *_: types.int64)
def least_alone(coef, scale, k, diag, share, n):
    """First i < n with the least |scale coef[:, i]|^2 (diag[i] - share k[i]^2)."""
    weights = ((coef.dtype.type(scale) * coef[:, :n]) ** 2).cumsum(0)[-1]
    return int(np.argmin(weights * (diag[:n] - k[:n] * (k[:n] * coef.dtype.type(share)))))


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


def _scaled(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    a, z = (b.gep(pointer(context, b, sig, args, i), [args[i + 1]]) for i in (0, 4))
    scale = v.spread(context.cast(b, args[3], sig.args[3], sig.args[0].dtype))
    with cgutils.for_range(b, ceil(b, args[2], integer(v.lanes))) as loop:
        i = b.mul(loop.index, integer(v.lanes))
        v.store(b.fmul(scale, v.load(a, i)), z, i)
    return context.get_dummy_value()


@vector(_scaled)
def scaled(a, start, n, scale, z, at):
    """z[at:] = scale * a[start:], n entries."""
    z[at : at + n] = scale * a[start : start + n]


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
