"""Every distribution, transform, constraint and divergence beside PyTorch's, over generated arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import distributions as D

pytestmark = pytest.mark.oracle
rng = np.random.default_rng(1)


def positive(shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.4, 3.0, shape)


def real(shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape)


def unit(shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.1, 0.9, shape)


def several(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda shape: make((*shape, 3))


def tril(shape: tuple[int, ...]) -> np.ndarray:
    return np.tril(rng.normal(size=(*shape, 3, 3)), -1) + np.eye(3) * rng.uniform(0.5, 1.5, (*shape, 3, 1))


def definite(shape: tuple[int, ...]) -> np.ndarray:
    factor = tril(shape)
    return factor @ np.swapaxes(factor, -1, -2)


def simplex(shape: tuple[int, ...]) -> np.ndarray:
    return rng.dirichlet(np.ones(3), shape)


def counts(shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(0, 5, shape).astype(float)


def bits(shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(0, 2, shape).astype(float)


def one_hot(shape: tuple[int, ...]) -> np.ndarray:
    return np.eye(3)[rng.integers(0, 3, shape)]


def multinomial(shape: tuple[int, ...]) -> np.ndarray:
    return rng.multinomial(4, [0.2, 0.5, 0.3], shape).astype(float)


def shifted(make: Callable[..., np.ndarray], by: float) -> Callable[..., np.ndarray]:
    return lambda shape: make(shape) + by


# name, the arguments with how each is made (or what it is), how a value is made
TABLE: list[tuple[str, dict[str, Any], Callable[..., np.ndarray]]] = [
    ("Normal", {"loc": real, "scale": positive}, real),
    ("Laplace", {"loc": real, "scale": positive}, real),
    ("Cauchy", {"loc": real, "scale": positive}, real),
    ("Gumbel", {"loc": real, "scale": positive}, real),
    ("HalfNormal", {"scale": positive}, positive),
    ("HalfCauchy", {"scale": positive}, positive),
    ("LogNormal", {"loc": real, "scale": positive}, positive),
    ("Uniform", {"low": shifted(unit, -2), "high": shifted(unit, 2)}, unit),
    ("Exponential", {"rate": positive}, positive),
    ("Gamma", {"concentration": positive, "rate": positive}, positive),
    ("InverseGamma", {"concentration": shifted(positive, 2), "rate": positive}, positive),
    ("Chi2", {"df": positive}, positive),
    ("Beta", {"concentration1": positive, "concentration0": positive}, unit),
    ("Dirichlet", {"concentration": several(positive)}, simplex),
    ("StudentT", {"df": positive, "loc": real, "scale": positive}, real),
    ("FisherSnedecor", {"df1": shifted(positive, 3), "df2": shifted(positive, 4)}, positive),
    ("Pareto", {"scale": unit, "alpha": positive}, shifted(positive, 1)),
    ("Weibull", {"scale": positive, "concentration": positive}, positive),
    ("Kumaraswamy", {"concentration1": positive, "concentration0": positive}, unit),
    ("ContinuousBernoulli", {"probs": unit}, unit),
    ("ContinuousBernoulli", {"logits": real}, unit),
    ("ContinuousBernoulli", {"probs": lambda shape: np.full(shape, 0.5)}, unit),
    ("GeneralizedPareto", {"loc": real, "scale": positive, "concentration": unit}, shifted(positive, 3)),
    ("VonMises", {"loc": real, "concentration": positive}, real),
    ("MultivariateNormal", {"loc": several(real), "scale_tril": tril}, several(real)),
    ("MultivariateNormal", {"loc": several(real), "covariance_matrix": definite}, several(real)),
    ("MultivariateNormal", {"loc": several(real), "precision_matrix": definite}, several(real)),
    ("Wishart", {"df": shifted(positive, 3), "covariance_matrix": definite}, definite),
    ("Wishart", {"df": shifted(positive, 3), "precision_matrix": definite}, definite),
    (
        "LowRankMultivariateNormal",
        {"loc": several(real), "cov_factor": lambda shape: real((*shape, 3, 2)), "cov_diag": several(positive)},
        several(real),
    ),
    ("LogisticNormal", {"loc": lambda shape: real((*shape, 2)), "scale": lambda shape: positive((*shape, 2))}, simplex),
    ("Bernoulli", {"probs": unit}, bits),
    ("Bernoulli", {"logits": real}, bits),
    ("Geometric", {"probs": unit}, counts),
    ("Geometric", {"logits": real}, counts),
    ("Binomial", {"total_count": 5, "probs": unit}, counts),
    ("Binomial", {"total_count": 5, "logits": real}, counts),
    ("NegativeBinomial", {"total_count": positive, "probs": unit}, counts),
    ("NegativeBinomial", {"total_count": 3, "logits": real}, counts),
    ("Poisson", {"rate": positive}, counts),
    ("Categorical", {"probs": several(positive)}, lambda shape: rng.integers(0, 3, shape)),
    ("Categorical", {"logits": several(real)}, lambda shape: rng.integers(0, 3, shape)),
    ("OneHotCategorical", {"logits": several(real)}, one_hot),
    ("OneHotCategoricalStraightThrough", {"probs": several(positive)}, one_hot),
    ("Multinomial", {"total_count": 4, "probs": several(positive)}, multinomial),
    ("RelaxedBernoulli", {"temperature": positive, "probs": unit}, unit),
    ("RelaxedOneHotCategorical", {"temperature": lambda shape: positive(()), "logits": several(real)}, simplex),
]
IDS = [f"{name} {'-'.join(arguments)}" for name, arguments, _ in TABLE]
BATCHES = [(), (4,), (2, 1)]


def close(mine: Any, theirs: Any, what: str, rtol: float = 1e-6) -> None:
    found, wanted = mine.detach().numpy(), theirs.detach().numpy()
    assert found.shape == wanted.shape, f"{what}: {found.shape}, not {wanted.shape}"
    assert found.dtype == wanted.dtype, what
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * 1e-2, err_msg=what)


def pair(torch: Any, name: str, arguments: dict[str, Any], batch: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Ours and theirs with the leaves they are made of."""
    arrays = {k: make(batch).astype(dtype) for k, make in arguments.items() if callable(make)}
    rest = {k: v for k, v in arguments.items() if not callable(v)}
    mine = {k: sg.tensor(v, requires_grad=True) for k, v in arrays.items()}
    theirs = {k: torch.tensor(v, requires_grad=True) for k, v in arrays.items()}
    made = getattr(D, name)(**mine, **rest), getattr(torch.distributions, name)(**theirs, **rest)
    return *made, list(mine.values()), list(theirs.values())


