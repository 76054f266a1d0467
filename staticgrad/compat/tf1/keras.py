"""`tf.keras.layers`: the layers of `tf.layers` with Keras's arguments, and layers that have no variables.

Settings may be texts: `activation="relu"`, `kernel_initializer="he_normal"`. Inputs are tensors of the graph; models, and
training by `fit`, are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from types import SimpleNamespace
from typing import Any

from . import arrays, initializers, math
from . import layer as core
from .layer import Layer, leaves
from .nn import functions as nn
from .tensor import arguments, signature
from .variable_scopes import embedding_lookup

ACTIVATIONS: dict[str, Any] = {
    **{name: getattr(nn, name) for name in ("elu", "relu", "selu", "softmax", "softplus", "softsign", "swish")},
    "linear": None, "sigmoid": nn.sigmoid, "tanh": nn.tanh, "exponential": getattr(math, "exp"),  # noqa: B009  (is not typed)
}  # fmt: skip
INITIALIZERS = {
    "zeros": initializers.zeros_initializer, "ones": initializers.ones_initializer,
    "glorot_uniform": initializers.glorot_uniform_initializer, "glorot_normal": initializers.glorot_normal_initializer,
    "he_normal": initializers.he_normal, "he_uniform": initializers.he_uniform, "lecun_normal": initializers.lecun_normal,
    "lecun_uniform": initializers.lecun_uniform, "random_normal": initializers.random_normal_initializer,
    "random_uniform": initializers.random_uniform_initializer, "orthogonal": initializers.Orthogonal,
}  # fmt: skip


def _named(table: dict[str, Any], value: Any, what: str) -> Any:
    """The function of a text. Raises ValueError for an unknown one."""
    if not isinstance(value, str):
        return value
    if value not in table:
        raise ValueError(f"Unknown {what}: {value!r}; there are {', '.join(table)}")
    return table[value]


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for key, value in options.items():
        if key in ("input_shape", "input_dim", "input_length", "batch_input_shape"):
            continue  # of the first layer of a model; here the inputs tell
        if key == "activation":
            value = _named(ACTIVATIONS, value, "activation")
        elif key.endswith("initializer"):
            value = _named(INITIALIZERS, value, "initializer")
            value = value() if isinstance(value, type) or value in INITIALIZERS.values() else value
        found[key] = value
    return found


def _twin(base: type) -> type:
    """A class of `tf.layers` whose settings may be texts."""
    import inspect

    order = list(inspect.signature(base).parameters)

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        options = dict(zip(order, args, strict=False)) | options
        if "pool_size" in order:
            options.setdefault("pool_size", 2)
            options["strides"] = options["pool_size"] if options.get("strides") is None else options["strides"]
        base.__init__(self, **_settings(options))  # type: ignore[misc]

    return type(base.__name__, (base,), {"__init__": __init__, "__doc__": base.__doc__})


class _Without(Layer):
    """A layer without variables: `compute(inputs)`."""

    def __init__(self, name: str | None = None, **options: Any):
        super().__init__(name=name, **_settings(options))

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return self.compute(inputs)

    def compute(self, inputs: Any) -> Any:
        raise NotImplementedError


LAYERS: dict[str, Any] = {}


def _layer(name: str, doc: str, compute: Callable[[Any, Any], Any], **settings: Any) -> None:
    """A row: a layer without variables whose settings (name -> default, `...` for none) are attributes of the layer."""

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        given = _settings(arguments(signed, (self, *args), options))
        del given["self"]
        if given.get("threshold"):
            raise ValueError(f"{name}: a threshold is not supported: write tf.where")
        _Without.__init__(self, **given.pop("options"))
        vars(self).update(given)

    signed = signature({"self": ..., **settings}, "options")
    __init__.__signature__ = signed  # type: ignore[attr-defined]
    LAYERS[name] = type(name, (_Without,), {"__init__": __init__, "compute": compute, "__doc__": doc})


def _activated(self: Any, inputs: Any) -> Any:
    return inputs if self.activation is None else self.activation(inputs)


def _reshaped(self: Any, inputs: Any) -> Any:
    if -1 in self.target_shape:
        rows = inputs.shape[0].value
        return arrays.reshape(inputs, [arrays.shape(inputs)[0] if rows is None else rows, *self.target_shape])
    return arrays.reshape(inputs, [-1, *self.target_shape])


def _rectified(self: Any, inputs: Any) -> Any:
    out = nn.leaky_relu(inputs, self.negative_slope) if self.negative_slope else nn.relu(inputs)
    return out if self.max_value is None else math.minimum(out, self.max_value)  # type: ignore[attr-defined]


def _padded(self: Any, inputs: Any) -> Any:
    pairs = (self.padding, self.padding) if isinstance(self.padding, int) else self.padding
    sides = [(p, p) if isinstance(p, int) else tuple(p) for p in pairs]
    first = self.data_format == "channels_first"
    return arrays.pad(inputs, [(0, 0), (0, 0), *sides] if first else [(0, 0), *sides, (0, 0)])


_layer("Activation", "A function, or one of these texts: elu, relu, sigmoid, softmax, tanh, ...", _activated, activation=...)
_layer(
    "Lambda", "Any function of tensors.", lambda self, inputs: self.function(inputs, **(self.arguments or {})),
    function=..., output_shape=None, mask=None, arguments=None,
)  # fmt: skip
_layer("Reshape", "Each sample in another shape.", _reshaped, target_shape=...)
_layer(
    "Permute", "The axes of each sample, which are counted from 1, in another order.",
    lambda self, inputs: arrays.transpose(inputs, [0, *self.dims]), dims=...,
)  # fmt: skip
_layer(
    "RepeatVector", "(batch, features) as (batch, n, features).",
    lambda self, inputs: arrays.tile(arrays.expand_dims(inputs, 1), [1, self.n, 1]), n=...,
)  # fmt: skip
_layer(
    "Concatenate", "A list of tensors along an axis, the last one unless given.",
    lambda self, inputs: arrays.concat(leaves(inputs), self.axis), axis=-1,
)  # fmt: skip
_layer(
    "LeakyReLU", "x, or alpha x where x is negative.", lambda self, inputs: nn.leaky_relu(inputs, self.alpha), alpha=0.3,
)  # fmt: skip
_layer("ReLU", "max(x, 0), at most `max_value`.", _rectified, max_value=None, negative_slope=0.0, threshold=0.0)
_layer("Softmax", "Softmax along an axis.", lambda self, inputs: nn.softmax(inputs, axis=self.axis), axis=-1)
_layer(
    "ZeroPadding2D", "Rows and columns of zeros around each picture (height and width are the axes 1 and 2).", _padded,
    padding=(1, 1), data_format=None,
)  # fmt: skip


class Embedding(Layer):
    """Rows of a table by number."""

    def __init__(self, input_dim: int, output_dim: int, embeddings_initializer: Any = None, embeddings_regularizer: Any = None,
                 embeddings_constraint: Any = None, name: str | None = None, **options: Any):  # fmt: skip
        options.pop("input_length", None)
        super().__init__(name=name, **options)
        self.input_dim, self.output_dim = input_dim, output_dim
        start = {"embeddings_initializer": embeddings_initializer or initializers.random_uniform_initializer(-0.05, 0.05)}
        self._settings = _settings(start)["embeddings_initializer"], embeddings_regularizer, embeddings_constraint

    def build(self, input_shape: Any) -> None:
        start, regularizer, constraint = self._settings
        self.embeddings = self.add_weight(
            "embeddings", [self.input_dim, self.output_dim], "float32", start, regularizer, constraint=constraint
        )
        self.built = True

    def call(self, inputs: Any) -> Any:
        return embedding_lookup(self.embeddings, inputs)


def _over_space(reduce: Callable[..., Any], axes: int) -> Callable[[Any, Any], Any]:
    def compute(self: Any, inputs: Any) -> Any:
        start = 2 if self.data_format == "channels_first" else 1
        return reduce(inputs, axis=list(range(start, start + axes)), keepdims=self.keepdims)

    return compute


def _merging(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, inputs: reduce(function, leaves(inputs))


TWINS = (
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D",
    "MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "SeparableConv1D", "SeparableConv2D",
    "BatchNormalization", "Dense", "Dropout", "Flatten",
)  # fmt: skip
LAYERS |= {name: _twin(getattr(core, name)) for name in TWINS}
for _kind, _reduce in (("Average", "reduce_mean"), ("Max", "reduce_max")):
    for _axes in (1, 2, 3):
        _function = _over_space(getattr(math, _reduce), _axes)
        _layer(f"Global{_kind}Pooling{_axes}D", "Over all places of each sample.", _function, data_format=None, keepdims=False)
MERGED = "Of a list of tensors of one shape."
for _name in ("Add", "Multiply", "Maximum", "Minimum", "Subtract"):
    _layer(_name, MERGED, _merging(getattr(math, _name.lower())))
_layer("Average", MERGED, lambda self, inputs: math.add_n(leaves(inputs)) / len(leaves(inputs)))
LAYERS |= {"Convolution2D": LAYERS["Conv2D"], "MaxPool2D": LAYERS["MaxPooling2D"], "AvgPool2D": LAYERS["AveragePooling2D"],
           "Embedding": Embedding, "Layer": Layer}  # fmt: skip
globals()["layers"] = SimpleNamespace(**LAYERS)
activations = SimpleNamespace(**{name: value for name, value in ACTIVATIONS.items() if value is not None})
