"""Packages that import torch, under the torch front beside PyTorch: the same small programs, the same losses.

    python benchmarks/torch_packages.py NAME           # one program, in PyTorch
    python -m staticgrad torch benchmarks/torch_packages.py NAME
    python -m tools.torch_packages                     # installs the packages, runs all programs both ways, writes the table

A program makes a model, gives it initial values that do not depend on the generators (`start`), trains it for some steps and
returns the losses. It is written as the package's own documentation writes it.

STEPS and THREADS in the environment are the number of steps (8), and that of threads.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

STEPS = int(os.environ.get("STEPS", "8"))
TIMES: list[float] = []
"""When the steps of the last model began that `train` trained."""
PROGRAMS: dict[str, Callable[[], Any]] = {}


def package(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Enter a program under the name that pip knows its package by."""

    def enter(program: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS[name] = program
        return program

    return enter


rng = np.random.default_rng(0)


def draw(*shape: int) -> torch.Tensor:
    """Normal numbers, the same in both."""
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float32))


def classes(n: int, *shape: int) -> torch.Tensor:
    """Class numbers."""
    return torch.from_numpy(rng.integers(0, n, shape))


def start(model: Any) -> Any:
    """The model with parameters that do not depend on the generators."""
    with torch.no_grad():
        for p in model.parameters():
            values = rng.standard_normal(tuple(p.shape)).astype(np.float32)
            ones = p.dim() < 2 and p.numel() and bool((p == 1).all())
            p.copy_(torch.from_numpy(values * (0.1 if p.dim() < 2 else p.shape[-1] ** -0.5) + np.float32(ones)))
    return model


def train(
    model: Any, loss_of: Callable[[], Any], optimizer: Any = None, after: Callable[[], Any] = lambda: None
) -> list[float]:
    """The losses of some steps."""
    if optimizer is None:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    TIMES.clear()
    for _ in range(STEPS):
        TIMES.append(time.perf_counter())
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        after()
        losses.append(loss.item())
    return losses


def mlp(*sizes: int) -> Any:
    """Layers with tanh between them."""
    layers: list[Any] = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


# alone with the name -----------------------------------------------------------------------------------------------------


@package("einops")
def einops() -> Any:
    from einops import einsum, rearrange, reduce, repeat
    from einops.layers.torch import EinMix, Rearrange, Reduce

    model = start(nn.Sequential(
        nn.Conv2d(1, 4, 3), Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2), nn.Linear(16, 8),
        EinMix("b n c -> b n d", weight_shape="c d", c=8, d=8), Reduce("b n d -> b d", "mean"),
    ))  # fmt: skip
    x, y = draw(4, 1, 10, 10), draw(4, 8)

    def loss() -> Any:
        out = rearrange(model(x), "b (h d) -> b h d", h=2)
        scores = einsum(out, out, "b h d, b g d -> b h g")
        return F.mse_loss(rearrange(out, "b h d -> b (h d)"), y) + reduce(
            repeat(scores, "b h g -> b h g k", k=2), "b h g k ->", "mean"
        )

    return train(model, loss)


@package("torchdiffeq")
def torchdiffeq() -> Any:
    from torchdiffeq import odeint, odeint_adjoint

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(2, 16, 2)

        def forward(self, t: Any, y: Any) -> Any:
            return self.net(y**3)

    model, y0, t = start(Field()), draw(5, 2), torch.linspace(0.0, 1.0, 6)
    target = draw(6, 5, 2)
    losses = train(model, lambda: F.l1_loss(odeint(model, y0, t, method="dopri5"), target))
    return losses + train(model, lambda: F.l1_loss(odeint_adjoint(model, y0, t, method="rk4"), target))


