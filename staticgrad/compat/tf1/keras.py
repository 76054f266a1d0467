"""`tf.keras.layers`: the layers of `tf.layers` with Keras's arguments, and layers that have no variables.

Settings may be texts: `activation="relu"`, `kernel_initializer="he_normal"`. Inputs are tensors of the graph; models, and
training by `fit`, are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from . import arrays, initializers, math
from .handles import Handle
from .layer import Layer, leaves
from .layers import convolution, core
from .nn import functions as nn

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


class Activation(_Without):
    """A function, or one of these texts: elu, relu, sigmoid, softmax, tanh, ..."""

    def __init__(self, activation: Any, **options: Any):
        super().__init__(**options)
        self.activation = _named(ACTIVATIONS, activation, "activation")

    def compute(self, inputs: Any) -> Any:
        return inputs if self.activation is None else self.activation(inputs)


class Lambda(_Without):
    """Any function of tensors."""

    def __init__(self, function: Callable[..., Any], output_shape: Any = None, mask: Any = None,
                 arguments: dict[str, Any] | None = None, **options: Any):  # fmt: skip
        super().__init__(**options)
        self.function, self.arguments = function, arguments or {}

    def compute(self, inputs: Any) -> Any:
        return self.function(inputs, **self.arguments)


class Reshape(_Without):
    """Each sample in another shape."""

    def __init__(self, target_shape: Sequence[int], **options: Any):
        super().__init__(**options)
        self.target_shape = tuple(target_shape)

    def compute(self, inputs: Any) -> Any:
        if -1 in self.target_shape:
            rows = inputs.shape[0].value
            return arrays.reshape(inputs, [arrays.shape(inputs)[0] if rows is None else rows, *self.target_shape])
        return arrays.reshape(inputs, [-1, *self.target_shape])


class Permute(_Without):
    """The axes of each sample, which are counted from 1, in another order."""

    def __init__(self, dims: Sequence[int], **options: Any):
        super().__init__(**options)
        self.dims = tuple(dims)

    def compute(self, inputs: Any) -> Any:
        return arrays.transpose(inputs, [0, *self.dims])


class RepeatVector(_Without):
    """(batch, features) as (batch, n, features)."""

    def __init__(self, n: int, **options: Any):
        super().__init__(**options)
        self.n = n

    def compute(self, inputs: Any) -> Any:
        return arrays.tile(arrays.expand_dims(inputs, 1), [1, self.n, 1])


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
        return arrays.embedding_lookup(self.embeddings, inputs)


def _over_space(name: str, reduce: Callable[..., Any], axes: int) -> type:
    def __init__(self: Any, data_format: str | None = None, keepdims: bool = False, **options: Any) -> None:
        _Without.__init__(self, **options)
        self.first, self.keepdims = data_format == "channels_first", keepdims

    def compute(self: Any, inputs: Any) -> Any:
        start = 2 if self.first else 1
        return reduce(inputs, axis=list(range(start, start + axes)), keepdims=self.keepdims)

    return type(name, (_Without,), {"__init__": __init__, "compute": compute, "__doc__": "Over all places of each sample."})


def _merging(name: str, merge: Callable[[list[Handle]], Any]) -> type:
    def compute(self: Any, inputs: Any) -> Any:
        return merge(leaves(inputs))

    return type(name, (_Without,), {"compute": compute, "__doc__": "Of a list of tensors of one shape."})


class Concatenate(_Without):
    """A list of tensors along an axis, the last one unless given."""

    def __init__(self, axis: int = -1, **options: Any):
        super().__init__(**options)
        self.axis = axis

    def compute(self, inputs: Any) -> Any:
        return arrays.concat(leaves(inputs), self.axis)


class LeakyReLU(_Without):
    """x, or alpha x where x is negative."""

    def __init__(self, alpha: float = 0.3, **options: Any):
        super().__init__(**options)
        self.alpha = alpha

    def compute(self, inputs: Any) -> Any:
        return nn.leaky_relu(inputs, self.alpha)


class ReLU(_Without):
    """max(x, 0), at most `max_value`."""

    def __init__(self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **options: Any):
        if threshold:
            raise ValueError("ReLU: a threshold is not supported: write tf.where")
        super().__init__(**options)
        self.max_value, self.negative_slope = max_value, negative_slope

    def compute(self, inputs: Any) -> Any:
        out = nn.leaky_relu(inputs, self.negative_slope) if self.negative_slope else nn.relu(inputs)
        return out if self.max_value is None else math.minimum(out, self.max_value)  # type: ignore[attr-defined]


class Softmax(_Without):
    """Softmax along an axis."""

    def __init__(self, axis: int = -1, **options: Any):
        super().__init__(**options)
        self.axis = axis

    def compute(self, inputs: Any) -> Any:
        return nn.softmax(inputs, axis=self.axis)


class ZeroPadding2D(_Without):
    """Rows and columns of zeros around each picture (height and width are the axes 1 and 2)."""

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **options: Any):
        super().__init__(**options)
        sides = [
            (p, p) if isinstance(p, int) else tuple(p) for p in ((padding, padding) if isinstance(padding, int) else padding)
        ]
        self.paddings = [(0, 0), (0, 0), *sides] if data_format == "channels_first" else [(0, 0), *sides, (0, 0)]

    def compute(self, inputs: Any) -> Any:
        return arrays.pad(inputs, self.paddings)


def _folded(function: Callable[[Any, Any], Any]) -> Callable[[list[Handle]], Any]:
    def merge(items: list[Handle]) -> Any:
        out: Any = items[0]
        for item in items[1:]:
            out = function(out, item)
        return out

    return merge


TWINS = {
    convolution: (
        "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D",
        "MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "SeparableConv1D", "SeparableConv2D",
    ),
    core: ("BatchNormalization", "Dense", "Dropout", "Flatten"),
}  # fmt: skip
LAYERS: dict[str, Any] = {name: _twin(getattr(module, name)) for module, names in TWINS.items() for name in names}
LAYERS |= {
    cls.__name__: cls
    for cls in (
        Activation,
        Concatenate,
        Embedding,
        Lambda,
        LeakyReLU,
        Permute,
        ReLU,
        RepeatVector,
        Reshape,
        Softmax,
        ZeroPadding2D,
    )
}
for _axes in (1, 2, 3):
    for _kind, _reduce in (("Average", "reduce_mean"), ("Max", "reduce_max")):
        _name = f"Global{_kind}Pooling{_axes}D"
        LAYERS[_name] = _over_space(_name, getattr(math, _reduce), _axes)
for _name, _function in (("Add", "add"), ("Multiply", "multiply"), ("Maximum", "maximum"), ("Minimum", "minimum")):
    LAYERS[_name] = _merging(_name, _folded(getattr(math, _function)))
LAYERS["Subtract"] = _merging("Subtract", _folded(getattr(math, "subtract")))  # noqa: B009  (is not typed)
LAYERS["Average"] = _merging("Average", lambda items: math.add_n(items) / len(items))
LAYERS |= {"Convolution2D": LAYERS["Conv2D"], "MaxPool2D": LAYERS["MaxPooling2D"], "AvgPool2D": LAYERS["AveragePooling2D"],
           "Layer": Layer}  # fmt: skip
globals()["layers"] = SimpleNamespace(**LAYERS)
activations = SimpleNamespace(**{name: value for name, value in ACTIVATIONS.items() if value is not None})
