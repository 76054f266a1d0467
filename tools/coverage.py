"""Write `docs/torch_coverage.md`: PyTorch's names, which of them are here, and where each function of tensors works.

    python -m tools.coverage            # runs every function in every mode: some minutes
    python -m tools.coverage sin cos    # runs these functions, and keeps the other results of the last run
    python -m tools.coverage --names    # renews the lists of names, and keeps the results of the last run

A row is run with the samples of `tests/ops/`, where a row there calls the function, or else with the first operands in
`SAMPLES` that it takes. A gradient counts where it agrees with differences in float64; the other columns count where they
agree with eager mode. The names come from `tools/torch_names.json` (`python -m tools.torch_names`).
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg
from staticgrad.namespaces.lookup.advice import DISTRIBUTED_REPLACED
from staticgrad.namespaces.lookup.paths import PATHS
from staticgrad.nn import functional as NN
from staticgrad.ops.operators import Symbol, public_functions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "torch_coverage.md"
TREE = Path(__file__).with_name("torch_paths.json")
UNAVAILABLE = ROOT / "staticgrad" / "namespaces" / "lookup" / "unavailable.txt"
"""Both are of `tools/torch_paths.py`."""
MOST = 8
"""Missing names of a module that the page shows."""
NAMES = Path(__file__).with_name("torch_names.json")

FUNCTIONS = "torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft"
"""Namespaces whose functions are run. Methods are the same functions."""
COLUMNS = "eager", "gradient", "second gradient", "Session", "compiled", "vmap", "jvp"
WORKS, NONE, REFUSED, WRONG, UNKNOWN = "✓", "-", "✗", "wrong", " "
"""Agrees; not defined, as no gradient flows to or from integers; an error of ours says no; differs or breaks; not run."""

Program = Callable[..., Any]


class Run(NamedTuple):
    """A function with operands for it."""

    program: Program
    arrays: list[np.ndarray]


# names ------------------------------------------------------------------------------------------------------------------


def names() -> dict[str, list[str]]:
    """PyTorch's documented names by namespace."""
    lists: dict[str, Any] = json.loads(NAMES.read_text(encoding="utf-8"))
    return {space: found for space, found in lists.items() if isinstance(found, list)}


def namespace(path: str) -> Any:
    """Our namespace of PyTorch's path; None where there is none."""
    if path == "torch.Tensor":
        return sg.Tensor
    try:
        return import_module("staticgrad" + path.removeprefix("torch"))
    except ImportError:
        return None


def missing(path: str, listed: Sequence[str]) -> list[str]:
    """The names of a namespace that are not here."""
    space = namespace(path)
    return [name for name in listed if space is None or getattr(space, name, None) is None]


# operands ---------------------------------------------------------------------------------------------------------------

rng = np.random.default_rng(0)
X = rng.uniform(0.2, 0.9, (3, 4))
Y = rng.uniform(0.2, 0.9, (3, 4)) + np.eye(3, 4)
S = rng.uniform(0.2, 0.9, (3, 3))
S = S @ S.T + 2 * np.eye(3)
V = rng.uniform(0.2, 0.9, 3)
CUBE = rng.uniform(0.2, 0.9, (2, 3, 4))
IMAGE = rng.permutation(np.linspace(0.2, 0.9, 288)).reshape(2, 4, 6, 6)
"""Values that differ by more than the steps of differences, for functions that take the largest."""
N = rng.integers(1, 5, (3, 4))
CLASSES = np.array([0, 2, 1])

