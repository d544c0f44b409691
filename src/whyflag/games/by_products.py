"""Games of products: absent features take the values of a reference r.

With one kernel, a player's factor is a_i where x is taken and b_i where r is, and the value of a
coalition is v(S) = Π_{i∈S} a_i Π_{i∉S} b_i. Its Shapley values are

    φ_i = ∫₀¹ (a_i − b_i) Π_{j≠i} (t a_j + (1 − t) b_j) dt,

the multilinear extension along the diagonal (Owen 1972). The integrand is a polynomial of degree
p − 1, which ⌈p/2⌉ Gauss-Legendre points integrate exactly. Often fewer do the same: q points are
exact below degree 2q, and around t = 1/2 its coefficients are at most H^k / k! parts of its value
there, H = Σ |a_i − b_i| / (a_i + b_i). Sums of kernels have sums of values.

A logarithm of such a sum has no such formula. But all its values follow from those of groups of
players: with tables of the products of each group, a kernel of one coalition takes one
multiplication for each group instead of one exponential and d subtractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import final

import numpy as np
from scipy.special import gammaln

from whyflag.arrays import BoolMatrix, IntMatrix, IntVector, Matrix, Tensor, Vector
from whyflag.batches import CALL, batch_size, batches
from whyflag.compiled import compiled
from whyflag.score.products import Products

GROUP = 6  # players whose products stand in one table, 2⁶ rows
GRID = 4  # times as many coalitions as asked for may be computed, if it is in one matrix product
TINY = 1e-18  # of a value: far below rounding
LEAST = 1e-280  # sums below it may lack terms that were too small for a number


def shapley_by_products(
    products: Products, X: Matrix, R: Tensor, weights: Vector, player: IntVector, p: int
) -> Matrix:
    """Σ_r w_r φ(x, r) of a sum of products: the Shapley values, (n, p).

    Args:
        products: The score, without a logarithm.
        X: Rows, (n, d).
        R: The references of each row, (n, k, d).
        weights: w, (k,).
        player: The player that each column belongs to, (d,).
        p: Number of players.
    """
    values = np.zeros((len(X), p))
    for i in range(len(X)):
        a = np.exp(products.exponents(X[i : i + 1], player, p)[0])  # p x m
        for some in batches(len(weights), a.size):
            b = np.exp(products.exponents(R[i, some], player, p))  # k x p x m
            worth = -np.outer(weights[some], products.weights).ravel()  # k m
            values[i] += integral(np.tile(a, len(b)), np.hstack(list(b)), worth)
    return values


def integral(a: Matrix, b: Matrix, worth: Vector) -> Vector:
    """Σ_j w_j ∫₀¹ (a_ij − b_ij) Π_{l≠i} (t a_lj + (1 − t) b_lj) dt: (p, m), (m,) -> (p,)."""
    p, m = a.shape
    at, weight = _gauss_legendre(_n_points(a, b))  # q, q
    values = np.zeros(p)
    for some in batches(m, p * len(at)):
        change = a[:, some] - b[:, some]  # p x c
        factors = change[:, None] * at[:, None] + b[:, None, some]  # p x q x c
        # Products of those before and those after: a division would lose factors of zero.
        others = np.empty_like(factors)
        others[0] = weight[:, None] * worth[some]
        for i in range(1, p):
            np.multiply(others[i - 1], factors[i - 1], out=others[i])
        after = np.ones_like(factors[0])  # q x c
        for i in reversed(range(p)):
            others[i] *= after
            values[i] += others[i].sum(axis=0) @ change[i]
            after *= factors[i]
    return values


def _n_points(a: Matrix, b: Matrix) -> int:
    """How many points leave out less than rounding for every kernel."""
    total = a + b
    part = np.divide(np.abs(a - b), total, out=np.zeros_like(total), where=total > 0)
    reach = float(part.sum(axis=0).max())  # H
    most = (len(a) + 1) // 2
    k = 2 * np.arange(1, most + 1)
    left = k * np.log(max(reach, TINY)) - gammaln(k + 1)  # log H^k / k!
    enough = (left <= np.log(TINY)) & (k > 2 * reach)  # then what follows sums to less as well
    return int(enough.argmax()) + 1 if enough.any() else most


@lru_cache(maxsize=64)
def _gauss_legendre(q: int) -> tuple[Vector, Vector]:
    """Points in (0, 1), and their weights."""
    at, weight = np.polynomial.legendre.leggauss(q)
    return (at + 1) / 2, weight / 2


@final
class CoalitionLogs:
    """log Σ_j w_j v_j(S) for coalitions S, of players whose factors come as logarithms.

    Args:
        weights: w, (m,).
        coalitions: bool (c, p).
    """

    def __init__(self, weights: Vector, coalitions: BoolMatrix) -> None:
        c, p = coalitions.shape
        # Where the tables of two halves hold hardly more than what is asked for, all products of
        # their rows are one matrix product.
        half = (p + 1) // 2
        self._grid = 4**half <= GRID * c
        self._size = half if self._grid else GROUP
        self._weights = weights
        groups = 2 if self._grid else max(3, -(-p // GROUP) // 2 * 2 + 1)
        self._row = _rows_of_tables(coalitions, self._size, groups)  # c x g
        # One place for all: new memory would cost as much as the tables do.
        self._room = np.empty(max(CALL, self._row.shape[1] * 2**self._size))
        self._away = np.empty((2, p, len(weights)))
        self._present = np.hstack([coalitions, ~coalitions]).astype(np.float64)  # c x 2p

    def __call__(self, log_a: Matrix, log_b: Matrix) -> Vector:
        """(p, m), (p, m) -> (c,); NaN where the sum is too small for its terms to be numbers."""
        # The largest factor of each player is 1: rows far away have none that could be written.
        largest = np.concatenate([log_a.max(axis=1), log_b.max(axis=1)])  # 2p
        with np.errstate(invalid="ignore"):  # −∞ − −∞: nothing is known
            away = self._away
            np.subtract(log_a, log_a.max(axis=1, keepdims=True), out=away[0])
            np.subtract(log_b, log_b.max(axis=1, keepdims=True), out=away[1])
            ends = away.sum(axis=1).max(axis=1)
            if not (ends > np.log(LEAST)).any():  # what is between them is as small
                return np.full(len(self._row), np.nan)
            sums = self._sums(away)
            found = np.log(np.where(sums > LEAST, sums, np.nan)) + self._present @ largest
        return np.where(np.isfinite(found), found, np.nan)

    def _sums(self, away: Tensor) -> Vector:
        """Σ_j w_j v_j(S), of the logarithms with and without each player: (2, p, m) -> (c,)."""
        if self._grid:
            halves = np.zeros((2**self._size, 2**self._size))
            for first, second in self._tables(away):
                halves += first @ second.T
            return halves[self._row[:, 0], self._row[:, 1]]
        add = compiled(_loops, reassociate=True) or _add
        sums = np.zeros(len(self._row))
        for tables in self._tables(away):
            add(tables, self._row, sums)
        return sums

    def _tables(self, away: Tensor) -> Iterator[Tensor]:
        """Products of each group of players, for all its coalitions and some kernels at a time.

        The first group's have the weights of the kernels: (g, 2^size, b) each.
        """
        _, p, m = away.shape
        g, size = self._row.shape[1], self._size
        for some in batches(m, g * 2**size, CALL):
            width = some.stop - some.start
            factors = np.ones((2, g * size, width))
            np.exp(away[:, :, some], out=factors[:, :p])
            present, absent = factors.reshape(2, g, size, width)
            tables = self._room[: g * 2**size * width].reshape(g, 2**size, width)
            tables[:, 0] = 1.0
            tables[0, 0] = self._weights[some]
            for i in range(size):
                with_i, without = tables[:, 2**i : 2 ** (i + 1)], tables[:, : 2**i]
                np.multiply(without, present[:, i, None], out=with_i)
                without *= absent[:, i, None]
            yield tables


def _rows_of_tables(coalitions: BoolMatrix, size: int, g: int) -> IntMatrix:
    """The row of each group's table that a coalition has: bool (c, p) -> (c, g)."""
    c, p = coalitions.shape
    padded = np.zeros((c, g * size), dtype=np.int64)
    padded[:, :p] = coalitions
    return (padded.reshape(c, g, size) << np.arange(size)).sum(axis=2)


