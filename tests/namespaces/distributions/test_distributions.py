"""Densities, entropies and divergences against SciPy and PyTorch; samples by their moments; all modes alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import staticgrad as sg
from staticgrad import distributions as D
from staticgrad.errors import ArgumentError

rng = np.random.default_rng(0)
A, B, C = (rng.uniform(0.6, 2.5, 3) for _ in range(3))
P, Q = rng.uniform(0.15, 0.85, 3), rng.uniform(0.15, 0.85, 3)
L = rng.normal(size=3)
POSITIVE, REAL, UNIT = rng.uniform(0.2, 3, 3), rng.normal(size=3), rng.uniform(0.05, 0.95, 3)
COUNT = np.array([0.0, 2.0, 1.0])
SIMPLEX = np.array([0.2, 0.5, 0.3])
TRIL = np.array([[1.0, 0, 0], [0.3, 0.8, 0], [-0.2, 0.4, 1.2]])
CORRELATION = TRIL / np.sqrt((TRIL**2).sum(-1, keepdims=True))
# name, arguments, other arguments (for the divergence), a value
ROWS = [
    ("Normal", {"loc": L, "scale": A}, {"loc": REAL, "scale": B}, REAL),
    ("LogNormal", {"loc": L, "scale": P}, {"loc": REAL, "scale": B}, POSITIVE),
    ("Laplace", {"loc": L, "scale": A}, {"loc": REAL, "scale": B}, REAL),
    ("Cauchy", {"loc": L, "scale": A}, {"loc": REAL, "scale": B}, REAL),
    ("Gumbel", {"loc": L, "scale": A}, {"loc": REAL, "scale": B}, REAL),
    ("HalfNormal", {"scale": A}, {"scale": B}, POSITIVE),
    ("HalfCauchy", {"scale": A}, None, POSITIVE),
    ("Uniform", {"low": -A, "high": B}, {"low": -A - 1, "high": B + 1}, UNIT),
    ("Exponential", {"rate": A}, {"rate": B}, POSITIVE),
    ("Gamma", {"concentration": A, "rate": B}, {"concentration": B, "rate": C}, POSITIVE),
    ("InverseGamma", {"concentration": A + 2, "rate": B}, None, POSITIVE),
    ("Chi2", {"df": 2 * A}, {"df": 2 * B}, POSITIVE),
    ("Beta", {"concentration1": A, "concentration0": B}, {"concentration1": C, "concentration0": A}, UNIT),
    ("Dirichlet", {"concentration": A}, {"concentration": B}, SIMPLEX),
    ("StudentT", {"df": A + 2, "loc": L, "scale": B}, None, REAL),
    ("FisherSnedecor", {"df1": A, "df2": B + 4}, None, POSITIVE),
    ("Pareto", {"scale": P, "alpha": A + 2}, None, POSITIVE + 1),
    ("Weibull", {"scale": A, "concentration": B}, None, POSITIVE),
    ("Kumaraswamy", {"concentration1": A, "concentration0": B}, None, UNIT),
    ("MultivariateNormal", {"loc": L, "scale_tril": TRIL}, {"loc": REAL, "scale_tril": TRIL + np.eye(3)}, REAL),
    ("MultivariateNormal", {"loc": L, "covariance_matrix": TRIL @ TRIL.T}, None, REAL),
    ("Wishart", {"df": np.array(4.5), "scale_tril": TRIL}, None, TRIL @ TRIL.T + np.eye(3)),
    ("LKJCholesky", {"dim": 3, "concentration": np.array(1.5)}, None, CORRELATION),
    ("Bernoulli", {"probs": P}, {"probs": Q}, np.array([0.0, 1.0, 1.0])),
    ("Bernoulli", {"logits": L}, {"logits": REAL}, np.array([0.0, 1.0, 1.0])),
    ("Geometric", {"probs": P}, {"probs": Q}, COUNT),
    ("Binomial", {"total_count": 5, "probs": P}, {"total_count": 5, "probs": Q}, COUNT),
    ("NegativeBinomial", {"total_count": A, "probs": P}, None, COUNT),
    ("Poisson", {"rate": A}, {"rate": B}, COUNT),
    ("Categorical", {"probs": A}, {"probs": B}, np.array(2)),
    ("Categorical", {"logits": L}, {"logits": REAL}, np.array(1)),
    ("OneHotCategorical", {"logits": L}, {"logits": REAL}, np.array([0.0, 1.0, 0.0])),
    ("ContinuousBernoulli", {"probs": P}, {"probs": Q}, UNIT),
    ("GeneralizedPareto", {"loc": L, "scale": A, "concentration": P / 2}, None, POSITIVE + 3),
    ("VonMises", {"loc": L, "concentration": 3 * A}, None, REAL),
    ("LowRankMultivariateNormal", {"loc": L, "cov_factor": TRIL[:, :2], "cov_diag": A},
     {"loc": REAL, "cov_factor": TRIL[:, 1:], "cov_diag": B}, REAL),
    ("RelaxedOneHotCategorical", {"temperature": np.array(0.7), "logits": L}, None, SIMPLEX),
    ("Multinomial", {"total_count": 4, "probs": A}, None, np.array([1.0, 3.0, 0.0])),
]  # fmt: skip
IDS = [f"{row[0]} {'-'.join(row[1])}" for row in ROWS]


def made(lib, tensor, name, kwargs):
    return getattr(lib, name)(**{k: v if isinstance(v, int) else tensor(v) for k, v in kwargs.items()})


def ours(name, kwargs):
    return made(D, sg.tensor, name, kwargs)


SCIPY = [
    ("Normal", stats.norm(L, A)), ("LogNormal", stats.lognorm(P, scale=np.exp(L))), ("Laplace", stats.laplace(L, A)),
    ("Cauchy", stats.cauchy(L, A)), ("Gumbel", stats.gumbel_r(L, A)), ("HalfNormal", stats.halfnorm(scale=A)),
    ("Exponential", stats.expon(scale=1 / A)), ("Gamma", stats.gamma(A, scale=1 / B)), ("Beta", stats.beta(A, B)),
    ("StudentT", stats.t(A + 2, L, B)), ("FisherSnedecor", stats.f(A, B + 4)), ("Weibull", stats.weibull_min(B, scale=A)),
    ("Chi2", stats.chi2(2 * A)), ("Pareto", stats.pareto(A + 2, scale=P)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "judge"), SCIPY, ids=[row[0] for row in SCIPY])
def test_against_scipy(name, judge):
    row = next(row for row in ROWS if row[0] == name)
    mine = ours(name, row[1])
    np.testing.assert_allclose(mine.log_prob(sg.tensor(row[3])).numpy(), judge.logpdf(row[3]), rtol=1e-8)
    if name != "FisherSnedecor":
        np.testing.assert_allclose(mine.entropy().numpy(), judge.entropy(), rtol=1e-6)
    sg.manual_seed(0)
    for i, column in enumerate(mine.sample((3000,)).numpy().T):
        frozen = type(judge)(judge.dist, *(np.broadcast_to(a, 3)[i] for a in judge.args),
                             **{k: np.broadcast_to(v, 3)[i] for k, v in judge.kwds.items()})  # fmt: skip
        assert stats.kstest(column, frozen.cdf).pvalue > 1e-4


@pytest.mark.parametrize(("name", "kwargs", "other", "value"), ROWS, ids=IDS)
def test_samples_have_the_moments(name, kwargs, other, value):
    mine = ours(name, kwargs)
    sg.manual_seed(1)
    x = mine.sample((4000,)).numpy()
    assert x.shape == (4000, *mine.batch_shape, *mine.event_shape)
    if name == "VonMises":
        direction = np.exp(1j * x).mean(0)
        np.testing.assert_allclose(np.angle(direction), mine.mean.numpy(), atol=0.1)
        np.testing.assert_allclose(1 - np.abs(direction), mine.variance.numpy(), atol=0.02)
    if name in ("Cauchy", "HalfCauchy", "Categorical", "VonMises", "RelaxedOneHotCategorical", "LKJCholesky"):
        return
    error = 6 * np.sqrt(mine.variance.numpy() / 4000)
    assert (np.abs(x.mean(0) - mine.mean.numpy()) < error).all()


@pytest.mark.parametrize(("name", "kwargs", "other", "value"), ROWS, ids=IDS)
def test_the_same_in_every_mode(interpreted, name, kwargs, other, value):
    arrays = {k: v for k, v in kwargs.items() if not isinstance(v, int)}
    rest = {k: v for k, v in kwargs.items() if isinstance(v, int)}

    def run(*args):
        mine = getattr(D, name)(**dict(zip(arrays, args, strict=True)), **rest)
        p = mine.log_prob(value if name == "Categorical" else sg.as_tensor(value))
        return p, *sg.grad(p.sum(), list(args))

    args = [sg.tensor(v, requires_grad=True) for v in arrays.values()]
    for a, b in zip(run(*args), sg.compile(run)(*args), strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-9, atol=1e-12)
    with sg.Graph().as_default(), sg.Session() as sess:
        feeds = [sg.placeholder(np.float64, v.shape) for v in arrays.values()]
        p = getattr(D, name)(**dict(zip(arrays, feeds, strict=True)), **rest).log_prob(value)
        found = sess.run([p, *sg.gradients(p.sum(), feeds)], dict(zip(feeds, arrays.values(), strict=True)))
    for a, b in zip(run(*args), found, strict=True):
        np.testing.assert_allclose(b, a.detach().numpy(), rtol=1e-9, atol=1e-12)


REPARAMETRIZED = [row for row in ROWS if getattr(D, row[0]).has_rsample and row[0] not in ("Cauchy", "HalfCauchy")]


@pytest.mark.parametrize("row", REPARAMETRIZED, ids=[f"{r[0]} {'-'.join(r[1])}" for r in REPARAMETRIZED])
def test_samples_are_differentiable(interpreted, row):
    """Against central differences with the same random numbers; compiled as eager."""
    name, kwargs = row[:2]

    def total(*args):
        return (D.__dict__[name](**dict(zip(kwargs, args, strict=True))).rsample((5,)) ** 2).sum()

    args = [sg.tensor(v, requires_grad=True) for v in kwargs.values()]
    sg.manual_seed(3)
    grads = sg.grad(total(*args), args)
    sg.manual_seed(3)
    compiled = sg.compile(lambda *a: sg.grad(total(*a), list(a)))(*args)
    for i, v in enumerate(kwargs.values()):
        np.testing.assert_allclose(compiled[i].numpy(), grads[i].numpy(), rtol=1e-6, atol=1e-8)
        along = np.tril(rng.normal(size=v.shape)) if v.ndim == 2 else rng.normal(size=v.shape)
        along = along + along.T if "covariance_matrix" in kwargs and v.ndim == 2 else along
        values = []
        for h in (1e-5, -1e-5):
            moved = [sg.tensor(w + h * along if j == i else w) for j, w in enumerate(kwargs.values())]
            sg.manual_seed(3)
            values.append(total(*moved).item())
        slope = (values[0] - values[1]) / 2e-5
        assert (grads[i].numpy() * along).sum() == pytest.approx(slope, rel=1e-3, abs=1e-5)


def test_independent_axes_are_summed():
    base = D.Normal(sg.zeros(2, 3), sg.ones(2, 3))
    joint = D.Independent(base, 1)
    assert (joint.batch_shape, joint.event_shape) == ((2,), (3,))
    x = sg.randn(2, 3)
    np.testing.assert_allclose(joint.log_prob(x).numpy(), base.log_prob(x).numpy().sum(-1), rtol=1e-6)
    assert D.kl_divergence(joint, joint).tolist() == [0.0, 0.0]
    with pytest.raises(ArgumentError, match="Expected reinterpreted_batch_ndims"):
        D.Independent(base, 3)


def test_refusals():
    with pytest.raises(ArgumentError, match=r"Expected parameter scale .* of distribution Normal to satisfy"):
        D.Normal(0.0, -1.0)
    with pytest.raises(ArgumentError, match="Either `probs` or `logits` must be specified, but not both"):
        D.Bernoulli()
    with pytest.raises(NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type Normal and q type StudentT"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.StudentT(1.0))
    with pytest.raises(NotImplementedError, match="has no differentiable samples"):
        D.Bernoulli(0.5).rsample()


def test_arguments_and_values_are_checked():
    normal = D.Normal(0.0, 1.0)
    with pytest.raises(ArgumentError, match=r"support \(Real\(\)\) of the distribution Normal\(loc: 0.0, scale: 1.0\), but"):
        normal.log_prob(sg.tensor(float("nan")))
    with pytest.raises(ArgumentError, match="Value is not broadcastable with batch_shape"):
        D.Normal(sg.zeros(3), 1.0).log_prob(sg.zeros(2))
    with pytest.raises(ArgumentError, match="The right-most size of value must match event_shape"):
        D.Dirichlet(sg.ones(3)).log_prob(sg.tensor([0.5, 0.5]))
    for wrong in (D.Bernoulli(0.5), D.Poisson(1.0), D.Categorical(sg.ones(2)), D.Exponential(1.0), D.Uniform(0.0, 1.0)):
        with pytest.raises(ArgumentError, match="to be within the support"):
            wrong.log_prob(sg.tensor(-1.0))
    assert D.Bernoulli(0.5, validate_args=False).log_prob(sg.tensor(0.5)).item() == pytest.approx(np.log(0.5))
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ArgumentError, match="Expected parameter low"):
        D.Uniform(1.0, 0.0)


def test_mixtures():
    normals = D.Normal(sg.tensor([-1.0, 2.0]), sg.tensor([0.5, 1.0]))
    mixture = D.MixtureSameFamily(D.Categorical(sg.tensor([0.25, 0.75])), normals)
    at = np.linspace(-3, 4, 7, dtype=np.float32)
    density = 0.25 * stats.norm(-1, 0.5).pdf(at) + 0.75 * stats.norm(2, 1).pdf(at)
    np.testing.assert_allclose(mixture.log_prob(sg.tensor(at)).numpy(), np.log(density), rtol=1e-5)
    sg.manual_seed(0)
    x = mixture.sample((4000,)).numpy()
    assert x.mean() == pytest.approx(mixture.mean.item(), abs=0.1)
    assert x.var() == pytest.approx(mixture.variance.item(), rel=0.1)
    with pytest.raises(ArgumentError, match="does not equal"):
        D.MixtureSameFamily(D.Categorical(sg.ones(3)), D.Normal(sg.zeros(2), 1.0))


FLOW = [D.AffineTransform(0.5, 2.0), D.TanhTransform(cache_size=1), D.AffineTransform(1.0, -3.0, cache_size=1)]


def test_transformed_samples_keep_their_density_in_every_mode():
    """The sample is passed back through a transform that loses digits there: the cache has its origin."""

    def run(loc):
        made = D.TransformedDistribution(D.Normal(loc, 3.0), FLOW)
        x = made.rsample((4,))
        p = made.log_prob(x)
        return p, *sg.grad(p.sum(), [loc])

    loc = sg.tensor([1.0, -2.0], requires_grad=True)
    sg.manual_seed(0)
    eager = run(loc)
    assert np.isfinite(eager[0].detach().numpy()).all()
    sg.manual_seed(0)
    for a, b in zip(sg.compile(run)(loc), eager, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_transform_is_undone_by_its_inverse():
    x = sg.tensor(rng.normal(size=(2, 3)))
    for transform in (D.ExpTransform(), D.StickBreakingTransform(), D.CorrCholeskyTransform(), D.SoftplusTransform(),
                      D.ComposeTransform([D.SigmoidTransform(), D.AffineTransform(1.0, 2.0)]), D.TanhTransform()):  # fmt: skip
        y = transform(x)
        np.testing.assert_allclose(transform.inv(y).numpy(), x.numpy(), rtol=1e-6, err_msg=repr(transform))
        assert transform.inv.inv is transform or repr(transform.inv.inv) == repr(transform)
        np.testing.assert_allclose(
            transform.inv.log_abs_det_jacobian(y, x).numpy(), -transform.log_abs_det_jacobian(x, y).numpy(), rtol=1e-6
        )
    with pytest.raises(ArgumentError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)


@pytest.mark.parametrize("given", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_matrices_of_a_normal_are_what_was_given_and_computed_once(given):
    matrix = sg.tensor(np.array([[2.0, 0.0], [0.5, 1.0]]) if given == "scale_tril" else np.array([[2.0, 0.5], [0.5, 1.0]]))
    made = D.MultivariateNormal(sg.zeros(3, 2, dtype=sg.float64), **{given: matrix})
    np.testing.assert_array_equal(getattr(made, given).numpy(), np.broadcast_to(matrix.numpy(), (3, 2, 2)))
    assert made.scale_tril is made.scale_tril
    covariance = made.scale_tril.numpy() @ made.scale_tril.numpy().swapaxes(-1, -2)
    np.testing.assert_allclose(made.covariance_matrix.numpy(), covariance, rtol=1e-12)
    np.testing.assert_allclose(made.precision_matrix.numpy(), np.linalg.inv(covariance), rtol=1e-12)
    wide = made.expand((4, 3))
    assert [tuple(getattr(wide, name).shape) for name in ("scale_tril", "covariance_matrix")] == [(4, 3, 2, 2)] * 2
    value = sg.ones(2, dtype=sg.float64)
    np.testing.assert_array_equal(wide.log_prob(value)[0].numpy(), made.log_prob(value).numpy())


def test_the_factor_of_a_normal_may_be_overridden():
    class Lazy(D.MultivariateNormal):
        def __init__(self, loc, factor):
            self.loc, self.factor, self._unbroadcasted_scale_tril = loc, factor, factor
            D.Distribution.__init__(self, loc.shape[:-1], loc.shape[-1:], validate_args=False)

    loc, factor = sg.zeros(2), 2 * sg.eye(2)
    made, same = Lazy(loc, factor), D.MultivariateNormal(loc, scale_tril=factor)
    assert made.log_prob(sg.ones(2)).item() == same.log_prob(sg.ones(2)).item()

    dist = D.MultivariateNormal(loc, factor)
    step = sg.compile(lambda x: dist.log_prob(x).sum())
    assert step(sg.ones(2)).item() == step(sg.ones(2)).item()
    assert "scale_tril" not in vars(dist)