@package("torchsde")
def torchsde() -> Any:
    import torchsde

    class SDE(nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def __init__(self) -> None:
            super().__init__()
            self.mu, self.sigma = nn.Linear(3, 3), nn.Linear(3, 3)

        def f(self, t: Any, y: Any) -> Any:
            return self.mu(y)

        def g(self, t: Any, y: Any) -> Any:
            return 0.0 * self.sigma(y)

    sde, y0, ts = start(SDE()), draw(4, 3), torch.linspace(0, 1, 5)
    target = draw(5, 4, 3)
    losses = train(sde, lambda: F.mse_loss(torchsde.sdeint(sde, y0, ts, method="euler", dt=0.05), target))
    return losses + train(sde, lambda: F.mse_loss(torchsde.sdeint_adjoint(sde, y0, ts, dt=0.05), target))


@package("skorch")
def skorch() -> Any:
    from skorch import NeuralNetClassifier, NeuralNetRegressor

    class Net(nn.Module):
        def __init__(self, units: int = 8) -> None:
            super().__init__()
            self.layers = mlp(4, units, 3)

        def forward(self, X: Any) -> Any:
            return torch.softmax(self.layers(X), -1)

    X, y = draw(40, 4).numpy(), classes(3, 40).numpy()
    net = NeuralNetClassifier(Net, max_epochs=STEPS, lr=0.5, train_split=None, iterator_train__shuffle=False, verbose=0)
    net.initialize()
    start(net.module_)
    net.partial_fit(X, y)
    assert net.predict(X).shape == (40,)
    other = NeuralNetRegressor(mlp(4, 8, 1), max_epochs=STEPS, lr=0.05, train_split=None, verbose=0)
    other.initialize()
    start(other.module_)
    other.partial_fit(X, X.sum(1, keepdims=True))
    return [*net.history[:, "train_loss"], *other.history[:, "train_loss"]]


@package("schedulefree")
def schedulefree() -> Any:
    import schedulefree

    losses = []
    for kind in (schedulefree.AdamWScheduleFree, schedulefree.SGDScheduleFree, schedulefree.RAdamScheduleFree):
        model, x, y = start(mlp(4, 16, 1)), draw(32, 4), draw(32, 1)
        optimizer = kind(model.parameters(), lr=0.05)
        optimizer.train()
        losses += train(model, lambda m=model, a=x, b=y: F.mse_loss(m(a), b), optimizer)
        optimizer.eval()
        losses.append(F.mse_loss(model(x), y).item())
    return losses


@package("stable-baselines3")
def stable_baselines3() -> Any:
    import gymnasium as gym
    from stable_baselines3 import DQN, PPO

    losses, x, actions, y = [], draw(8, 4), classes(2, 8), draw(8, 2)

    def policy_loss(policy: Any) -> Any:
        values, log_prob, entropy = policy.evaluate_actions(x, actions)
        return F.mse_loss(values.flatten(), y[:, 0]) - log_prob.mean() - 0.01 * entropy.mean()

    for kind, loss, settings in (
        (PPO, policy_loss, {"n_steps": 32, "batch_size": 32, "n_epochs": 2}),
        (DQN, lambda policy: F.smooth_l1_loss(policy.q_net(x), y), {"learning_starts": 8, "batch_size": 8}),
    ):
        agent = kind("MlpPolicy", gym.make("CartPole-v1"), seed=0, device="cpu", **settings)
        start(agent.policy)
        losses += train(agent.policy, lambda policy=agent.policy, loss=loss: loss(policy), agent.policy.optimizer)
        agent.learn(64)  # whose actions are drawn: another generator, other losses
        action, _ = agent.predict(np.zeros((1, 4), np.float32), deterministic=True)
        assert np.asarray(action).shape == (1,)
    return losses


@package("lion-pytorch")
def lion_pytorch() -> Any:
    from lion_pytorch import Lion

    model, x, y = start(mlp(4, 16, 1)), draw(32, 4), draw(32, 1)
    return train(model, lambda: F.mse_loss(model(x), y), Lion(model.parameters(), lr=1e-2, weight_decay=1e-2))


@package("adabelief-pytorch")
def adabelief_pytorch() -> Any:
    from adabelief_pytorch import AdaBelief

    model, x, y = start(mlp(4, 16, 1)), draw(32, 4), draw(32, 1)
    optimizer = AdaBelief(model.parameters(), lr=1e-2, eps=1e-12, weight_decouple=True, rectify=True, print_change_log=False)
    return train(model, lambda: F.mse_loss(model(x), y), optimizer)


@package("pytorch-warmup")
def pytorch_warmup() -> Any:
    import pytorch_warmup as warmup

    model, x, y = start(mlp(4, 16, 1)), draw(32, 4), draw(32, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)
    warm = warmup.UntunedLinearWarmup(optimizer)

    def after() -> None:
        with warm.dampening():
            schedule.step()

    return train(model, lambda: F.mse_loss(model(x), y), optimizer, after)


@package("torch-ema")
def torch_ema() -> Any:
    from torch_ema import ExponentialMovingAverage

    model, x, y = start(mlp(4, 16, 1)), draw(32, 4), draw(32, 1)
    ema = ExponentialMovingAverage(model.parameters(), decay=0.9)
    losses = train(model, lambda: F.mse_loss(model(x), y), after=ema.update)
    with ema.average_parameters():
        losses.append(F.mse_loss(model(x), y).item())
    return losses


@package("rotary-embedding-torch")
def rotary_embedding_torch() -> Any:
    from rotary_embedding_torch import RotaryEmbedding

    rotary = RotaryEmbedding(dim=8)
    model, x, y = start(nn.Linear(16, 48)), draw(2, 10, 16), draw(2, 10, 16)

    def loss() -> Any:
        q, k, v = (t.view(2, 10, 2, 8).transpose(1, 2) for t in model(x).chunk(3, -1))
        q, k = rotary.rotate_queries_or_keys(q), rotary.rotate_queries_or_keys(k)
        out = F.scaled_dot_product_attention(q, k, v)
        return F.mse_loss(out.transpose(1, 2).reshape(2, 10, 16), y)

    return train(model, loss)


@package("normflows")
def normflows() -> Any:
    import normflows as nf

    flows = []
    for _ in range(4):
        flows += [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 16, 2], init_zeros=True)), nf.flows.Permute(2, mode="swap")]
    model, x = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), flows), draw(64, 2)
    start(model)
    return train(model, lambda: model.forward_kld(x))


