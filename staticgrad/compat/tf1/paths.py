"""TensorFlow's paths of modules that programs import beside `tensorflow`: `tensorflow.python.framework.ops` and others.

A module at such a path has the public names of the namespaces of which TensorFlow's has the functions.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ...namespaces.modules import enter_paths

_NN, _TRAIN, _CELL = ("", "nn", "math", "linalg"), ("train", ""), ("nn.rnn_cell", "contrib.rnn", "nn")
PATHS: dict[str, dict[str, tuple[str, ...]]] = {
    "framework": dict.fromkeys(
        ("constant_op", "dtypes", "ops", "random_seed", "sparse_tensor", "tensor_shape", "tensor_util"),
        ("", "sparse"),
    ) | {"errors": ("errors",), "errors_impl": ("errors",), "test_util": ("test",)},
    "ops": dict.fromkeys(
        (
            "array_ops", "candidate_sampling_ops", "check_ops", "clip_ops", "control_flow_ops", "embedding_ops",
            "functional_ops", "gradients", "gradients_impl", "logging_ops", "math_ops", "nn", "nn_ops", "partitioned_variables",
            "random_ops", "rnn", "script_ops", "sparse_ops", "state_ops", "tensor_array_ops", "variable_scope", "variables",
        ),
        _NN,
    ) | {
        "rnn_cell": _CELL, "rnn_cell_impl": _CELL, "init_ops": ("initializers", ""), "linalg_ops": ("linalg", ""),
        "image_ops": ("image",), "seq2seq": ("contrib.legacy_seq2seq",), "metrics": ("metrics",),
    },
    "training": dict.fromkeys(
        ("adam", "gradient_descent", "learning_rate_decay", "momentum", "moving_averages", "saver", "training_util"),
        _TRAIN,
    ),
    "platform": {
        "app": ("app",), "flags": ("flags",), "gfile": ("gfile",), "test": ("test",), "tf_logging": ("logging",),
    },
    "layers": dict.fromkeys(("base", "convolutional", "core", "layers", "normalization", "pooling"), ("layers",)),
    "util": {"nest": ("nest",)},
    "client": {"session": ("",)},
    "summary": {"summary": ("summary",)},
}  # fmt: skip
"""Package below `tensorflow.python` -> module -> the namespaces, as paths below the dialect."""


class Namespace(ModuleType):
    """A module that looks its names up in others, in their order."""

    def __init__(self, name: str, sources: list[Any]):
        super().__init__(name)
        self.__sources = sources
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            for source in self.__sources:
                if hasattr(source, name):
                    return getattr(source, name)
        raise AttributeError(f"{self.__name__} has no {name!r} here; import it from the dialect's public modules")


def enter(dialect: ModuleType) -> None:
    """Let `import`, `from` and attributes find the paths below the dialect's own name."""

    def source(path: str) -> Any:
        found: Any = dialect
        for part in filter(None, path.split(".")):
            found = getattr(found, part)
        return found

    root = dialect.__name__
    paths: dict[str, ModuleType] = {"python": Namespace(f"{root}.python", [dialect])}
    for package, modules in PATHS.items():
        paths[f"python.{package}"] = Namespace(f"{root}.python.{package}", [])
        for name, spaces in modules.items():
            path = f"python.{package}.{name}"
            paths[path] = Namespace(f"{root}.{path}", [source(space) for space in spaces])
    enter_paths(root, paths)
