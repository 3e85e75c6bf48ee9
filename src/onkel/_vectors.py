"""Machine vectors for the few routines of `_simd`: LLVM operations, with exp, sine and cosine, on any processor."""

import math

import numpy as np
from llvmlite import ir
from numba.core import cgutils


class Vectors:
    """LLVM operations on machine vectors of one scalar type."""

    def __init__(self, context, b, dtype):
        features = context.codegen().magic_tuple()[2]
        size, self.most = (64, 16) if "+avx512f" in features else (32, 12) if "+avx" in features else (16, 12)
        self.tile = 4 if "+avx512f" in features else 2  # machine vectors of points that meet several rows at once
        self.b, self.scalar, self.double = b, context.get_data_type(dtype), dtype.bitwidth == 64
        self.lanes = size * 8 // dtype.bitwidth
        self.type, self.align = ir.VectorType(self.scalar, self.lanes), dtype.bitwidth // 8

    def const(self, value):
        return ir.Constant(self.type, [value] * self.lanes)

    def spread(self, x):
        one = self.b.insert_element(
            ir.Constant(ir.VectorType(x.type, self.lanes), ir.Undefined), x, ir.Constant(ir.IntType(32), 0)
        )
        return self.b.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None))

    def at(self, pointer, i):
        return self.b.bitcast(self.b.gep(pointer, [i]), self.type.as_pointer())

    def load(self, pointer, i):
        return self.b.load(self.at(pointer, i), align=self.align)

    def store(self, value, pointer, i):
        self.b.store(value, self.at(pointer, i), align=self.align)

    def call(self, name, *args):
        name = f"llvm.{name}.v{self.lanes}f{8 * self.align}"
        kind = ir.FunctionType(self.type, [self.type] * len(args))
        return self.b.call(cgutils.get_or_insert_function(self.b.module, kind, name), args)

    def fma(self, x, y, z):
        return self.call("fmuladd", x, y, z)

    def smaller(self, x, y):
        """The smaller one in every lane; y where x is no number."""
        return self.b.select(self.b.fcmp_ordered("<", x, y), x, y)

    def larger(self, x, y):
        """The larger one, likewise."""
        return self.b.select(self.b.fcmp_ordered(">", x, y), x, y)

    def halved(self, vectors):
        """Their sum: one half and the other, and so on."""
        while len(vectors) > 1:
            half = len(vectors) // 2
            vectors = [self.b.fadd(x, y) for x, y in zip(vectors[:half], vectors[half:])]
        return vectors[0]

    def total(self, sums):
        """Sum of all lanes of all vectors, halving, in the same order for every vector length."""
        b = self.b
        v, n = self.halved(sums), self.lanes
        while n > 1:
            n //= 2
            take = lambda first: ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(first, first + n)))
            v = b.fadd(b.shuffle_vector(v, v, take(0)), b.shuffle_vector(v, v, take(n)))
        return b.extract_element(v, ir.Constant(ir.IntType(32), 0))

    def totals(self, vectors):
        """The total of every one of as many vectors as they have lanes, side by side."""
        b, n = self.b, self.lanes
        while n > 1:  # every vector holds lanes / n of them, n parts of each
            n //= 2
            firsts = [lane for lane in range(2 * self.lanes) if lane % (2 * n) < n]
            take = lambda at: ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [lane + at for lane in firsts])
            vectors = [
                b.fadd(b.shuffle_vector(x, y, take(0)), b.shuffle_vector(x, y, take(n)))
                for x, y in zip(vectors[::2], vectors[1::2])
            ]
        return vectors[0]

    def any(self, flags):
        """Whether any lane of a comparison holds."""
        bits = self.b.bitcast(flags, ir.IntType(self.lanes))
        return self.b.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(self.lanes), 0))

    def exp(self, x):
        """exp(x) for x <= 0, 0 on underflow: 2**n times a polynomial; n goes into the exponent bits by a shift."""
        b, c = self.b, self.const
        low, high_ln2, low_ln2, magic, shift, poly = _EXP64 if self.double else _EXP32
        normal = b.fcmp_ordered(">", x, c(low))
        x = b.select(normal, x, c(low))
        n = self.call("rint", b.fmul(x, c(1.4426950408889634)))
        minus = b.fneg(n)
        r = self.fma(minus, c(low_ln2), self.fma(minus, c(high_ln2), x))
        value = self._estrin(poly, r)
        integer = ir.VectorType(ir.IntType(64 if self.double else 32), self.lanes)
        bits = b.shl(b.bitcast(b.fadd(n, c(magic)), integer), ir.Constant(integer, [shift] * self.lanes))
        return b.select(normal, b.fmul(value, b.bitcast(bits, self.type)), c(0.0))

    def sincos(self, x):
        """(sin x, cos x) for |x| <= SINCOS_LIMIT: series around the nearest multiple of pi/2."""
        b, c = self.b, self.const
        magic, parts, sines, cosines = _SINCOS64 if self.double else _SINCOS32
        n = self.call("rint", b.fmul(x, c(2 / np.pi)))
        r, minus = x, b.fneg(n)
        for part in parts:
            r = self.fma(minus, c(part), r)
        square = b.fmul(r, r)
        sine = self.fma(b.fmul(r, square), self._estrin(sines, square), r)
        cosine = self.fma(square, self._estrin(cosines, square), c(1.0))
        integer = ir.VectorType(ir.IntType(64 if self.double else 32), self.lanes)

        def whole(k):
            return ir.Constant(integer, [k] * self.lanes)

        quarter = b.bitcast(b.fadd(n, c(magic)), integer)  # its low bits count the turns of pi/2
        odd = b.icmp_signed("!=", b.and_(quarter, whole(1)), whole(0))
        sign = whole(8 * self.align - 2)  # from bit 1 to the sign bit

        def signed(value, turns):
            flip = b.shl(b.and_(turns, whole(2)), sign)
            return b.bitcast(b.xor(b.bitcast(value, integer), flip), self.type)

        first, second = b.select(odd, cosine, sine), b.select(odd, sine, cosine)
        return signed(first, quarter), signed(second, b.add(quarter, whole(1)))

    def _estrin(self, coefficients, x):
        """A polynomial, by pairs, then pairs of pairs."""
        terms, power = [self.const(p) for p in coefficients], x
        while len(terms) > 1:
            odd = terms[len(terms) // 2 * 2 :]
            terms = [self.fma(q, power, p) for p, q in zip(terms[::2], terms[1::2])] + odd
            power = self.b.fmul(power, power)
        return terms[0]


def _series(first, last):
    """Coefficients +-1/k! of the sine's or cosine's series, from r^first to r^last in powers of r^2."""
    return tuple((-1) ** (k // 2) / math.factorial(k) for k in range(first, last + 1, 2))


SINCOS_LIMIT = {64: 1e5, 32: 1e3}  # by bits: beyond, the reduction loses digits
# Two parts of pi/2 whose products with the turns up to the limit are exact, and the rest.
_SINCOS64 = (
    6755399441055744.0,
    (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21),
    _series(3, 17),
    _series(2, 18),
)
_SINCOS32 = (12582912.0, (1.5703125, 0.0004837512969970703, 7.549790126404332e-08), _series(3, 11), _series(2, 10))
_EXP64 = (
    -708.0,
    0.693147180369123816490,
    1.90821492927058770002e-10,
    6755399441055744.0 + 1023.0,
    52,
    (
        1.0000000000000000661,
        1.0000000000000064479,
        0.49999999999997286708,
        0.16666666666557667133,
        0.041666666668425696619,
        0.0083333333846924985367,
        0.001388888849933814018,
        0.00019841171349567113105,
        0.000024801917380138749138,
        2.7639782960776687097e-6,
        2.7488583802463656201e-7,
    ),
)
_EXP32 = (
    -87.0,
    0.693145751953125,
    1.42860677e-6,
    12582912.0 + 127.0,
    23,
    tuple(
        float(np.float32(c))
        for c in (
            1.0,
            0.99999969181052174345,
            0.49998894415327208069,
            0.16667575046502126041,
            0.04191543156415916,
            0.0082976516111787513072,
        )
    ),
)