@package("torchcde")
def torchcde() -> Any:
    import torchcde

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 12)

        def forward(self, t: Any, z: Any) -> Any:
            return self.net(z).tanh().view(-1, 4, 3)

    model, x, z0 = start(Field()), draw(5, 10, 3), draw(5, 4)
    spline = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))
    target = draw(5, 4)

    def loss() -> Any:
        z = torchcde.cdeint(
            X=spline, func=model, z0=z0, t=spline.interval, adjoint=False, method="rk4", options={"step_size": 1.0}
        )
        return F.mse_loss(z[:, -1], target)

    return train(model, loss)


# with parts of PyTorch's machinery -----------------------------------------------------------------------------------------


@package("entmax")
def entmax() -> Any:
    from entmax import Entmax15Loss, entmax15, entmax_bisect, sparsemax

    model, x, y = start(mlp(6, 16, 5)), draw(16, 6), classes(5, 16)

    def loss() -> Any:
        z = model(x)
        return Entmax15Loss(reduction="elementwise_mean")(z, y) + (sparsemax(z, dim=-1) ** 2).mean() + (
            entmax15(z, dim=-1) * z).mean() + entmax_bisect(z, alpha=1.3).pow(2).sum()  # fmt: skip

    return train(model, loss)


@package("pytorch-metric-learning")
def pytorch_metric_learning() -> Any:
    from pytorch_metric_learning import losses, miners, reducers

    model, x, y = start(mlp(6, 16, 8)), draw(24, 6), classes(4, 24)
    triplets = losses.TripletMarginLoss(margin=0.2, reducer=reducers.ThresholdReducer(low=0))
    miner, arc = miners.TripletMarginMiner(margin=0.2, type_of_triplets="all"), losses.NTXentLoss(temperature=0.5)

    def loss() -> Any:
        z = model(x)
        return triplets(z, y, miner(z, y)) + arc(z, y)

    return train(model, loss)