SAMPLES: list[Sequence[Any]] = [
    (X,), (X, Y), (S,), (S, S), (X, 1), (X, 1, 2), (X, (1, 0)), (X, 2.0), (V,), (V, V), (S, V), (X, Y, Y), (V, S, V),
    (X, S @ X),
    (CUBE,), (CUBE, CUBE), (CUBE, CUBE.swapaxes(1, 2)), (X, 0, np.array([0, 2])), (X, [1, 3]), (X, X > 0.5), (X, X > 0.5, 1.0),
    (X > 0.5, X, Y), (X, 0.3, 0.7), ([X, Y],), (S, S, S), (CUBE, CUBE, CUBE), (N,), (N, N), (X > 0.5,), (X > 0.5, X < 0.7), (),
    (X, 0, 1, 2), (X, -1), (X, 2), (X, (3, 4)), (X, (12,)), (X, (2, 3, 4)), (2, X), (V, 2), (N[0],), (X, 1, N.argsort(1)),
    (V, S, V, V), (IMAGE,), (IMAGE, 2), (IMAGE[0], 2), (CUBE, 2), (IMAGE, (3, 3)), (CUBE, 3), (X, CLASSES), (X, N),
    (IMAGE, rng.uniform(-0.5, 0.5, (8, 4, 3, 3))), (CUBE, rng.uniform(-0.5, 0.5, (5, 3, 2))), (X, 4), (X, [4]),
    (IMAGE[..., None], rng.uniform(-0.5, 0.5, (4, 4, 3, 3, 1))), (IMAGE[:, :, None], 2), (IMAGE[:, :, None], (1, 2, 2)),
]  # fmt: skip
"""Operands that are tried in turn: arrays become tensors, and what else there is stays as it is."""

SHARES = rng.uniform(0.2, 0.9, (2, 4, 3))
"""Where fractional windows begin, which is drawn otherwise."""


def _unpooled(axes: int) -> Program:
    """max_unpool after max_pool."""

    def program(x: Any) -> Any:
        pooled, places = getattr(NN, f"max_pool{axes}d")(x, 2, return_indices=True)
        return getattr(NN, f"max_unpool{axes}d")(pooled, places, 2)

    return program


def _fractional(name: str) -> Program:
    return lambda x, shares: getattr(NN, name)(x, 2, output_size=2, _random_samples=shares)