def same(mine: Callable[[], Any], theirs: Callable[[], Any], what: str, rtol: float = 1e-6) -> Any:
    """Both results, if PyTorch has one."""
    try:
        wanted = theirs()
    except (NotImplementedError, RuntimeError):
        return None
    if not hasattr(wanted, "detach"):
        assert mine() == wanted, what
        return None
    found = mine()
    close(found, wanted, what, rtol)
    return found, wanted


NAN_THERE = {("Kumaraswamy", "mode"), ("Weibull", "mode")}
"""Theirs is the logarithm, or a power, of a negative number."""
MOMENTS = ("mean", "mode", "variance", "stddev")


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize(("name", "arguments", "value"), TABLE, ids=IDS)
def test_values_and_gradients(torch: Any, name: str, arguments: dict[str, Any], value: Any, batch: tuple[int, ...]):
    mine, theirs, leaves, their_leaves = pair(torch, name, arguments, batch)
    assert (mine.batch_shape, mine.event_shape) == (tuple(theirs.batch_shape), tuple(theirs.event_shape))
    assert (mine.has_rsample, mine.has_enumerate_support) == (theirs.has_rsample, theirs.has_enumerate_support)
    at = value((5, *batch)) if name != "LogisticNormal" or batch != () else value((5,))
    x, y = sg.tensor(at), torch.tensor(at)
    asked = [("log_prob", lambda d, v: d.log_prob(v)), ("cdf", lambda d, v: d.cdf(v)), ("entropy", lambda d, v: d.entropy()),
             ("perplexity", lambda d, v: d.perplexity())]  # fmt: skip
    moments = [what for what in MOMENTS if (name, what) not in NAN_THERE]
    asked += [(what, lambda d, v, what=what: getattr(d, what)) for what in moments]
    for what, ask in asked:
        both = same(lambda ask=ask: ask(mine, x), lambda ask=ask: ask(theirs, y), what)
        if both is None or not both[1].requires_grad or what in ("mode", "cdf"):
            continue
        if not np.isfinite(both[0].detach().numpy()).all():
            continue
        wanted = torch.autograd.grad(both[1].sum(), their_leaves, retain_graph=True, allow_unused=True)
        found = sg.grad(both[0].sum(), leaves, retain_graph=True, allow_unused=True)
        for f, w in zip(found, wanted, strict=True):
            if w is not None and np.isfinite(w.numpy()).all():
                close(sg.zeros_like(leaves[0]) if f is None else f, w, f"gradient of {what}", 1e-5)
    levels = unit((5, *batch))
    same(lambda: mine.icdf(sg.tensor(levels)), lambda: theirs.icdf(torch.tensor(levels)), "icdf", 1e-5)
    if theirs.has_enumerate_support:
        for expand in (False, True):
            close(mine.enumerate_support(expand), theirs.enumerate_support(expand), "enumerate_support")
    close(mine.support.check(x), theirs.support.check(y), "support")
    assert (mine.support.event_dim, mine.support.is_discrete) == (theirs.support.event_dim, theirs.support.is_discrete)