@package("nflows")
def nflows() -> Any:
    from nflows.distributions.normal import StandardNormal
    from nflows.flows.base import Flow
    from nflows.transforms.autoregressive import (
        MaskedAffineAutoregressiveTransform,
        MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
    )
    from nflows.transforms.base import CompositeTransform
    from nflows.transforms.permutations import ReversePermutation

    parts: list[Any] = []
    for _ in range(2):
        parts += [ReversePermutation(features=3), MaskedAffineAutoregressiveTransform(features=3, hidden_features=8)]
    parts.append(MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
        features=3, hidden_features=8, num_bins=4, tails="linear", tail_bound=3.0))  # fmt: skip
    flow, x = start(Flow(CompositeTransform(parts), StandardNormal([3]))), draw(32, 3)
    return train(flow, lambda: -flow.log_prob(inputs=x).mean())


@package("pytorch-tabnet")
def pytorch_tabnet() -> Any:
    from pytorch_tabnet.tab_model import TabNetClassifier
    from pytorch_tabnet.tab_network import TabNet

    model = TabNet(6, 3, n_d=4, n_a=4, n_steps=2, virtual_batch_size=16, group_attention_matrix=torch.eye(6))
    start(model)
    x, y = draw(32, 6), classes(3, 32)

    def loss() -> Any:
        out, sparsity = model(x)
        return F.cross_entropy(out, y) - 1e-3 * sparsity

    losses = train(model, loss)
    clf = TabNetClassifier(n_d=4, n_a=4, n_steps=2, verbose=0, device_name="cpu")
    clf.fit(draw(64, 6).numpy(), classes(3, 64).numpy(), max_epochs=2, batch_size=32, virtual_batch_size=16, drop_last=False)
    assert len(clf.history["loss"]) == 2
    return losses


@package("torchmetrics")
def torchmetrics() -> Any:
    from torchmetrics import MeanMetric, MetricCollection
    from torchmetrics.classification import MulticlassAccuracy, MulticlassAUROC, MulticlassConfusionMatrix, MulticlassF1Score
    from torchmetrics.functional import pairwise_cosine_similarity
    from torchmetrics.regression import MeanSquaredError, R2Score

    model, x, y = start(mlp(6, 16, 4)), draw(32, 6), classes(4, 32)
    metrics = MetricCollection([MulticlassAccuracy(4), MulticlassF1Score(4), MulticlassAUROC(4)])
    matrix, mean, error, r2 = MulticlassConfusionMatrix(4), MeanMetric(), MeanSquaredError(), R2Score()
    losses = train(model, lambda: F.cross_entropy(model(x), y) + error(model(x)[:, 0], x[:, 0]))
    found = metrics(model(x).softmax(-1), y)
    mean.update(model(x).detach())
    r2.update(model(x)[:, 0], x[:, 0])
    more = [*found.values(), mean.compute(), matrix(model(x).argmax(-1), y).float().std(), r2.compute()]
    return losses + [float(v) for v in [*more, pairwise_cosine_similarity(model(x)).sum()]]


@package("torch-optimizer")
def torch_optimizer() -> Any:
    import torch_optimizer as optim

    losses = []
    for name in ("AdaBound", "AdamP", "DiffGrad", "Lamb", "NovoGrad", "QHAdam", "RAdam", "Ranger", "SGDW", "Yogi", "MADGRAD"):
        model, x, y = start(mlp(4, 8, 1)), draw(16, 4), draw(16, 1)
        optimizer = getattr(optim, name)(model.parameters(), lr=1e-2)
        losses += train(model, lambda m=model, a=x, b=y: F.mse_loss(m(a), b), optimizer)
    return losses


@package("gpytorch")
def gpytorch() -> Any:
    import gpytorch

    x = torch.linspace(0, 1, 20)
    y = torch.sin(6 * x) + 0.1 * draw(20)

    class GP(gpytorch.models.ExactGP):
        def __init__(self, x: Any, y: Any, likelihood: Any):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = GP(x, y, likelihood)
    model.train()
    likelihood.train()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = train(model, lambda: -mll(model(x), y), torch.optim.Adam(model.parameters(), lr=0.1))
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        found = likelihood(model(torch.linspace(0, 1, 7)))
    return losses + [float(found.mean.sum()), float(found.variance.sum())]