SYMMETRIC = "symmetric"
"""Before operands: the function is run on their symmetric part, which is all that it reads or should read."""
GIVEN: dict[str, Sequence[Any]] = {
    "addbmm": (S, CUBE[:, :, :3], CUBE[:, :, :3]),
    "argsort": (X,),
    "batch_norm": (X, np.zeros(4), np.ones(4)),
    "bincount": (N[0],),
    "bucketize": (X, np.array([0.3, 0.6])),
    "cross_entropy": (X, CLASSES),
    "addr": (X, V, X[0]),
    "as_strided_scatter": (X, X[0], (4,), (1,)),
    "chain_matmul": (S, X),
    "cholesky": (SYMMETRIC, S),
    "cholesky_ex": (SYMMETRIC, S),
    "cholesky_inverse": (SYMMETRIC, S),
    "eigh": (SYMMETRIC, S),
    "eigvalsh": (SYMMETRIC, S),
    "index_copy": (X, 0, np.array([0, 2]), X[:2]),
    "index_reduce": (X, 0, np.array([0, 2]), X[:2], "prod"),
    "inv": (S,),
    "inv_ex": (S,),
    "lu": (S,),
    "lu_factor": (S,),
    "lu_factor_ex": (S,),
    "scatter_reduce": (X, 1, N.argsort(1), Y, "sum"),
    "select_scatter": (X, X[0], 0, 1),
    "solve_triangular": (lambda a, b: sg.linalg.solve_triangular(a, b, upper=True), np.triu(S), X),
    "lu_solve": (lambda a, b: sg.linalg.lu_solve(*sg.linalg.lu_factor(a), b), S, X),
    "lu_unpack": (lambda a: sg.lu_unpack(*sg.linalg.lu_factor(a)), S),
    "slogdet": (S,),
    "split_with_sizes": (X, (1, 2)),
    "split_with_sizes_copy": (X, (1, 2)),
    "tensorinv": (S.reshape(3, 3, 1), 1),
    "unflatten": (X, 1, (2, 2)),
    "einsum": ("ij,kj->ik", X, Y),
    "embedding": (CLASSES, X),
    "group_norm": (IMAGE, 2),
    "layer_norm": (X, (4,)),
    "nll_loss": (X, CLASSES),
    "one_hot": (lambda index: NN.one_hot(index, 3), CLASSES),
    "pad": (X, (1, 2)),
    "rms_norm": (X, (4,)),
    "scaled_dot_product_attention": (CUBE, CUBE, CUBE),
    "searchsorted": (np.array([0.3, 0.6]), X),
    "polygamma": (1, X),
    "logit": (X,),
    "tensordot": (X, Y.T, 1),
    "topk": (X, 2),
    "gather": (X, 1, N.argsort(1)),
    "triplet_margin_loss": (X, Y, X[::-1].copy()),
    "cosine_embedding_loss": (X, Y, np.array([1, -1, 1])),
    "conv1d": (CUBE, rng.uniform(-0.5, 0.5, (5, 3, 2))),
    "conv2d": (IMAGE, rng.uniform(-0.5, 0.5, (8, 4, 3, 3))),
    "conv_transpose2d": (IMAGE, rng.uniform(-0.5, 0.5, (4, 2, 3, 3))),
    "conv_transpose1d": (CUBE, rng.uniform(-0.5, 0.5, (3, 2, 2))),
    "affine_grid": (rng.uniform(-0.5, 0.5, (2, 2, 3)), (2, 1, 3, 4)),
    "bilinear": (X, Y[:, :3], rng.uniform(-0.5, 0.5, (2, 4, 3))),
    "ctc_loss": (
        lambda scores, targets: NN.ctc_loss(sg.log_softmax(scores, 2), targets, (4, 4), (2, 1)),
        rng.uniform(-0.5, 0.5, (4, 2, 5)),
        np.array([[1, 2], [3, 3]]),
    ),
    "embedding_bag": (N - 1, Y.T.copy()),
    "fold": (rng.uniform(-0.5, 0.5, (2, 12, 9)), (4, 4), 2),
    "fractional_max_pool2d": (_fractional("fractional_max_pool2d"), IMAGE, SHARES[:, :, :2].copy()),
    "fractional_max_pool2d_with_indices": (_fractional("fractional_max_pool2d_with_indices"), IMAGE, SHARES[:, :, :2].copy()),
    "fractional_max_pool3d": (_fractional("fractional_max_pool3d"), IMAGE.reshape(2, 4, 3, 4, 3), SHARES),
    "fractional_max_pool3d_with_indices": (
        _fractional("fractional_max_pool3d_with_indices"),
        IMAGE.reshape(2, 4, 3, 4, 3),
        SHARES,
    ),
    "grid_sample": (IMAGE, rng.uniform(-0.8, 0.8, (2, 2, 2, 2))),
    "lp_pool2d": (IMAGE, 2, 2),
    "lp_pool3d": (IMAGE.reshape(2, 4, 3, 4, 3), 2, 2),
    "max_unpool1d": (_unpooled(1), IMAGE[0]),
    "max_unpool2d": (_unpooled(2), IMAGE),
    "max_unpool3d": (_unpooled(3), IMAGE.reshape(2, 1, 6, 6, 4)),
    "multilabel_margin_loss": (X, N.argsort(1)),
    "ldl_solve": (lambda a, b: sg.linalg.ldl_solve(*sg.linalg.ldl_factor(a), b), S, X),
    "lobpcg": (SYMMETRIC, S),
    "stft": (lambda x: sg.stft(x, 4, return_complex=True), X.reshape(-1)),
    "istft": (lambda x: sg.istft(sg.stft(x, 4, return_complex=True), 4), X.reshape(-1)),
    "view_as_complex_copy": (X.reshape(3, 2, 2),),
    "view_as_real_copy": (lambda x: sg.view_as_real_copy(sg.complex(x, 2 * x)), X),
    "ihfft": (X,),
    "hfft": (X,),
    "ormqr": (lambda a, tau, b: sg.ormqr(a, tau, b), X.T.copy(), V, Y.T.copy()),
    "orgqr": (X.T.copy(), V),
}
"""Operands of functions that would take some of those above in another sense; a function before them is run instead."""

