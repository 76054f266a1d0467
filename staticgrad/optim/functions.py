"""The functions of PyTorch's modules of optimizers, which take lists: `torch.optim.adam.adam(params, grads, exp_avgs, ...)`.

Each is one step of the optimizer of its name, whose state is in the lists; both are changed in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..eager import Tensor, no_grad
from ..errors import ArgumentError, UnsupportedError
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from .optimizer import Optimizer
from .sgd import SGD

MOMENTS = "exp_avgs=exp_avg exp_avg_sqs=exp_avg_sq"
LISTS = {
    Adadelta: "square_avgs=square_avg acc_deltas=acc_delta",
    Adagrad: "state_sums=sum",
    Adam: f"{MOMENTS} max_exp_avg_sqs=max_exp_avg_sq",
    AdamW: f"{MOMENTS} max_exp_avg_sqs=max_exp_avg_sq",
    Adamax: "exp_avgs=exp_avg exp_infs=exp_inf",
    ASGD: "axs=ax mus=mu etas=eta",
    NAdam: f"{MOMENTS} mu_products=mu_product",
    RAdam: MOMENTS,
    RMSprop: "square_avgs=square_avg grad_avgs=grad_avg momentum_buffer_list=momentum_buffer",
    Rprop: "prevs=prev step_sizes=step_size",
    SGD: "momentum_buffer_list=momentum_buffer",
}
"""The lists that each function takes after parameters and gradients, and their slots; the list of the steps follows."""
PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}
"""Options that are two arguments there."""
SWITCHES = frozenset({"foreach", "fused", "capturable", "differentiable", "has_complex", "has_sparse_grad"})
"""Arguments that change no value."""
ABSENT = "grad_scale", "found_inf"


def _function(kind: type[Optimizer]) -> Callable[..., None]:
    name = kind.__name__.lower()
    slots = dict(pair.split("=") for pair in LISTS[kind].split())
    if kind is not SGD:
        slots["state_steps"] = "step"
    words = ("params", "d_p_list" if kind is SGD else "grads", *slots)

    def function(*lists: Any, **options: Any) -> None:
        if len(lists) > len(words):
            raise ArgumentError(f"{name}() takes {len(words)} lists, got {len(lists)}", "give the options by name")
        given = dict(zip(words, lists, strict=False))
        given.update({word: options.pop(word) for word in words[len(lists) :] if word in options})
        if words[0] not in given or words[1] not in given:
            raise ArgumentError(f"{name}() takes lists of parameters and of gradients")
        if any(options.pop(word, None) is not None for word in ABSENT):
            raise UnsupportedError(f"{name}(): {' and '.join(ABSENT)} are for other devices", "divide the gradients before")
        plain = {key: value for key, value in options.items() if key not in SWITCHES}
        for option, pair in PAIRS.items():
            if pair[0] in plain:
                plain[option] = tuple([plain.pop(word) for word in pair])
        params, grads = given[words[0]], given[words[1]]
        leaves = [p.detach().requires_grad_() for p in params]
        optimizer = kind(leaves, **plain)
        for i, (leaf, g) in enumerate(zip(leaves, grads, strict=True)):
            leaf.grad = g.detach()
            held = {slot: given[word][i] for word, slot in slots.items() if len(given.get(word, ())) > i}
            held = {slot: value for slot, value in held.items() if value is not None}
            if held and "step" not in held and optimizer.counts(optimizer.param_groups[0]):
                held["step"] = Tensor(np.ones((), np.float32))  # PyTorch's has a buffer from the first step on
            if held:
                optimizer.state[leaf] = held
        with no_grad():
            optimizer.step()
        for word, slot in slots.items():
            for i, leaf in enumerate(leaves if len(given.get(word, ())) == len(leaves) else ()):
                if given[word][i] is None:
                    given[word][i] = optimizer.state[leaf].get(slot)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"One step of `{kind.__name__}`, of lists: {', '.join(words)}; its options by name. Returns nothing."
    return function


FUNCTIONS = {kind.__name__.lower(): _function(kind) for kind in LISTS}


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