@package("botorch")
def botorch() -> Any:
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = torch.from_numpy(rng.random((12, 2)))
    y = 1 - (x - 0.5).norm(dim=-1, keepdim=True)
    gp = SingleTaskGP(train_X=x, train_Y=y, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))
    mll = ExactMarginalLogLikelihood(gp.likelihood, gp)
    fit_gpytorch_mll(mll)
    acquisition = LogExpectedImprovement(model=gp, best_f=y.max())
    bounds = torch.stack([torch.zeros(2), torch.ones(2)]).to(torch.double)
    candidate, _ = optimize_acqf(acquisition, bounds=bounds, q=1, num_restarts=3, raw_samples=16)
    assert candidate.shape == (1, 2)
    gp.train()
    return [float(-mll(gp(*gp.train_inputs), gp.train_targets))]


@package("pyro-ppl")
def pyro_ppl() -> Any:
    import pyro
    import pyro.distributions as dist
    from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO, TraceMeanField_ELBO
    from pyro.optim import Adam

    data = draw(20) + 2

    def model(data: Any) -> None:
        loc = pyro.sample("loc", dist.Normal(0.0, 10.0))
        with pyro.plate("data", len(data)):
            pyro.sample("obs", dist.Normal(loc, 1.0), obs=data)

    def guide(data: Any) -> None:
        loc = pyro.param("q_loc", torch.tensor(0.5))
        pyro.sample("loc", dist.Delta(loc))

    pyro.clear_param_store()
    svi = SVI(model, guide, Adam({"lr": 0.1}), loss=Trace_ELBO())
    losses = [float(svi.step(data)) for _ in range(STEPS)]
    mcmc = MCMC(NUTS(lambda data: model(data)), num_samples=5, warmup_steps=5, disable_progbar=True)
    mcmc.run(data)
    assert mcmc.get_samples()["loc"].shape == (5,)
    assert TraceMeanField_ELBO() is not None
    return losses


@package("zuko")
def zuko() -> Any:
    import zuko

    losses = []
    for flow in (
        zuko.flows.NSF(3, 2, transforms=2, hidden_features=(8, 8)),
        zuko.flows.MAF(3, 2, transforms=2, hidden_features=(8,)),
    ):
        start(flow)
        x, c = draw(32, 3), draw(32, 2)
        losses += train(flow, lambda f=flow, a=x, b=c: -f(b).log_prob(a).mean())
    return losses


@package("x-transformers")
def x_transformers() -> Any:
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    decoder = Decoder(
        dim=32, depth=2, heads=4, rotary_pos_emb=True, attn_flash=True, use_rmsnorm=True, ff_swish=True, ff_glu=True
    )
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=decoder))
    start(model)
    x = classes(20, 4, 12)
    return train(model, lambda: model(x))


@package("vector-quantize-pytorch")
def vector_quantize_pytorch() -> Any:
    from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

    model, x = start(nn.Linear(6, 8)), draw(4, 16, 6)
    quantize = VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0)
    residual, fsq = ResidualVQ(dim=8, num_quantizers=2, codebook_size=8), FSQ([5, 5, 5])
    for layer in (quantize, *residual.layers):
        codes = layer._codebook
        codes.embed.data.copy_(draw(*codes.embed.shape))
        codes.embed_avg.data.copy_(codes.embed)
    start(fsq)
    assert LFQ(codebook_size=16, dim=8) is not None
    to = start(nn.Linear(8, 3))

    def loss() -> Any:
        z = model(x)
        a, _, commitment = quantize(z)
        b, _, more = residual(z)
        c, _ = fsq(to(z))
        return F.mse_loss(a, z) + commitment.sum() + F.mse_loss(b, z) + more.sum() + (c**2).mean()

    return train(model, loss)


@package("denoising-diffusion-pytorch")
def denoising_diffusion_pytorch() -> Any:
    from denoising_diffusion_pytorch import GaussianDiffusion1D, Unet1D

    model = Unet1D(dim=8, dim_mults=(1, 2), channels=3)
    diffusion = GaussianDiffusion1D(model, seq_length=16, timesteps=20, objective="pred_v")
    start(diffusion)
    x, noise, t = draw(2, 3, 16).sigmoid(), draw(2, 3, 16), classes(20, 2)
    return train(diffusion, lambda: diffusion.p_losses(x, t, noise=noise))