NOT_RUN = frozenset({
    "allclose", "alpha_dropout", "arange", "are_deterministic_algorithms_enabled", "as_tensor", "asarray",
    "bartlett_window", "bernoulli", "binomial", "blackman_window", "broadcast_shapes", "can_cast", "compile", "cond",
    "detach", "dropout", "dropout1d", "dropout2d", "dropout3d", "empty", "empty_like", "empty_permuted", "empty_strided",
    "enable_grad", "equal", "eye", "feature_alpha_dropout", "fftfreq", "from_dlpack", "from_file", "from_numpy", "frombuffer",
    "full", "get_default_device", "get_default_dtype", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "get_rng_state", "gumbel_softmax", "hamming_window", "hann_window",
    "inference_mode", "initial_seed", "is_complex", "is_conj", "is_deterministic_algorithms_warn_only_enabled",
    "is_floating_point", "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "is_neg", "is_nonzero",
    "is_same_size", "is_signed", "is_storage", "is_tensor", "is_warn_always_enabled", "kaiser_window", "linspace", "load",
    "logspace", "manual_seed", "multinomial", "no_grad", "nonzero_static", "normal", "numel", "ones", "pca_lowrank",
    "poisson", "promote_types", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
    "range", "result_type", "rfftfreq", "rrelu", "rrelu_", "save",
    "scalar_tensor", "seed", "set_default_device", "set_default_dtype",
    "set_default_tensor_type", "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
    "set_grad_enabled", "set_num_interop_threads", "set_num_threads", "set_printoptions", "set_rng_state",
    "set_warn_always", "svd_lowrank", "tensor", "to_dlpack", "tril_indices", "triu_indices", "typename",
    "use_deterministic_algorithms", "vmap", "while_loop", "zeros",
})  # fmt: skip
"""Functions of no tensors, with random results, or that are no computations."""


# what a row of the op-case table calls ------------------------------------------------------------------------------------


@contextmanager
def recorded(calls: list[int]) -> Iterator[None]:
    """While open, ids of public functions that are called from outside of the package are appended to `calls`."""
    spaces = public_spaces()
    before = [dict(space) for space in spaces]
    depth = 0

    def recording(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            nonlocal depth
            if not depth:
                calls.append(id(function))
            depth += 1
            try:
                return function(*args, **named)
            finally:
                depth -= 1

        return call

    for space in spaces:
        for name, value in list(space.items()):
            if not name.startswith("_") and callable(value) and not isinstance(value, type):
                space[name] = recording(value)
    try:
        yield
    finally:
        for space, values in zip(spaces, before, strict=True):
            space.update(values)


def table() -> dict[int, list[Run]]:
    """The rows of the op-case table by the id of the function that they say most about: a row of the function itself, or else
    one that calls as few other functions as any. Each row has run before its calls are recorded, so that no module that a call
    imports keeps what records."""
    from tests.ops.cases import CASES
    from tests.ops.test_cases import draw

    public = {id(value) for space in public_spaces() for value in space.values()}
    itself: dict[int, list[Run]] = {}
    among: dict[int, dict[int, list[Run]]] = {}
    for case in CASES:
        run = Run(case.fn, draw(case, case.samples[0], case.dtypes[-1]))
        if id(case.fn) in public:
            itself.setdefault(id(case.fn), []).append(run)
            continue
        case.fn(*map(sg.tensor, run.arrays))
        calls: list[int] = []
        with recorded(calls):
            case.fn(*map(sg.tensor, run.arrays))
        for key in set(calls):
            among.setdefault(key, {}).setdefault(len(set(calls)), []).append(run)
    return {**{key: by_count[min(by_count)] for key, by_count in among.items()}, **itself}


def public_spaces() -> list[dict[str, Any]]:
    """The contents of the namespaces of functions."""
    return [public_functions(), *(vars(namespace(path)) for path in FUNCTIONS if namespace(path) is not None)]


# a run in every mode ----------------------------------------------------------------------------------------------------


def tensors(result: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(result, (sg.Tensor, Symbol)):
        return [result]
    return [t for part in result for t in tensors(part)] if isinstance(result, (list, tuple)) else []


def arrays_of(result: Any) -> list[np.ndarray]:
    return [t.detach().numpy() for t in tensors(result)]


def agree(found: Sequence[Any], expected: Sequence[Any], rtol: float = 1e-7) -> bool:
    return len(found) == len(expected) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=rtol, atol=rtol * 10, equal_nan=True)
        for a, b in zip(found, expected, strict=True)
    )