@pytest.mark.filterwarnings("ignore:Singular sample detected:UserWarning")  # PyTorch's, of its own samples
@pytest.mark.parametrize(("name", "arguments", "value"), TABLE, ids=IDS)
def test_float32_and_shapes_of_samples(torch: Any, name: str, arguments: dict[str, Any], value: Any):
    mine, theirs, _, _ = pair(torch, name, arguments, (4,), np.float32)
    at = value((4,))
    at = at if at.dtype.kind == "i" else at.astype(np.float32)
    if "covariance_matrix" not in arguments and "precision_matrix" not in arguments and name != "LogisticNormal":
        same(lambda: mine.log_prob(sg.tensor(at)), lambda: theirs.log_prob(torch.tensor(at)), "log_prob", 2e-4)
    for shape in ((), (3,), (2, 3)):
        found, wanted = mine.sample(shape), theirs.sample(shape)
        assert (found.shape, str(found.dtype)) == (tuple(wanted.shape), str(wanted.dtype).split(".")[1])
        assert not found.requires_grad
        if theirs.has_rsample:
            assert mine.rsample(shape).shape == tuple(wanted.shape)
            assert mine.rsample(shape).requires_grad
    assert mine.sample_n(3).shape == tuple(theirs.sample((3,)).shape)
    assert np.asarray(mine.support.check(mine.sample((50,)))).all() or name == "LogisticNormal"


@pytest.mark.parametrize(("name", "arguments", "value"), TABLE, ids=IDS)
def test_expand(torch: Any, name: str, arguments: dict[str, Any], value: Any):
    mine, theirs, leaves, their_leaves = pair(torch, name, arguments, (4,))
    if name in ("NegativeBinomial", "GeneralizedPareto"):  # theirs can't be used afterwards
        return
    wide, their_wide = mine.expand((2, 4)), theirs.expand((2, 4))
    assert type(wide) is type(mine)
    assert (wide.batch_shape, wide.event_shape) == (tuple(their_wide.batch_shape), tuple(their_wide.event_shape))
    at = value((2, 4))
    both = same(lambda: wide.log_prob(sg.tensor(at)), lambda: their_wide.log_prob(torch.tensor(at)), "log_prob")
    wanted = torch.autograd.grad(both[1].sum(), their_leaves)
    for f, w in zip(sg.grad(both[0].sum(), leaves), wanted, strict=True):
        close(f, w, "gradient", 1e-5)
    assert wide.sample((3,)).shape == (3, 2, 4, *mine.event_shape)
    for what in ("mean", "variance", "stddev"):
        same(lambda what=what: getattr(wide, what), lambda what=what: getattr(their_wide, what), what)


