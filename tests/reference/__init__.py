"""Slow, literal implementations of the learners; the compiled engine is tested against them."""

from .common import Draw, Mean, Model, Result, cosine, laplacian, linear, matern, poly, rbf, sigmoid
from .dual import duol, krls
from .features import dual_sgd, fogd, mapped, nogd, random_frequencies
from .gradient import bogd, bsgd, kernel_ogd, norma, oskl, pegasos
from .multiple import adaraker, multi_kernel
from .passive_aggressive import bpa, passive_aggressive, spa
from .perceptrons import (
    budget_perceptron,
    forgetron,
    kernel_perceptron,
    projectron,
    projectron_pp,
    rbp,
    stoptron,
)
from .second_order import Sampler, con_kons, kons, pros_n_kons
from .sketching import skegd

__all__ = [
    "Draw",
    "Mean",
    "Model",
    "Result",
    "Sampler",
    "adaraker",
    "bogd",
    "bpa",
    "bsgd",
    "budget_perceptron",
    "con_kons",
    "cosine",
    "dual_sgd",
    "duol",
    "fogd",
    "forgetron",
    "kernel_ogd",
    "kernel_perceptron",
    "kons",
    "krls",
    "laplacian",
    "linear",
    "mapped",
    "matern",
    "multi_kernel",
    "nogd",
    "norma",
    "oskl",
    "passive_aggressive",
    "pegasos",
    "poly",
    "projectron",
    "projectron_pp",
    "pros_n_kons",
    "random_frequencies",
    "rbf",
    "rbp",
    "sigmoid",
    "skegd",
    "spa",
    "stoptron",
]