def leaves(arrays: Sequence[np.ndarray]) -> list[Any]:
    return [sg.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]


def total(results: Sequence[Any]) -> Any:
    """A number that depends on every element of the floating and complex results, and is not symmetric in them."""
    results = [sg.view_as_real(t.resolve_conj()) if t.dtype.kind == "c" else t for t in results]
    parts = [(t * sg.tensor(weights(t.shape), dtype=t.dtype)).sum() for t in results]
    return sum(parts[1:], parts[0])


def weights(shape: Sequence[int]) -> np.ndarray:
    values: np.ndarray = np.cos(np.arange(float(np.prod(shape, dtype=int))))
    return values.reshape(shape)


def differentiable(results: Sequence[Any]) -> list[Any]:
    return [t for t in results if t.requires_grad]


def slope(f: Callable[[float], float]) -> float:
    """The derivative at 0: central differences, extrapolated once."""
    h = 1e-4
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def gradients(run: Run) -> tuple[str, str]:
    """Whether first and second gradients agree with differences."""
    xs = leaves(run.arrays)
    floats = [x for x in xs if x.requires_grad]
    results = differentiable(tensors(run.program(*xs)))
    if not results:
        return NONE, NONE
    along = [sg.tensor(weights(x.shape) + 0.5) for x in floats]

    def moved(t: float) -> list[Any]:
        steps = iter(along)
        return [(x.detach() + t * next(steps)).requires_grad_() if x.requires_grad else x for x in xs]

    def first_at(points: Sequence[Any], create: bool) -> tuple[Any, list[Any]]:
        value = total(differentiable(tensors(run.program(*points))))
        at = [x for x in points if x.requires_grad]
        found = sg.grad(value, at, create_graph=create, allow_unused=True)
        pairs = [(g, a) for g, a in zip(found, along, strict=True) if g is not None]
        return value, [(g * a).sum() for g, a in pairs]

    def value(t: float) -> float:
        return float(total(differentiable(tensors(run.program(*moved(t))))).item())

    def close(a: float, b: float) -> bool:
        return bool(np.isclose(a, b, rtol=2e-5, atol=2e-5))

    _, found = first_at(xs, True)
    if not found:
        return NONE, NONE
    first = sum(found[1:], found[0])
    if not close(first.item(), slope(value)):
        return WRONG, WRONG
    if not first.requires_grad:
        return WORKS, NONE

    def second() -> str:
        found = sg.grad(first, floats, allow_unused=True)
        curvature = sum(float((g * a).sum().item()) for g, a in zip(found, along, strict=True) if g is not None)
        numeric = slope(lambda t: float(sum(p.item() for p in first_at(moved(t), False)[1])))
        return WORKS if close(curvature, numeric) else WRONG

    return WORKS, tried(second)


