"""Regret: how much more an online learner has lost than the best fixed function, chosen in hindsight."""

import numpy as np
import numpy.typing as npt
import scipy.linalg

__all__ = ["ridge_regret"]


def ridge_regret(
    predictions: npt.ArrayLike, y: npt.ArrayLike, K: npt.ArrayLike, *, reg: float = 1.0
) -> npt.NDArray[np.float64]:
    """After every round t: the squared losses so far, minus min over f of those of f plus reg |f|^2.

    `predictions` come from before each update, K is the kernel matrix of the whole stream. With L the Cholesky factor
    of K + reg I and z = L^-1 y, the least over the first t rounds is reg (z_1^2 + ... + z_t^2): one factor serves all
    t. Takes memory for K and time for its factor, n^3 / 3.
    """
    matrix, targets = np.array(K, np.float64), np.asarray(y, np.float64)
    matrix[np.diag_indices_from(matrix)] += reg
    L = scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True)
    z = scipy.linalg.solve_triangular(L, targets, lower=True)
    losses = np.square(np.asarray(predictions, np.float64) - targets)
    return np.asarray(np.cumsum(losses) - reg * np.cumsum(z * z))