# divergences ------------------------------------------------------------------------------------------------------------

FIRST = {name: (arguments, value) for name, arguments, value in reversed(TABLE)}
FAMILIES = sorted(set(FIRST) - {"LogisticNormal", "RelaxedBernoulli", "RelaxedOneHotCategorical"})


def test_all_divergences(torch: Any):
    compared = 0
    for p_name, q_name in itertools.product(FAMILIES, FAMILIES):
        batch = () if p_name == q_name == "Wishart" else (4,)  # PyTorch's sums a part of it over the batch
        p, their_p, leaves, their_leaves = pair(torch, p_name, FIRST[p_name][0], batch)
        q, their_q, more, their_more = pair(torch, q_name, FIRST[q_name][0], batch)
        what = f"KL({p_name} || {q_name})"
        try:
            wanted = torch.distributions.kl_divergence(their_p, their_q)
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                D.kl_divergence(p, q)
            continue
        compared += 1
        found = D.kl_divergence(p, q)
        close(found, wanted, what, 1e-5)
        if wanted.requires_grad and torch.isfinite(wanted).all():
            expected = torch.autograd.grad(wanted.sum(), their_leaves + their_more, allow_unused=True)
            for f, w in zip(sg.grad(found.sum(), leaves + more, allow_unused=True), expected, strict=True):
                if w is not None:
                    close(f, w, f"gradient of {what}", 1e-4)
    assert compared > 70


def test_divergences_of_composed_distributions(torch: Any):
    def made(lib: Any, tensor: Any) -> list[Any]:
        a, b = (lib.Independent(lib.Normal(tensor(m), tensor(s)), 1) for m, s in ((at, scale), (at2, scale2)))
        t = [lib.ExpTransform(), lib.AffineTransform(1.0, 2.0)]
        c, d = (lib.TransformedDistribution(x, t) for x in (a, b))
        u = [lib.Uniform(tensor(low), tensor(high)) for low, high in (([0.0, 0.0], [1.0, 1.0]), ([0.5, -1.0], [2.0, 3.0]))]
        return [(a, b), (c, d), tuple(u)]

    at, at2, scale, scale2 = real((2, 3)), real((2, 3)), positive((2, 3)), positive((2, 3))
    for (p, q), (r, s) in zip(made(D, sg.tensor), made(torch.distributions, torch.tensor), strict=True):
        if p is not None:
            close(D.kl_divergence(p, q), torch.distributions.kl_divergence(r, s), repr(p))


# transforms -------------------------------------------------------------------------------------------------------------


def transforms(lib: Any, tensor: Any) -> list[tuple[Any, Any]]:
    """Each with an x of its domain."""
    loc, scale = tensor(LOC), tensor(SCALE)
    return [
        (lib.ExpTransform(), X), (lib.AffineTransform(loc, scale), X), (lib.AffineTransform(1.0, -2.0, event_dim=1), X),
        (lib.SigmoidTransform(), X), (lib.TanhTransform(), X), (lib.SoftplusTransform(), X),
        (lib.PowerTransform(tensor(2.0)), SCALE), (lib.AbsTransform(), SCALE), (lib.SoftmaxTransform(), X),
        (lib.StickBreakingTransform(), X),
        (lib.LowerCholeskyTransform(), X @ X.T), (lib.PositiveDefiniteTransform(), X @ X.T), (lib.CorrCholeskyTransform(), X),
        (lib.ComposeTransform([lib.ExpTransform(), lib.AffineTransform(loc, scale)]), X),
        (lib.ComposeTransform([lib.AffineTransform(loc, scale), lib.StickBreakingTransform()]), X),
        (lib.ComposeTransform([]), X), (lib.IndependentTransform(lib.ExpTransform(), 1), X),
        (lib.ReshapeTransform((3,), (3, 1)), X), (lib.CatTransform([lib.ExpTransform(), lib.TanhTransform()], -1, [1, 2]), X),
        (lib.StackTransform([lib.ExpTransform(), lib.TanhTransform(), lib.SigmoidTransform()], -1), X),
        (lib.CumulativeDistributionTransform(lib.Normal(loc, scale)), X),
        (lib.ExpTransform().inv, SCALE), (lib.ComposeTransform([lib.ExpTransform(), lib.AffineTransform(0.0, 2.0)]).inv, SCALE),
    ]  # fmt: skip