def session(run: Run) -> str:
    expected = arrays_of(run.program(*leaves(run.arrays)))
    with sg.Graph().as_default():
        xs = [sg.placeholder(a.dtype, a.shape) for a in run.arrays]
        results = tensors(run.program(*xs))
        with sg.Session() as sess:
            return WORKS if agree(sess.run(results, dict(zip(xs, run.arrays, strict=True))), expected) else WRONG


def compiled(run: Run) -> str:
    expected = arrays_of(run.program(*leaves(run.arrays)))
    function = sg.compile(lambda *xs: tensors(run.program(*xs)))
    if not agree(arrays_of(function(*leaves(run.arrays))), expected):
        return WRONG
    try:
        return "host" if function.plan.host_calls else "native"
    except sg.TraceError:  # there is no segment to compile
        return "eager"


def vmapped(run: Run) -> str:
    func = namespace("torch.func")
    if func is None:
        return UNKNOWN
    stacked = [np.stack([a, a * 0.75 if a.dtype.kind == "f" else a]) for a in run.arrays]
    expected = [np.stack(pair) for pair in zip(*(
        arrays_of(run.program(*leaves([a[i] for a in stacked]))) for i in range(2)
    ), strict=True)]  # fmt: skip
    return WORKS if agree(arrays_of(func.vmap(run.program)(*map(sg.tensor, stacked))), expected) else WRONG


def forward(run: Run) -> str:
    func = namespace("torch.func")
    xs = [sg.tensor(a) for a in run.arrays]
    floating = [i for i, a in enumerate(run.arrays) if a.dtype.kind == "f"]
    if func is None:
        return UNKNOWN
    if not floating or not differentiable(tensors(run.program(*leaves(run.arrays)))):
        return NONE
    along = [sg.tensor(weights(run.arrays[i].shape) + 0.5) for i in floating]

    def of(*moved: Any) -> Any:
        full = list(xs)
        for i, x in zip(floating, moved, strict=True):
            full[i] = x
        results = [t for t in tensors(run.program(*full)) if t.dtype.kind in "fc"]
        return total(results)

    points = [xs[i] for i in floating]
    _, tangent = func.jvp(of, tuple(points), tuple(along))
    numeric = slope(lambda t: float(of(*(p + t * a for p, a in zip(points, along, strict=True))).item()))
    return WORKS if np.isclose(float(tangent.item()), numeric, rtol=2e-5, atol=2e-5) else WRONG


