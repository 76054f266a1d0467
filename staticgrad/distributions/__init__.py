"""Probability distributions, with PyTorch's names, arguments and formulas; eager, compiled and in graphs."""

from ..base.module_paths import enter_paths, refusing
from . import (
    composed,
    constraints,
    discrete,
    distribution,
    gamma_family,
    intervals,
    kl,
    location_scale,
    matrix_valued,
    multivariate,
    relaxed,
    transforms,
)
from .composed import Independent, LogisticNormal, LogNormal, MixtureSameFamily, TransformedDistribution
from .constraint_registry import biject_to, transform_to
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
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Beta, Chi2, Dirichlet, FisherSnedecor, Gamma, InverseGamma, StudentT
from .intervals import ContinuousBernoulli, Exponential, GeneralizedPareto, Kumaraswamy, Pareto, Uniform, Weibull
from .kl import kl_divergence, register_kl
from .location_scale import Cauchy, Gumbel, HalfCauchy, HalfNormal, Laplace, Normal
from .matrix_valued import LKJCholesky, Wishart
from .multivariate import LowRankMultivariateNormal, MultivariateNormal, VonMises
from .relaxed import OneHotCategoricalStraightThrough, RelaxedBernoulli, RelaxedOneHotCategorical
from .transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy", "Chi2",
    "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto",
    "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform", "InverseGamma",
    "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal",
    "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform",
    "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform",
    "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT", "TanhTransform",
    "Transform", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraints",
    "identity_transform", "kl", "kl_divergence", "register_kl", "transform_to", "transforms",
]  # fmt: skip

enter_paths(__name__, {
    "bernoulli": discrete, "beta": gamma_family, "binomial": discrete, "categorical": discrete, "cauchy": location_scale,
    "chi2": gamma_family, "continuous_bernoulli": intervals, "dirichlet": gamma_family, "exp_family": distribution,
    "exponential": intervals, "fishersnedecor": gamma_family, "gamma": gamma_family, "generalized_pareto": intervals,
    "geometric": discrete, "gumbel": location_scale, "half_cauchy": location_scale, "half_normal": location_scale,
    "independent": composed, "inverse_gamma": gamma_family, "kumaraswamy": intervals, "laplace": location_scale,
    "lkj_cholesky": matrix_valued, "log_normal": composed, "logistic_normal": composed, "lowrank_multivariate_normal":
    multivariate, "mixture_same_family": composed, "multinomial": discrete, "multivariate_normal": multivariate,
    "negative_binomial": discrete, "normal": location_scale, "one_hot_categorical": discrete, "pareto": intervals,
    "poisson": discrete, "relaxed_bernoulli": relaxed, "relaxed_categorical": relaxed, "studentT": gamma_family,
    "transformed_distribution": composed, "uniform": intervals, "von_mises": multivariate, "weibull": intervals,
    "wishart": matrix_valued,
})  # fmt: skip

__getattr__ = refusing(__name__, __all__)