@package("ema-pytorch")
def ema_pytorch() -> Any:
    from ema_pytorch import EMA

    model, x, y = start(mlp(4, 16, 1)), draw(32, 4), draw(32, 1)
    ema = EMA(model, beta=0.9, update_after_step=2, update_every=2)
    losses = train(model, lambda: F.mse_loss(model(x), y), after=ema.update)
    return losses + [F.mse_loss(ema(x), y).item()]


@package("captum")
def captum() -> Any:
    from captum.attr import DeepLift, FeatureAblation, GradientShap, IntegratedGradients, LayerConductance, Saliency

    model, x, y = start(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))), draw(6, 4), classes(3, 6)
    losses = train(model, lambda: F.cross_entropy(model(x), y))
    found = [IntegratedGradients(model).attribute(x, target=1), Saliency(model).attribute(x, target=1)]
    found += [FeatureAblation(model).attribute(x, target=1), DeepLift(model).attribute(x, target=1)]
    found += [LayerConductance(model, model[0]).attribute(x, target=1)]
    assert GradientShap(model).attribute(x, baselines=torch.zeros(2, 4), target=1).shape == x.shape
    return losses + [float(a.abs().sum()) for a in found]


@package("kornia")
def kornia() -> Any:
    import kornia

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 3, padding=1)

        def forward(self, x: Any) -> Any:
            x = kornia.filters.gaussian_blur2d(self.conv(x), (3, 3), (1.0, 1.0))
            x = kornia.geometry.transform.rotate(x, torch.full((len(x),), 30.0))
            return kornia.filters.sobel(kornia.color.rgb_to_grayscale(x.sigmoid()))

    model, x, y = start(Net()), draw(2, 3, 12, 12).sigmoid(), draw(2, 1, 12, 12).sigmoid()
    return train(model, lambda: F.mse_loss(model(x), y) + 0.1 * kornia.losses.ssim_loss(model(x), y, 5))


@package("pytorch-lightning")
def pytorch_lightning() -> Any:
    import pytorch_lightning as pl

    losses = []

    class Module(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(4, 16, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self.net(x), y)
            losses.append(loss.item())
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    module = start(Module())
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(draw(64, 4), draw(64, 1)), batch_size=16)
    trainer = pl.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                         enable_model_summary=False)  # fmt: skip
    trainer.fit(module, loader)
    return losses


@package("lightning-fabric")
def lightning_fabric() -> Any:
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    model = start(mlp(4, 16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    model, optimizer = fabric.setup(model, optimizer)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(draw(64, 4), draw(64, 1)), batch_size=16)
    losses = []
    for x, y in fabric.setup_dataloaders(loader):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        fabric.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return losses


@package("pytorch-ignite")
def pytorch_ignite() -> Any:
    from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.metrics import Accuracy, Loss

    model, x, y = start(mlp(4, 16, 3)), draw(64, 4), classes(3, 64)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    trainer = create_supervised_trainer(model, optimizer, F.cross_entropy)
    evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "loss": Loss(F.cross_entropy)})
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output))
    trainer.run(loader, max_epochs=2)
    assert isinstance(trainer, Engine)
    evaluator.run(loader)
    return losses + [*evaluator.state.metrics.values()]


@package("transformers")
def transformers() -> Any:
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
    )

    losses, x = [], classes(50, 2, 10)
    small = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50}
    still = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    gpt = start(GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=50, n_positions=16, **still)))
    losses += train(gpt, lambda: gpt(input_ids=x, labels=x).loss)
    plain = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    bert = start(BertForSequenceClassification(BertConfig(max_position_embeddings=16, num_labels=3, **small, **plain)))
    y = classes(3, 2)
    losses += train(bert, lambda: bert(input_ids=x, labels=y).loss)
    llama = start(LlamaForCausalLM(LlamaConfig(num_key_value_heads=2, max_position_embeddings=32, **small)))
    losses += train(llama, lambda: llama(input_ids=x, labels=x).loss)
    found = llama.generate(x[:, :4], max_new_tokens=4, do_sample=False, pad_token_id=0)
    return losses + [float(found.sum())]