def measured(run: Run) -> list[str]:
    """The cells of a run, by column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = NONE, NONE

        def both() -> str:
            nonlocal first, second
            first, second = gradients(run)
            return first

        first = tried(both)
        second = first if first in (REFUSED, WRONG) else second
        return [WORKS, first, second, *(tried(partial(column, run)) for column in (session, compiled, vmapped, forward))]


def tried(column: Callable[[], str]) -> str:
    try:
        return column()
    except sg.StaticgradError:
        return REFUSED
    except Exception:
        return WRONG


ORDER = {WRONG: 0, REFUSED: 1, UNKNOWN: 2, "eager": 3, "host": 3, "native": 4, WORKS: 4}


def worst(rows: Sequence[Sequence[str]]) -> list[str]:
    """Column by column, the least of several runs; a column that is not defined for one counts for the others."""
    result = []
    for cells in zip(*rows, strict=True):
        defined = [c for c in cells if c != NONE]
        result.append(min(defined, key=lambda c: ORDER[c]) if defined else NONE)
    return result


def _of_symmetric(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: function((x + x.mT) / 2)


def sampled(function: Callable[..., Any], name: str) -> Run | None:
    """The function with the first operands that it takes."""
    for sample in [GIVEN[name]] if name in GIVEN else SAMPLES:
        if sample and callable(sample[0]):
            function, sample = sample[0], sample[1:]
        elif sample and sample[0] is SYMMETRIC:
            function, sample = _of_symmetric(function), sample[1:]
        places: list[int | tuple[int, int]] = []
        for i, value in enumerate(sample):
            places += [i] if isinstance(value, np.ndarray) else []
            places += [(i, j) for j, v in enumerate(value) if isinstance(v, np.ndarray)] if isinstance(value, list) else []
        arrays = [sample[p] if isinstance(p, int) else sample[p[0]][p[1]] for p in places]

        def program(
            *xs: Any, function: Program = function, sample: Sequence[Any] = sample, places: Sequence[Any] = tuple(places)
        ) -> Any:
            given = [list(v) if isinstance(v, list) else v for v in sample]
            for place, x in zip(places, xs, strict=True):
                if isinstance(place, int):
                    given[place] = x
                else:
                    given[place[0]][place[1]] = x
            return function(*given)

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if tensors(program(*[sg.tensor(a) for a in arrays])) and arrays:
                    return Run(program, arrays)
        except Exception:
            continue
    return None


def measure(report: Callable[[str], None], only: Sequence[str] = ()) -> dict[str, list[str]]:
    """The cells of each function that is here, by its full name. only: of functions of these names, if there are any."""
    rows = table()
    cells: dict[str, list[str]] = {}
    done: dict[int, list[str]] = {}
    for space, listed in names().items():
        if space not in FUNCTIONS or namespace(space) is None:
            continue
        gone = set(missing(space, listed))
        for name in listed:
            in_place = name.endswith("_") and not name.endswith("__")
            if (only and name not in only) or name in gone or name in NOT_RUN or in_place:
                continue
            function = getattr(namespace(space), name)
            if id(function) not in done:
                runs = rows.get(id(function), [])[:2]
                if not runs:
                    run = sampled(function, name)
                    runs = [] if run is None else [run]
                done[id(function)] = worst([measured(run) for run in runs]) if runs else [UNKNOWN] * len(COLUMNS)
                report(f"{space}.{name}: {' '.join(done[id(function)])}")
            cells[f"{space}.{name}"] = done[id(function)]
    return cells


# the page ---------------------------------------------------------------------------------------------------------------


def stored(text: str) -> dict[str, list[str]]:
    """The cells on a page, by the full names of functions."""
    found: dict[str, list[str]] = {}
    space = ""
    for line in text.splitlines():
        if line.startswith("### `"):
            space = line.strip("# `")
        elif line.startswith("| `") and space:
            first, *cells = line.strip("|").split("|")
            found[f"{space}.{first.strip(' `')}"] = [c.strip() or UNKNOWN for c in cells]
        elif line.startswith("## "):
            space = ""
    return found


def page(cells: dict[str, list[str]]) -> str:
    lists = names()
    version = json.loads(NAMES.read_text(encoding="utf-8"))["torch version"]
    lines = [
        "# PyTorch's names",
        "",
        "<!-- Written by `python -m tools.coverage`. -->",
        "",
        f"The names that PyTorch {version} documents, without those of other devices, sparse and quantized tensors.",
        "`here` counts the names that this library has.",
        "",
        "| namespace | documented | here | missing |",
        "|---|---:|---:|---|",
    ]
    for space, listed in lists.items():
        gone = missing(space, listed)
        text = ", ".join(f"`{name}`" for name in gone)
        lines.append(f"| `{space}` | {len(listed)} | {len(listed) - len(gone)} | {text} |")
    lines += [
        "",
        "## Functions in every mode",
        "",
        f"{WORKS} works, {NONE} is not defined (integers and booleans have no gradient), {REFUSED} is refused with an error",
        "(graphs have no extents that depend on values), an empty cell was not run. Gradients are compared with differences in",
        "float64, the other columns with eager mode. `native` and `host` say whether compiled code computes it, or calls NumPy",
        "and SciPy; `eager`: it runs between two segments of compiled code. Methods of tensors are the same functions.",
        "",
    ]
    for space in FUNCTIONS:
        here = {name: cells[f"{space}.{name}"] for name in lists[space] if f"{space}.{name}" in cells}
        if not here:
            continue
        lines += [f"### `{space}`", "", "| | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
        lines += [f"| `{name}` | " + " | ".join(row) + " |" for name, row in here.items()]
        lines += [f"| {len(here)} functions | " + " | ".join(_works(here, i) for i in range(len(COLUMNS))) + " |", ""]
    return "\n".join([*lines, *processes(lists), *module_paths(version)]).rstrip() + "\n"


def processes(lists: Mapping[str, Sequence[str]]) -> list[str]:
    """The section of PyTorch's names of several processes: where each stands."""
    lines = [
        "## Several processes",
        "",
        "Each public name of PyTorch's `distributed`, and what to write instead of one that is not here.",
        "",
    ]
    lines += ["| namespace | here | not here |", "|---|---|---|"]
    for space in (space for space in lists if space.startswith("torch.distributed")):
        gone = missing(space, lists[space])
        here = ", ".join(f"`{name}`" for name in lists[space] if name not in gone)
        told = "; ".join(f"`{name}`: {DISTRIBUTED_REPLACED.get(name, 'not yet')}" for name in gone)
        lines.append(f"| `{space}` | {here} | {told} |")
    return [*lines, ""]


