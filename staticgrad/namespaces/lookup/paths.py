"""PyTorch's module paths, and where their names are here.

One table serves `import staticgrad.distributions.normal` and, under the torch front, `import torch.distributions.normal`.
`docs/torch_coverage.md` says where each of PyTorch's own paths stands; `python -m tools.coverage --names` writes it.
"""

from __future__ import annotations

PACKAGE = __package__.partition(".")[0]
PRIVATE = "namespaces.lookup.private"

HOMES = {
    "autograd": "namespaces.autograd",
    "distributions": "namespaces.distributions",
    "func": "namespaces.func",
    "functional": "namespaces.functional",
    "numba_ops": "interchange.numba_ops",
    "operators": "ops.operators",
    "safetensors": "interchange.serialization.safetensors",
    "serialization": "interchange.serialization",
    "torch_names": "namespaces.lookup.torch_names",
    "utils": "namespaces.utils",
    "version": "namespaces.version",
}
"""Names of the package whose modules stand in a room of it. Programs and pickles name the modules below them, too."""

MOVED = {
    "namespaces.overrides": "namespaces.lookup.private",
    "namespaces.torch_version": "namespaces.lookup.private",
    "namespaces.futures": "namespaces.processes",
    "namespaces.frequencies": "namespaces.sequences",
    "namespaces.multiprocessing": "namespaces.processes",
    "namespaces.quasirandom": "namespaces.sequences",
    "namespaces.hub": "namespaces.utils.hub",
    "namespaces.private": "namespaces.lookup.private",
    "namespaces.torch_names": "namespaces.lookup.torch_names",
    "nn.optimized_module": "nn.containers",
    "nn.utils.fusion": "nn.utils.reparametrize",
    "namespaces.functional.dropouts": "namespaces.functional.normalization",
    "namespaces.distributions.location_scale": "namespaces.distributions.intervals",
    "namespaces.utils.data.prefetcher": "namespaces.utils.data.workers",
    "distributed.checkpoint.state_dict_loader": "distributed.checkpoint.state_dict_saver",
    "namespaces.distributions.constraint_registry": "namespaces.distributions.transforms",
    "namespaces.utils.data.samplers": "namespaces.utils.data.datasets",
    "nn.pooling_layers": "nn.windowed_layers",
    "nn.rearranging_layers": "nn.layers",
    "nn.convolution_layers": "nn.windowed_layers",
}
"""Modules whose contents are in other ones now. Older pickles name them."""


def home(path: str) -> str:
    """Where a module of the package stands."""
    top, dot, below = path.partition(".")
    place = HOMES.get(top, top) + dot + below
    return MOVED.get(place, place)


Row = tuple[str, ...]
"""Sources of the names of a path, asked in this order: a module of the package, `module:NAME` for an object in it, or for the
members of a mapping there. An empty string is the package itself."""


def _rows(package: str, table: dict[str, str]) -> dict[str, Row]:
    """Rows of modules in a package of PyTorch's: names of modules -> their sources. The last source is the package."""
    return {f"{package}.{name}": (*sources.split(), package) for names, sources in table.items() for name in names.split()}


def _names(module: str, names: str) -> Row:
    """A row of some names of a module."""
    return tuple(f"{module}:{name}" for name in names.split())


def _same(paths: str) -> dict[str, Row]:
    """Rows of modules that have the same path here."""
    return {path: (path,) for path in paths.split()}