X, LOC, SCALE = real((2, 3)), real((2, 3)), positive((2, 3))


def test_transforms(torch: Any):
    pairs = zip(transforms(D, sg.tensor), transforms(torch.distributions, torch.tensor), strict=True)
    for (mine, x), (theirs, _) in pairs:
        what = repr(theirs)
        a, b = sg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        y, their_y = mine(a), theirs(b)
        close(y, their_y, what)
        assert mine.bijective == theirs.bijective
        assert (mine.domain.event_dim, mine.codomain.event_dim) == (theirs.domain.event_dim, theirs.codomain.event_dim), what
        assert mine.forward_shape(tuple(a.shape)) == tuple(theirs.forward_shape(b.shape))
        assert mine.inverse_shape(tuple(y.shape)) == tuple(theirs.inverse_shape(their_y.shape))
        both = same(lambda: mine.log_abs_det_jacobian(a, y), lambda: theirs.log_abs_det_jacobian(b, their_y), what)  # noqa: B023
        same(lambda: mine.inv(y), lambda: theirs.inv(their_y), f"inverse of {what}", 1e-5)  # noqa: B023
        if both is not None and both[1].requires_grad:
            close(sg.grad(both[0].sum(), [a])[0], torch.autograd.grad(both[1].sum(), [b])[0], f"gradient of {what}", 1e-5)


def test_transformed_distributions(torch: Any):
    def made(lib: Any, tensor: Any) -> list[Any]:
        normal, affine = lib.Normal(tensor(LOC), tensor(SCALE)), lib.AffineTransform(tensor(LOC), tensor(SCALE))
        return [
            lib.TransformedDistribution(normal, [lib.ExpTransform()]),
            lib.TransformedDistribution(normal, [lib.TanhTransform(cache_size=1)]),
            lib.TransformedDistribution(normal, [lib.AffineTransform(1.0, -2.0), lib.SigmoidTransform()]),
            lib.TransformedDistribution(normal, lib.StickBreakingTransform()),
            lib.TransformedDistribution(lib.Normal(tensor(0.0), tensor(1.0)), [affine]),
            lib.TransformedDistribution(lib.Independent(normal, 1), [lib.AffineTransform(tensor(LOC), 2.0, event_dim=1)]),
            lib.TransformedDistribution(lib.Uniform(tensor(0.0), tensor(1.0)), [lib.SigmoidTransform().inv]),
        ]

    for mine, theirs in zip(made(D, sg.tensor), made(torch.distributions, torch.tensor), strict=True):
        what = repr(theirs)
        assert (mine.batch_shape, mine.event_shape) == (tuple(theirs.batch_shape), tuple(theirs.event_shape)), what
        y = theirs.sample((4,)).double().numpy()
        close(mine.log_prob(sg.tensor(y)), theirs.log_prob(torch.tensor(y)).double(), what, 1e-5)
        same(lambda: mine.cdf(sg.tensor(y)), lambda: theirs.cdf(torch.tensor(y)), what, 1e-5)  # noqa: B023
        wide, their_wide = mine.expand((5, *mine.batch_shape)), theirs.expand((5, *theirs.batch_shape))
        assert (wide.batch_shape, wide.event_shape) == (tuple(their_wide.batch_shape), tuple(their_wide.event_shape))
        assert mine.rsample((3,)).shape == tuple(theirs.rsample((3,)).shape)