@package("peft")
def peft() -> Any:
    from peft import LoraConfig, get_peft_model
    from transformers import GPT2Config, GPT2LMHeadModel

    still = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    base = start(GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=50, n_positions=16, **still)))
    model = get_peft_model(
        base, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True, lora_dropout=0.0)
    )
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.copy_(0.1 * draw(*p.shape))
    x = classes(50, 2, 10)
    return train(model, lambda: model(input_ids=x, labels=x).loss)


@package("torch-geometric")
def torch_geometric() -> Any:
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c, self.d = GCNConv(4, 8), GATConv(8, 4, heads=2), SAGEConv(8, 8), nn.Linear(8, 3)

        def forward(self, data: Any) -> Any:
            x = self.a(data.x, data.edge_index).relu()
            x = self.b(x, data.edge_index).relu()
            x = self.c(x, data.edge_index).relu()
            return self.d(global_mean_pool(x, data.batch))

    graphs = [Data(x=draw(6, 4), edge_index=classes(6, 2, 14), y=classes(3, 1)) for _ in range(4)]
    model, batch = start(Net()), next(iter(DataLoader(graphs, batch_size=4)))
    return train(model, lambda: F.cross_entropy(model(batch), batch.y))


@package("accelerate")
def accelerate() -> Any:
    from accelerate import Accelerator

    model, x, y = start(mlp(4, 16, 1)), draw(64, 4), draw(64, 1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16)
    accelerator = Accelerator(cpu=True)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-2), loader)
    losses = []
    for a, b in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(a), b)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@package("higher")
def higher() -> Any:
    import higher

    model, losses = start(mlp(2, 16, 1)), []
    outer = torch.optim.Adam(model.parameters(), lr=1e-2)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = draw(16, 2), draw(16, 1)
    for _ in range(STEPS):
        outer.zero_grad()
        with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (fast, differentiable):
            for _ in range(2):
                differentiable.step(F.mse_loss(fast(x[:8]), y[:8]))
            loss = F.mse_loss(fast(x[8:]), y[8:])
            loss.backward()
        outer.step()
        losses.append(loss.item())
    return losses


@package("geoopt")
def geoopt() -> Any:
    import geoopt

    target = draw(3, 3)
    with torch.no_grad():
        first = torch.linalg.qr(draw(3, 3))[0]
    point = geoopt.ManifoldParameter(first.clone(), manifold=geoopt.Stiefel())
    optimizer = geoopt.optim.RiemannianAdam([point], lr=1e-1)
    losses = train(None, lambda: F.mse_loss(point, target), optimizer)
    ball = geoopt.PoincareBall()
    other = geoopt.ManifoldParameter(0.1 * draw(5, 2), manifold=ball)
    origin = 0.1 * draw(5, 2)
    return losses + train(None, lambda: ball.dist(other, origin).sum(), geoopt.optim.RiemannianSGD([other], lr=1e-1))


@package("torchinfo")
def torchinfo() -> Any:
    from torchinfo import summary

    model = start(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)))
    found = summary(model, input_size=(2, 1, 8, 8), verbose=0)
    x, y = draw(2, 1, 8, 8), classes(3, 2)
    return [float(found.total_params), float(found.total_mult_adds), *train(model, lambda: F.cross_entropy(model(x), y))]


def main() -> None:
    """Run the program of a name, and print as JSON its losses, seconds, and those of a step: the median of the later half of
    them, None for a package that has the loop itself. It is one line, the last."""
    if "THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["THREADS"]))
    begin = time.perf_counter()
    losses = [float(x) for x in PROGRAMS[sys.argv[1]]()]
    seconds, late = time.perf_counter() - begin, TIMES[len(TIMES) // 2 :]
    step = statistics.median(b - a for a, b in itertools.pairwise(late)) if len(late) > 1 else None
    print(json.dumps({"losses": losses, "seconds": seconds, "step": step}))


if __name__ == "__main__":
    main()
