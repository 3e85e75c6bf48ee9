"""Triangular matrices by rows, in machine vectors.

Row i of a matrix is row `row + i * step` of an array, and what lies beyond its diagonal is 0. A row is read up to the
next multiple of eight columns.
"""

import itertools

from llvmlite import ir
from numba.core import cgutils

from ._jit import routine, vector
from ._simd import LINE, ceil, integer, pointer
from ._vectors import Vectors

EIGHT = 8  # rows side by side: what is read of the other factor serves eight sums
TILE = 4  # machine vectors of columns that stay in registers


def stride(slots):
    """From one row of doubles to the next: an odd number of lines, or many would meet in a few sets of the cache."""
    return slots + LINE // 8


def _routine(name, emit):
    """Code that calls a routine for an array, where a matrix's rows lie in it, and other arguments."""

    def build(context, b, sig, args):
        a, row, step, *others = args
        stride = cgutils.unpack_tuple(b, context.make_array(sig.args[0])(context, b, a).shape, 2)[1]
        for i, kind in enumerate(sig.args[3:]):
            if hasattr(kind, "dtype"):
                others[i] = pointer(context, b, sig, args, i + 3)
        begin = b.gep(pointer(context, b, sig, args, 0), [b.mul(row, stride)])
        routine(context, b, name, sig.args[0].dtype, emit, [begin, b.mul(step, stride), *others], unroll=False)
        return context.get_dummy_value()

    return build


def _dots(context, b, dtype, a, stride, first, last, z, out):
    v = Vectors(context, b, dtype)
    parts = range(0, EIGHT, v.lanes)
    sums = [[cgutils.alloca_once(b, v.type) for _ in parts] for _ in range(v.lanes)]
    with cgutils.for_range(b, ceil(b, last, integer(EIGHT)), start=b.sdiv(first, integer(EIGHT))) as group:
        start = b.mul(group.index, integer(EIGHT))
        count = b.sub(last, start)
        rows = [b.gep(a, [b.mul(start, stride)])]
        for i in range(1, EIGHT):  # the last one again for those that are not there
            rows.append(b.gep(rows[-1], [b.select(b.icmp_signed("<", integer(i), count), stride, integer(0))]))
        for i in parts:  # as many rows as a machine vector has numbers
            for s in itertools.chain(*sums):
                b.store(v.const(0.0), s)
            with cgutils.for_range(b, b.add(group.index, integer(1))) as loop:
                for p, part in enumerate(parts):
                    at = b.add(b.mul(loop.index, integer(EIGHT)), integer(part))
                    values = v.load(z, at)
                    for s, row in zip(sums, rows[i:]):
                        b.store(v.fma(v.load(row, at), values, b.load(s[p])), s[p])
            total = v.totals([v.halved([b.load(part) for part in s]) for s in sums])
            number = ir.Constant(ir.VectorType(ir.IntType(64), v.lanes), list(range(i, i + v.lanes)))
            there = b.icmp_signed("<", number, v.spread(count))
            v.store(b.select(there, total, v.const(0.0)), out, b.add(start, integer(i)))


@vector(_routine("triangle_dots", _dots))
def triangle_dots(a, row, step, first, last, z, out):
    """out[i] = <row i, z> for first <= i < last, and 0 up to a multiple of eight, which `first` is."""
    out[first : -(-last // EIGHT) * EIGHT] = 0.0
    n = -(-last // EIGHT) * EIGHT
    out[first:last] = a[row + first * step : row + last * step : step, :n] @ z[:n]


def _exchange(context, b, dtype, a, stride, n, x, y, z):
    v = Vectors(context, b, dtype)
    size = TILE * v.lanes
    lanes = ir.Constant(ir.VectorType(ir.IntType(64), v.lanes), list(range(v.lanes)))
    values = [cgutils.alloca_once_value(b, v.const(0.0)) for _ in range(TILE)]

    def pass_row(i, start, active):
        here = b.add(b.mul(i, stride), start)
        one, scalar = (b.load(b.gep(p, [i])) for p in (x, y))
        one, other = v.spread(one), v.spread(scalar)
        for k, value in enumerate(values[:active]):
            at = b.add(here, integer(k * v.lanes))
            old, so_far = v.load(a, at), b.load(value)
            v.store(v.fma(one, so_far, old), a, at)
            b.store(v.fma(other, old, so_far), value)
        return other

    with cgutils.for_range(b, ceil(b, n, integer(size))) as tile:
        start = b.mul(tile.index, integer(size))
        for value in values:
            b.store(v.const(0.0), value)
        for k, value in enumerate(values):  # the rows that end in this tile
            low, high = (b.add(start, integer(i * v.lanes)) for i in (k, k + 1))
            high = b.select(b.icmp_signed("<", n, high), n, high)
            with cgutils.for_range(b, high, start=low) as loop:
                other = pass_row(loop.index, start, k + 1)
                here = b.icmp_signed("==", lanes, v.spread(b.sub(loop.index, low)))
                b.store(b.select(here, other, b.load(value)), value)
        with cgutils.for_range(b, n, start=b.add(start, integer(size))) as loop:
            pass_row(loop.index, start, TILE)
        for k, value in enumerate(values):
            v.store(b.load(value), z, b.add(start, integer(k * v.lanes)))


@vector(_routine("triangle_exchange", _exchange))
def triangle_exchange(a, row, step, n, x, y, z):
    """z = 0; then for every row i < n: it gains x[i] z, and z gains y[i] times what it was, and z[i] = y[i].

    The diagonal is 0, too, and stands for ones. z is cleared up to a multiple of eight.
    """
    z[: -(-n // EIGHT) * EIGHT] = 0.0
    for i in range(n):
        old = a[row + i * step, :i].copy()
        a[row + i * step, :i] += x[i] * z[:i]
        z[:i] += y[i] * old
        z[i] = y[i]


def _sums(context, b, dtype, a, stride, n, y, out):
    v = Vectors(context, b, dtype)
    size = TILE * v.lanes
    values = [cgutils.alloca_once_value(b, v.const(0.0)) for _ in range(TILE)]

    def pass_row(i, start, active):
        here, factor = b.add(b.mul(i, stride), start), v.spread(b.load(b.gep(y, [i])))
        for k, value in enumerate(values[:active]):
            b.store(v.fma(factor, v.load(a, b.add(here, integer(k * v.lanes))), b.load(value)), value)

    with cgutils.for_range(b, ceil(b, n, integer(size))) as tile:
        start = b.mul(tile.index, integer(size))
        for value in values:
            b.store(v.const(0.0), value)
        with cgutils.for_range(b, n, start=start) as loop:
            pass_row(loop.index, start, TILE)
        for k, value in enumerate(values):
            v.store(b.load(value), out, b.add(start, integer(k * v.lanes)))


@vector(_routine("triangle_sums", _sums))
def triangle_sums(a, row, step, n, y, out):
    """out = sum of y[i] times row i, for i < n."""
    out[:n] = y[:n] @ a[row : row + n * step : step, :n]