def test_mixtures(torch: Any):
    def made(lib: Any, tensor: Any) -> list[Any]:
        weights, two = lib.Categorical(logits=tensor(LOC)), lib.Categorical(tensor(SCALE[0, :2]))
        return [
            lib.MixtureSameFamily(weights, lib.Normal(tensor(X), tensor(SCALE))),
            lib.MixtureSameFamily(lib.Categorical(tensor(SCALE[0])), lib.Poisson(tensor(SCALE[1]))),
            lib.MixtureSameFamily(two, lib.MultivariateNormal(tensor(X), scale_tril=tensor(TRIL))),
        ]

    values = [real((4, 2)), counts((4,)), real((4, 3))]
    for mine, theirs, value in zip(made(D, sg.tensor), made(torch.distributions, torch.tensor), values, strict=True):
        assert (mine.batch_shape, mine.event_shape) == (tuple(theirs.batch_shape), tuple(theirs.event_shape))
        for what in ("mean", "variance", "stddev"):
            close(getattr(mine, what), getattr(theirs, what), what)
        close(mine.log_prob(sg.tensor(value)), theirs.log_prob(torch.tensor(value)), "log_prob")
        same(lambda: mine.cdf(sg.tensor(value)), lambda: theirs.cdf(torch.tensor(value)), "cdf")  # noqa: B023
        assert mine.sample((5,)).shape == tuple(theirs.sample((5,)).shape)
        assert mine.expand((6, *mine.batch_shape)).sample().shape == (6, *mine.batch_shape, *mine.event_shape)


TRIL = tril((2,))


# constraints ------------------------------------------------------------------------------------------------------------

VALUES: list[Any] = [
    [-1.0, 0.0, 0.5, 1.0, 2.0, float("nan"), float("inf")], [[0.2, 0.3, 0.5], [0.5, 0.6, 0.1], [0.0, 1.0, 0.0]],
    [[[1.0, 0.0], [0.3, 2.0]], [[1.0, 0.5], [0.5, 2.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.6, 0.8]]],
]  # fmt: skip
PLAIN = (
    *("boolean", "corr_cholesky", "lower_cholesky", "lower_triangular", "nonnegative", "nonnegative_integer", "one_hot"),
    *("positive", "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex"),
    *("square", "symmetric", "unit_interval"),
)
MADE = {
    "greater_than": (0.5,), "greater_than_eq": (0.5,), "less_than": (0.5,), "interval": (0.0, 1.0), "integer_interval": (0, 1),
    "half_open_interval": (0.0, 1.0), "multinomial": (1,),
}  # fmt: skip


def test_constraints(torch: Any):
    theirs = torch.distributions.constraints
    pairs = [(getattr(D.constraints, name), getattr(theirs, name)) for name in PLAIN]
    pairs += [(getattr(D.constraints, name)(*args), getattr(theirs, name)(*args)) for name, args in MADE.items()]
    pairs += [(D.constraints.independent(D.constraints.positive, 1), theirs.independent(theirs.positive, 1))]
    for a, b in pairs:
        assert (a.event_dim, a.is_discrete) == (b.event_dim, b.is_discrete), b
        for value in VALUES:
            if np.ndim(value) > b.event_dim and (b.event_dim < 2 or np.ndim(value) == 3):
                for part in value if b.event_dim == 2 else [value]:  # theirs looks at eigenvalues only if all are symmetric
                    found, wanted = a.check(sg.tensor(part)), b.check(torch.tensor(part))
                    np.testing.assert_array_equal(found, wanted.numpy(), err_msg=repr(b))
    assert repr(D.constraints.positive) == repr(theirs.positive)
    assert repr(D.constraints.unit_interval) == repr(theirs.unit_interval)


def test_transforms_to_constraints(torch: Any):
    theirs = torch.distributions.constraints
    names = ("real", "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky", "positive_definite",
             "corr_cholesky", "real_vector")  # fmt: skip
    for name, registry in itertools.product(names, ("biject_to", "transform_to")):
        try:
            wanted = getattr(torch.distributions, registry)(getattr(theirs, name))
        except NotImplementedError:
            continue
        found = getattr(D, registry)(getattr(D.constraints, name))
        x = X @ X.T if name in ("lower_cholesky", "positive_definite") else X
        close(found(sg.tensor(x)), wanted(torch.tensor(x)), f"{registry} {name}")
