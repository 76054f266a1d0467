"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from .draws import categorical as categorical
from .draws import fold_in as fold_in
from .draws import multinomial as multinomial
from .draws import random_gamma as gamma
from .draws import random_normal as normal
from .draws import random_poisson as poisson
from .draws import random_shuffle as shuffle
from .draws import random_uniform as uniform
from .draws import split as split
from .draws import stateless_binomial as stateless_binomial
from .draws import stateless_categorical as stateless_categorical
from .draws import stateless_gamma as stateless_gamma
from .draws import stateless_multinomial as stateless_multinomial
from .draws import stateless_normal as stateless_normal
from .draws import stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal
from .draws import stateless_poisson as stateless_poisson
from .draws import stateless_truncated_normal as stateless_truncated_normal
from .draws import stateless_uniform as stateless_uniform
from .draws import truncated_normal as truncated_normal
from .graph import get_seed as get_seed
from .graph import set_random_seed as set_random_seed
from .nn.sampling import all_candidate_sampler as all_candidate_sampler
from .nn.sampling import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from .nn.sampling import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from .nn.sampling import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from .nn.sampling import uniform_candidate_sampler as uniform_candidate_sampler
__all__ = [
    "all_candidate_sampler", "categorical", "fixed_unigram_candidate_sampler", "fold_in", "gamma", "get_seed",
    "learned_unigram_candidate_sampler", "log_uniform_candidate_sampler", "multinomial", "normal", "poisson",
    "set_random_seed", "shuffle", "split", "stateless_binomial", "stateless_categorical", "stateless_gamma",
    "stateless_multinomial", "stateless_normal", "stateless_parameterized_truncated_normal", "stateless_poisson",
    "stateless_truncated_normal", "stateless_uniform", "truncated_normal", "uniform", "uniform_candidate_sampler",
]
