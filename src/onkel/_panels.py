"""Panels: inner products and distances of one example with all stored points, in machine vectors.

A panel array (panels, d, width) holds in [p, j, i] feature j of point p * width + i. A row of a panel is contiguous, so
one value of x meets a whole machine vector of points, and the sums stay in registers over all of x.
"""

import numpy as np
from numba.core import cgutils

from ._jit import routine, vector
from ._simd import BLOCK, I64, LINE, ceil, integer, pointer
from ._vectors import Vectors


def panel_shape(capacity, dtype):
    """(panels, width) for at least `capacity` points.

    One panel while 16 lines hold them (above 8 lines an even number, which halves the code to compile); beyond, panels
    of 16 lines, so that a dictionary grows by appending panels.
    """
    line = LINE // np.dtype(dtype).itemsize
    lines = min(-(-capacity // line), 16)
    width = (lines + lines % 2 if lines > 8 else lines) * line
    return -(-capacity // width), width


def slots(capacity, dtype):
    """Length of the arrays that go with the panels: one entry per point, padded for `dot`."""
    panels, width = panel_shape(capacity, dtype)
    return padded(panels * width)


def padded(n):
    """The next multiple of what `dot` reads at once."""
    return -(-n // BLOCK) * BLOCK


def _panel(term, sparse, finish=None):
    """Code for out[at + i] = sum over j of term(x_j, point i's j), for the first n points of one panel.

    With `finish`, out[i] = finish(the sum, the point's norm, x's own).
    """

    def emit(context, b, dtype, values, indices, points, out, start, stop, d, width, slot, n, *measured):
        v = Vectors(context, b, dtype)
        norms, own = (measured[0], v.spread(measured[1])) if finish else (None, None)
        base = b.mul(slot, d)
        line = LINE * 8 // dtype.bitwidth
        side = line // v.lanes  # machine vectors in a line
        most = v.most // side
        wanted = ceil(b, n, integer(line))
        odd = b.and_(wanted, b.zext(b.icmp_signed(">", wanted, integer(8)), I64))
        wanted = b.add(wanted, odd)  # as `panel_shape` rounds
        block = cgutils.alloca_once_value(b, wanted)
        with b.if_then(b.icmp_signed(">", wanted, integer(most)), likely=False):
            b.store(ceil(b, wanted, ceil(b, wanted, integer(most))), block)
        block = b.load(block)
        sums = [cgutils.alloca_once(b, v.type) for _ in range(most * side)]
        done = cgutils.alloca_once_value(b, integer(0))
        head, end = b.append_basic_block("head"), b.append_basic_block("end")
        b.branch(head)
        b.position_at_end(head)
        left = b.sub(wanted, b.load(done))
        switch = b.switch(b.select(b.icmp_signed("<", left, block), left, block), end)
        for m in (m for m in range(1, most + 1) if m <= 8 or m % 2 == 0):  # m lines of points side by side
            case = b.append_basic_block(f"lines{m}")
            switch.add_case(integer(m), case)
            b.position_at_end(case)
            active = sums[: m * side]
            lane = b.mul(b.load(done), integer(line))
            for s in active:
                b.store(v.const(0.0), s)
            with cgutils.for_range(b, stop, start=start) as loop:
                x = v.spread(b.load(b.gep(values, [loop.index])))
                j = b.sext(b.load(b.gep(indices, [loop.index])), I64) if sparse else b.sub(loop.index, start)
                row = b.add(b.add(base, b.mul(j, width)), lane)
                for i, s in enumerate(active):
                    z = v.load(points, b.add(row, integer(i * v.lanes)))
                    b.store(term(v, x, z, b.load(s)), s)
            for i, s in enumerate(active):
                at, value = b.add(b.add(slot, lane), integer(i * v.lanes)), b.load(s)
                v.store(finish(v, value, v.load(norms, at), own) if finish else value, out, at)
            b.store(b.add(b.load(done), integer(m)), done)
            b.branch(head)
        b.position_at_end(end)

    def build(context, b, sig, args):
        values, indices, points, out = (pointer(context, b, sig, args, i) for i in (0, 1, 4, 7))
        start, stop, panel, n, at = (args[i] for i in (2, 3, 5, 6, 8))
        measured = []
        if finish:
            measured = [pointer(context, b, sig, args, 9), context.cast(b, args[10], sig.args[10], sig.args[0].dtype)]
        shape = context.make_array(sig.args[4])(context, b, args[4]).shape
        _, d, width = cgutils.unpack_tuple(b, shape, 3)
        slot = b.mul(panel, width)  # the panel's first point
        args = [values, indices, points, b.gep(out, [at]), start, stop, d, width, slot, n, *measured]
        name = f"panel{term.__name__}{sparse:d}{finish.__name__ if finish else ''}"
        routine(context, b, name, sig.args[0].dtype, emit, args)
        return context.get_dummy_value()

    return build


def _product(v, x, z, s):
    return v.fma(x, z, s)


def _square(v, x, z, s):
    gap = v.b.fsub(x, z)
    return v.fma(gap, gap, s)


def _distance(v, x, z, s):
    return v.b.fadd(s, v.call("fabs", v.b.fsub(x, z)))


def _excess(v, x, z, s):
    return v.b.fadd(s, v.b.fsub(v.call("fabs", v.b.fsub(x, z)), v.call("fabs", z)))


def _to_square(v, dot, norm, own):
    """|x - z|^2 from <x, z>, |z|^2 and |x|^2, never below zero."""
    return v.larger(v.fma(v.const(-2.0), dot, v.b.fadd(norm, own)), v.const(0.0))


def _to_distance(v, excess, norm, own):
    """|x - z| from |x - z| - |z| and |z| in the 1-norm, likewise."""
    return v.larger(v.b.fadd(norm, excess), v.const(0.0))


def _in_order(terms):
    """Their sum along the first axis, one after the other, which NumPy's own sum does not promise."""
    return terms.cumsum(0)[-1]


def _dense(function, values, start, stop, points, panel, n, out, at):
    first = at + panel * points.shape[2]
    x = values.reshape(-1)[start:stop, None]
    out[first : first + n] = _in_order(function(x, points[panel, : len(x), :n]))


@vector(_panel(_product, sparse=False))
def panel_dots(values, unused, start, stop, points, panel, n, out, at):
    """<x, point> for the first n points of a panel; x = values[start:stop] of a flat array."""
    _dense(lambda x, z: x * z, values, start, stop, points, panel, n, out, at)


@vector(_panel(_square, sparse=False))
def panel_sqdists(values, unused, start, stop, points, panel, n, out, at):
    """|x - point|^2, by differences: exact far from the origin too."""
    _dense(lambda x, z: (x - z) ** 2, values, start, stop, points, panel, n, out, at)


@vector(_panel(_product, sparse=True))
def panel_sparse_dots(values, indices, start, stop, points, panel, n, out, at):
    """<x, point> for x with values[start:stop] at columns indices[start:stop]."""
    first, columns = at + panel * points.shape[2], indices[start:stop]
    out[first : first + n] = values[start:stop] @ points[panel, columns, :n]


@vector(_panel(_distance, sparse=False))
def panel_l1dists(values, unused, start, stop, points, panel, n, out, at):
    """|x - point| in the 1-norm."""
    _dense(lambda x, z: np.abs(x - z), values, start, stop, points, panel, n, out, at)


@vector(_panel(_product, sparse=True, finish=_to_square))
def panel_sparse_sqdists(values, indices, start, stop, points, panel, n, out, at, norms, xx):
    """|x - point|^2, given |point|^2 for all points of all panels, and |x|^2."""
    panel_sparse_dots(values, indices, start, stop, points, panel, n, out, at)
    first = panel * points.shape[2]
    part = out[at + first : at + first + n]
    part[:] = np.maximum(xx + norms[first : first + n] - 2 * part, 0)


@vector(_panel(_excess, sparse=True, finish=_to_distance))
def panel_sparse_l1dists(values, indices, start, stop, points, panel, n, out, at, norms, unused):
    """|x - point| in the 1-norm, given |point|: only the non-zero columns of x contribute to the difference."""
    first, columns = panel * points.shape[2], indices[start:stop]
    z = points[panel, columns, :n]
    excess = (np.abs(values[start:stop, None] - z) - np.abs(z)).sum(0)
    out[at + first : at + first + n] = np.maximum(norms[first : first + n] + excess, 0)


# Several rows at once: a value of a point that is in a register meets them all.

ROWS = 4  # rows side by side, at least
SUMS = 8  # and sums: enough to hide how long one addition takes


def _block(term):
    """Code for out[at + r * stride + i] = sum over j of term(x_j of row first + r, point i's j), for r < count.

    The points: whole machine vectors that cover those numbered start..stop-1 of one panel. Each sum is that of the
    routines above, bit for bit. Rows may be longer than points.
    """

    def emit(context, b, dtype, values, points, out, first, count, start, stop, d, width, slot, stride, columns):
        v = Vectors(context, b, dtype)
        base = b.mul(slot, d)
        last = b.sub(count, integer(1))

        def tile(lane, size):
            """`size` machine vectors of points from `lane` on, against all rows."""
            together = max(ROWS, SUMS // size)
            with cgutils.for_range(b, ceil(b, count, integer(together))) as group:
                rows = [b.add(b.mul(group.index, integer(together)), integer(r)) for r in range(together)]
                rows = [b.select(b.icmp_signed("<", r, last), r, last) for r in rows]  # the last one, several times
                starts = [b.mul(b.add(first, r), columns) for r in rows]
                sums = [[cgutils.alloca_once(b, v.type) for _ in range(size)] for _ in rows]
                for row in sums:
                    for s in row:
                        b.store(v.const(0.0), s)
                with cgutils.for_range(b, d) as loop:
                    j = loop.index
                    here = b.add(b.add(base, b.mul(j, width)), lane)
                    z = [v.load(points, b.add(here, integer(i * v.lanes))) for i in range(size)]
                    for begin, row in zip(starts, sums):
                        x = v.spread(b.load(b.gep(values, [b.add(begin, j)])))
                        for zi, s in zip(z, row):
                            b.store(term(v, x, zi, b.load(s)), s)
                for r, row in zip(rows, sums):
                    to = b.add(b.add(b.mul(r, stride), slot), lane)
                    for i, s in enumerate(row):
                        v.store(b.load(s), out, b.add(to, integer(i * v.lanes)))

        low, high = b.sdiv(start, integer(v.lanes)), ceil(b, stop, integer(v.lanes))
        spare = b.sub(high, integer(v.tile))
        with b.if_else(b.icmp_signed(">=", spare, low)) as (many, few):
            with many, cgutils.for_range(b, ceil(b, b.sub(high, low), integer(v.tile))) as loop:
                begin = b.add(low, b.mul(loop.index, integer(v.tile)))
                begin = b.select(b.icmp_signed("<", begin, spare), begin, spare)  # the last tile overlaps its neighbour
                tile(b.mul(begin, integer(v.lanes)), v.tile)
            with few:
                for size in range(1, v.tile):
                    with b.if_then(b.icmp_signed("==", b.sub(high, low), integer(size))):
                        tile(b.mul(low, integer(v.lanes)), size)

    def build(context, b, sig, args):
        values, points, out = (pointer(context, b, sig, args, i) for i in (0, 3, 7))
        first, count, panel, start, stop, at, stride = (args[i] for i in (1, 2, 4, 5, 6, 8, 9))
        shape = context.make_array(sig.args[3])(context, b, args[3]).shape
        _, d, width = cgutils.unpack_tuple(b, shape, 3)
        columns = cgutils.unpack_tuple(b, context.make_array(sig.args[0])(context, b, args[0]).shape, 2)[1]
        slot, out = b.mul(panel, width), b.gep(out, [at])
        args = [values, points, out, first, count, start, stop, d, width, slot, stride, columns]
        routine(context, b, f"block{term.__name__}", sig.args[0].dtype, emit, args)
        return context.get_dummy_value()

    return build


def _dense_block(function, values, first, count, points, panel, start, stop, out, at, stride):
    z, flat = points[panel, :, start:stop], out.reshape(-1)
    for r in range(count):
        to = at + r * stride + panel * points.shape[2]
        flat[to + start : to + stop] = _in_order(function(values[first + r, : len(z), None], z))


@vector(_block(_product))
def block_dots(values, first, count, points, panel, start, stop, out, at, stride):
    """<x, point> of rows first..first+count-1 with the points start..stop-1 of a panel; a row of `out` for each."""
    _dense_block(lambda x, z: x * z, values, first, count, points, panel, start, stop, out, at, stride)


@vector(_block(_square))
def block_sqdists(values, first, count, points, panel, start, stop, out, at, stride):
    """|x - point|^2, likewise."""
    _dense_block(lambda x, z: (x - z) ** 2, values, first, count, points, panel, start, stop, out, at, stride)


@vector(_block(_distance))
def block_l1dists(values, first, count, points, panel, start, stop, out, at, stride):
    """|x - point| in the 1-norm, likewise."""
    _dense_block(lambda x, z: np.abs(x - z), values, first, count, points, panel, start, stop, out, at, stride)