def module_paths(version: str) -> list[str]:
    """The section of modules: for each path of PyTorch's what an import of it gives under the torch front."""
    tree: dict[str, Any] = json.loads(TREE.read_text(encoding="utf-8"))
    listed = dict(line.split(": ", 1) for line in UNAVAILABLE.read_text(encoding="utf-8").splitlines())
    absent = listed.pop("*").split()
    here = [path for path in sorted(PATHS) if _below(tree, path) is not None]
    lines = [
        "## Modules",
        "",
        f"PyTorch {version} has {_size(tree)} modules. `python -m staticgrad torch` imports all of them: {len(here)} have",
        "names of this library, the others, with the number of modules in them, raise UnsupportedError where they are used.",
        "Of the names that a module is without, which raise on use as well, the first are named.",
        "",
        "| module | without |",
        "|---|---|",
    ]
    for path in here:
        names = listed.get(path, "").split()
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        lines.append(f"| `torch.{path}` | {', '.join(f'`{name}`' for name in names[:MOST])}{more} |")
    lines += ["", "| raises on use | modules |", "|---|---:|"]
    return [*lines, *(f"| `torch.{path}` | {_size(_below(tree, path) or {}) + 1} |" for path in absent)]


def _below(tree: dict[str, Any], path: str) -> dict[str, Any] | None:
    """The modules in that of a path; None where PyTorch has no such path."""
    found: dict[str, Any] | None = tree
    for part in path.split("."):
        found = None if found is None else found.get(part)
    return found


def _size(tree: dict[str, Any]) -> int:
    return sum(1 + _size(below) for below in tree.values())


def _works(rows: dict[str, list[str]], column: int) -> str:
    """How many of those for which the column is defined work."""
    found = [row[column] for row in rows.values() if row[column] != NONE]
    return f"{sum(c not in (WRONG, REFUSED, UNKNOWN) for c in found)} of {len(found)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/torch_coverage.md")
    parser.add_argument("--names", action="store_true", help="renew the lists of names only")
    parser.add_argument("only", nargs="*", help="run these functions only")
    given = parser.parse_args()
    if given.names or given.only:
        cells = stored(PAGE.read_text(encoding="utf-8"))
        cells.update(measure(lambda line: print(line, flush=True), given.only) if given.only else {})
        gone = {f"{space}.{name}" for space, listed in names().items() for name in missing(space, listed)}
        cells = {name: row for name, row in cells.items() if name not in gone}
    else:
        cells = measure(lambda line: print(line, flush=True))
    PAGE.write_text(page(cells), encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("STATICGRAD_TIERS", "0")  # what runs is native
    main()
