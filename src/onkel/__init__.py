"""Onkel: online kernel learning. Non-linear models from streams, in bounded memory, as scikit-learn estimators."""

from .estimators.budget import (
    BOGDClassifier,
    BOGDRegressor,
    BPAClassifier,
    BPARegressor,
    BSGDClassifier,
    BSGDRegressor,
    BudgetPerceptronClassifier,
    ForgetronClassifier,
    ForgetronRegressor,
    OSKLClassifier,
    OSKLRegressor,
    ProjectronClassifier,
    ProjectronPlusPlusClassifier,
    ProjectronRegressor,
    RBPClassifier,
    RBPRegressor,
    SPAClassifier,
    SPARegressor,
    StoptronClassifier,
    StoptronRegressor,
)
from .estimators.exact import (
    DUOLClassifier,
    KernelOGDClassifier,
    KernelOGDRegressor,
    KernelPassiveAggressiveClassifier,
    KernelPassiveAggressiveRegressor,
    KernelPegasosClassifier,
    KernelPerceptronClassifier,
    KernelPerceptronRegressor,
    KernelRLSRegressor,
    NORMAClassifier,
    NORMARegressor,
)

__version__ = "0.1.0"
