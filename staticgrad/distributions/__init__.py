"""Probability distributions, with PyTorch's names, arguments and formulas; eager, compiled and in graphs."""

from ..module_paths import enter_paths
from . import composed, continuous, discrete
from .composed import Independent, kl_divergence, register_kl
from .continuous import (
    Beta,
    Cauchy,
    Chi2,
    Dirichlet,
    Exponential,
    FisherSnedecor,
    Gamma,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    Laplace,
    LogNormal,
    MultivariateNormal,
    Normal,
    Pareto,
    StudentT,
    Uniform,
    Weibull,
)
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    Poisson,
)
from .distribution import Distribution

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential",
    "FisherSnedecor", "Gamma", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy",
    "Laplace", "LogNormal", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "Pareto",
    "Poisson", "StudentT", "Uniform", "Weibull", "kl_divergence", "register_kl",
]  # fmt: skip

enter_paths(__name__, {
    "independent": composed, "kl": composed, "beta": continuous, "cauchy": continuous, "chi2": continuous,
    "dirichlet": continuous, "exponential": continuous, "fishersnedecor": continuous, "gamma": continuous,
    "gumbel": continuous, "half_cauchy": continuous, "half_normal": continuous, "inverse_gamma": continuous,
    "kumaraswamy": continuous, "laplace": continuous, "log_normal": continuous, "multivariate_normal": continuous,
    "normal": continuous, "pareto": continuous, "studentT": continuous, "uniform": continuous, "weibull": continuous,
    "bernoulli": discrete, "binomial": discrete, "categorical": discrete, "geometric": discrete, "multinomial": discrete,
    "negative_binomial": discrete, "one_hot_categorical": discrete, "poisson": discrete,
})  # fmt: skip