PATHS: dict[str, Row] = {
    **_same(
        "autograd autograd.forward_ad autograd.functional autograd.graph "
        "compiler distributed distributed.algorithms distributed.algorithms.join distributed.checkpoint "
        "distributed.checkpoint.state_dict distributed.nn distributed.nn.functional "
        "distributions distributions.constraints distributions.kl distributions.transforms func nn nn.attention "
        "nn.attention.bias nn.attention.flex_attention nn.functional nn.init nn.parallel nn.utils "
        "nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn optim optim.lr_scheduler optim.swa_utils "
        "utils utils.benchmark utils.checkpoint utils.data utils.tensorboard"
    ),
    **{
        name: (f"namespaces.{name}",)
        for name in ("accelerator", "amp", "backends", "cuda", "debug", "jit", "profiler", "random", "testing")
    },
    "__config__": (f"{PRIVATE}:CONFIG",),
    "fft": ("ops.fourier:FFT", *_names("namespaces.sequences", "fftfreq rfftfreq")),
    "linalg": ("ops.linear_algebra:LINALG", "errors:LinAlgError"),
    "special": ("operators:SPECIAL",),
    "sparse": ("ops.sparse:SPARSE",),
    **_rows("accelerator", {"memory": "", "_utils": ""}),
    **_rows("amp", {"autocast_mode grad_scaler": ""}),
    **_rows("autograd", {
        "variable": "", "function": "autograd.function", "grad_mode": "autograd.grad_mode",
        "anomaly_mode": "autograd.anomaly_mode", "gradcheck": "autograd.gradient_checks",
    }),
    "autograd.profiler": ("namespaces.profiler",),
    **{f"backends.{name}": (f"namespaces.backends:{name}",) for name in ("cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp")},
    **_rows("backends", {"opt_einsum cpu quantized mha nnpack xnnpack cusparselt": ""}),
    **_rows("cuda", {
        "amp amp.autocast_mode amp.grad_scaler amp.common": "namespaces.cuda:amp",
        "random memory streams nvtx comm nccl graphs": "",
    }),
    **_rows("distributed.checkpoint", {
        "state_dict_saver state_dict_loader stateful": "", "default_planner filesystem metadata api": "",
    }),
    **_rows("distributions", {
        "bernoulli binomial categorical geometric multinomial negative_binomial one_hot_categorical poisson":
            "distributions.discrete",
        "beta chi2 dirichlet fishersnedecor gamma inverse_gamma studentT": "distributions.gamma_family",
        "cauchy gumbel half_cauchy half_normal laplace normal": "distributions.intervals",
        "continuous_bernoulli exponential generalized_pareto kumaraswamy pareto uniform weibull": "distributions.intervals",
        "independent log_normal logistic_normal mixture_same_family relaxed_bernoulli relaxed_categorical "
        "transformed_distribution": "distributions.composed",
        "lkj_cholesky wishart": "distributions.multivariate",
        "lowrank_multivariate_normal multivariate_normal von_mises": "distributions.multivariate",
        "distribution exp_family": "distributions.distribution",
        "constraint_registry": "distributions.transforms",
        "utils": "distributions.utils",
    }),
    **_rows("jit", {"annotations frontend mobile _script _trace": ""}),
    **_rows("nn", {
        "modules": "", "parameter": "nn.parameter nn.lazy",
        "common_types grad _reduction": PRIVATE,
    }),
    **_rows("nn.modules", {
        "activation": "nn.activations nn.transformer", "adaptive": "nn.activations",
        "batchnorm instancenorm normalization": f"nn.normalization_layers nn.layers {PRIVATE}",
        "container": "nn.containers", "conv fold": f"nn.windowed_layers {PRIVATE}",
        "distance channelshuffle padding pixelshuffle upsampling": "nn.layers",
        "dropout flatten linear sparse": "nn.layers", "lazy": "nn.lazy", "loss": "nn.losses",
        "module": "nn.module_hooks nn.module", "pooling": "nn.windowed_layers", "rnn": "nn.recurrent",
        "transformer": "nn.transformer", "utils": PRIVATE,
    }),
    **_rows("nn.parallel", {
        "data_parallel distributed parallel_apply replicate scatter_gather comm _functions": "",
    }),
    **_rows("nn.utils", {
        "clip_grad convert_parameters": "nn.utils",
        "fusion init memory_format": "nn.utils.reparametrize", "stateless": f"func.modules {PRIVATE}",
        "weight_norm spectral_norm": "nn.utils.reparametrize",
    }),
    **_rows("optim", {
        **{name: f"optim.functions:{name} optim.adaptive" for name in ("adadelta", "adagrad", "asgd", "rmsprop", "rprop")},
        **{name: f"optim.functions:{name} optim.adam" for name in ("adam", "adamax", "adamw", "nadam", "radam")},
        "_adafactor _muon": "optim.sgd", "lbfgs": "optim.lbfgs", "sgd": "optim.functions:sgd optim.sgd",
        "sparse_adam": "optim.adam", "optimizer": f"optim.optimizer {PRIVATE}", "_multi_tensor": "",
        "_functional": "optim.functions:FUNCTIONS",
    }),
    **_rows("profiler", {"profiler itt": ""}),
    **_rows("utils", {
        "_pytree _cxx_pytree": "namespaces.pytree", "model_zoo": "utils.hub", "_device": "",
        "collect_env dlpack hooks weak _contextlib _foreach_utils _python_dispatch": PRIVATE,
    }),
    **_rows("utils.data", {
        "dataloader": "utils.data.loader utils.data.workers", "dataset": "utils.data.datasets",
        "sampler distributed": "utils.data.datasets", "_utils": PRIVATE,
        "_utils.collate": "utils.data.loader", "_utils.worker": "utils.data.workers",
    }),
    **_rows("utils.tensorboard", {"writer summary": "utils.tensorboard.writer"}),
    "_C": (PRIVATE,),
    "_C._functorch": (PRIVATE,),
    "_C._nn": (f"{PRIVATE}:NN",),
    "_jit_internal": (PRIVATE, "jit"),
    "_tensor": ("",),
    "_utils": (PRIVATE,),
    "_dynamo": (PRIVATE, "compiler"),
    "_dynamo.eval_frame": (PRIVATE, "nn.containers"),
    "distributed.optim": ("optim.zero",),
    "distributed.optim.zero_redundancy_optimizer": ("optim.zero",),
    "distributed.rpc": (f"{PRIVATE}:RPC",),
    "functional": ("", "functional"),
    "futures": _names("namespaces.processes", "Future collect_all wait_all"),
    "hub": ("utils.hub",),
    "library": ("autograd.registered",),
    "multiprocessing": ("namespaces.processes",),
    "onnx": ("interchange.onnx",),
    "ops": ("autograd.registered:OPS",),
    "overrides": _names(
        PRIVATE, "get_default_nowrap_functions handle_torch_function has_torch_function has_torch_function_unary "
        "has_torch_function_variadic is_tensor_like is_tensor_method_or_property resolve_name wrap_torch_function"
    ),
    "quasirandom": ("namespaces.sequences:SobolEngine",),
    "return_types": ("ops.return_types",),
    "serialization": ("serialization", "serialization.torch_archive", PRIVATE),
    "signal": (),
    "signal.windows": (PRIVATE,),
    "storage": (PRIVATE,),
    "torch_version": (f"{PRIVATE}:TorchVersion",),
    "types": (PRIVATE,),
    "version": (f"{PRIVATE}:VERSION",),
    **dict.fromkeys(("cpu", "cpu.amp", "mps", "mtia", "xpu", "xpu.random"), ("namespaces.cuda",)),
}  # fmt: skip