def _add(tables: Tensor, row: IntMatrix, sums: Vector) -> None:
    """Add to the sum of each coalition the products of some kernels."""
    m = tables.shape[2]
    room = np.empty((2, batch_size(m, CALL // 4), m))
    for some in batches(len(row), m, CALL // 4):
        product, factor = room[:, : some.stop - some.start]  # c x m
        product[:] = 1.0
        for group, which in zip(tables, row[some].T, strict=True):
            product *= np.take(group, which, axis=0, out=factor, mode="clip")
        sums[some] += product.sum(axis=1)


def _loops(tables, row, sums):  # type: ignore[no-untyped-def]
    """The same as `_add`, one coalition after another, of an odd number of groups."""
    g, _, m = tables.shape
    product = np.empty(m)
    for s in range(len(row)):
        one, other = tables[0, row[s, 0]], tables[1, row[s, 1]]
        for j in range(m):
            product[j] = one[j] * other[j]
        for k in range(2, g - 1, 2):
            one, other = tables[k, row[s, k]], tables[k + 1, row[s, k + 1]]
            for j in range(m):
                product[j] *= one[j] * other[j]
        last = tables[g - 1, row[s, g - 1]]
        total = 0.0
        for j in range(m):
            total += product[j] * last[j]
        sums[s] += total
