"""`tf.contrib.layers`: layers as functions with `weights` and `biases`, regularizers, and one call that trains.

Layers take arguments from `arg_scope` of `tf.contrib.framework`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import arrays, math, summary
from .. import layer as core
from ..graph import GraphKeys, get_default_graph
from ..initializers import VarianceScaling, ones_initializer, zeros_initializer
from ..layer import BatchNormalization, Conv1D, Conv2D, Conv2DTranspose, Conv3D, Layer
from ..nn import functions as nn
from ..nn import spatial
from ..train import optimizers
from ..train.decay import get_global_step
from ..train.optimizers import FtrlOptimizer
from ..variable_scopes import embedding_lookup, get_variable, variable_scope
from ..variables import trainable_variables
from .framework import add_arg_scope


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: Any = None) -> VarianceScaling:
    """Glorot and Bengio, AISTATS 2010."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None, dtype: Any = None
) -> VarianceScaling:
    """Numbers of variance factor / n; mode: n is the number of inputs, outputs, or the mean of both."""
    return VarianceScaling(factor, mode.lower(), "uniform" if uniform else "truncated_normal", seed, dtype)


# regularizers ---------------------------------------------------------------------------------------------------------


def _regularizer(name: str, value: Callable[[Any], Any]) -> Callable[..., Any]:
    def make(scale: float, scope: str | None = None) -> Callable[[Any], Any]:
        if scale < 0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}.")

        def regularizer(weights: Any) -> Any:
            return None if scale == 0 else math.multiply(float(scale), value(weights), name=name)  # type: ignore[attr-defined]

        return regularizer

    make.__name__, make.__doc__ = name, f"scale times TensorFlow's `{name.removesuffix('_regularizer')}` of the weights."
    return make


l1_regularizer = _regularizer(
    "l1_regularizer",
    lambda w: math.reduce_sum(math.abs(w)),  # type: ignore[attr-defined]
)
l2_regularizer = _regularizer("l2_regularizer", math.l2_loss)


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> Callable[[Any], Any]:
    """The sum of both."""
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)])


def sum_regularizer(regularizer_list: Sequence[Any], scope: str | None = None) -> Callable[[Any], Any]:
    def regularizer(weights: Any) -> Any:
        found = [part for r in regularizer_list if r is not None and (part := r(weights)) is not None]
        return math.add_n(found) if found else None

    return regularizer


def apply_regularization(regularizer: Callable[[Any], Any], weights_list: Sequence[Any] | None = None) -> Any:
    """The sum of the losses of all weights, which enters the collection of regularization losses."""
    graph = get_default_graph()
    weights = graph.get_collection(GraphKeys.WEIGHTS) if weights_list is None else weights_list
    losses = [loss for w in weights if (loss := regularizer(w)) is not None]
    total = math.add_n(losses) if losses else arrays.constant(0.0)
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total


# layers ---------------------------------------------------------------------------------------------------------------

NAMES = {"kernel": "weights", "bias": "biases"}


def _renamed(layer: Layer) -> Layer:
    """A layer whose variables are called weights and biases."""
    add = layer.add_weight

    def add_weight(name: str, *args: Any, **kwargs: Any) -> Any:
        return add(NAMES.get(name, name), *args, **kwargs)

    layer.add_weight = add_weight  # type: ignore[method-assign]
    return layer


def _applied(layer: Layer, inputs: Any, normalizer_fn: Any, normalizer_params: Any, activation_fn: Any, collections: Any,
             outputs_collections: Any) -> Any:  # fmt: skip
    out = _renamed(layer)(inputs)
    if normalizer_fn is not None:
        out = normalizer_fn(out, **(normalizer_params or {}))
    if activation_fn is not None:
        out = activation_fn(out)
    return _collected(out, outputs_collections, layer, collections)


def _collected(out: Any, outputs_collections: Any, layer: Any = None, collections: Any = None) -> Any:
    """A result and the variables of its layer, or these variables, entered in collections. collections: names, or names by
    the last part of a variable's."""
    graph = get_default_graph()
    for w in () if layer is None else getattr(layer, "weights", layer):
        own = collections.get(w.op.name.rsplit("/", 1)[-1]) if isinstance(collections, dict) else collections
        own = [own] if isinstance(own, str) else own or []
        keys = [GraphKeys.MODEL_VARIABLES, *own]
        graph.add_to_collections([key for key in keys if w not in graph.get_collection_ref(key)], w)
    graph.add_to_collections(outputs_collections or [], out)
    return out


@add_arg_scope
def fully_connected(
    inputs: Any, num_outputs: int, activation_fn: Any = nn.relu, normalizer_fn: Any = None, normalizer_params: Any = None,
    weights_initializer: Any = None, weights_regularizer: Any = None, biases_initializer: Any = zeros_initializer,
    biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None,
    trainable: bool = True, scope: Any = None,
) -> Any:  # fmt: skip
    """activation(inputs @ weights + biases) along the last axis; a normalizer takes the place of the biases."""
    with variable_scope(scope, "fully_connected", reuse=reuse) as entered:
        layer = core.Dense(
            num_outputs, None, normalizer_fn is None and biases_initializer is not None,
            xavier_initializer() if weights_initializer is None else weights_initializer, biases_initializer,
            weights_regularizer, biases_regularizer, trainable=trainable, _scope=entered, _reuse=reuse,
        )  # fmt: skip
        return _applied(
            layer, inputs, normalizer_fn, normalizer_params, activation_fn, variables_collections, outputs_collections
        )


def linear(inputs: Any, num_outputs: int, *args: Any, **options: Any) -> Any:
    """`fully_connected` without activation."""
    return fully_connected(inputs, num_outputs, None, *args, **options)


relu = fully_connected


def relu6(inputs: Any, num_outputs: int, *args: Any, **options: Any) -> Any:
    """`fully_connected` with `tf.nn.relu6`."""
    return fully_connected(inputs, num_outputs, nn.relu6, *args, **options)


def elu(inputs: Any, num_outputs: int, *args: Any, **options: Any) -> Any:
    """`fully_connected` with `tf.nn.elu`."""
    return fully_connected(inputs, num_outputs, nn.elu, *args, **options)


def _convolution(layer: Any, name: str, label: str = "Conv", transposed: bool = False) -> Callable[..., Any]:
    def convolution(
        inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME",
        data_format: str | None = None, rate: Any = 1, activation_fn: Any = nn.relu, normalizer_fn: Any = None,
        normalizer_params: Any = None, weights_initializer: Any = None, weights_regularizer: Any = None,
        biases_initializer: Any = zeros_initializer, biases_regularizer: Any = None, reuse: Any = None,
        variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, scope: Any = None,
    ) -> Any:  # fmt: skip
        form = "channels_first" if data_format and data_format.startswith("NC") else "channels_last"
        settings: dict[str, Any] = {} if transposed else {"dilation_rate": rate}
        with variable_scope(scope, label, reuse=reuse) as entered:
            made = layer(
                num_outputs, kernel_size, stride, padding, form,
                use_bias=normalizer_fn is None and biases_initializer is not None,
                kernel_initializer=xavier_initializer() if weights_initializer is None else weights_initializer,
                bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer, trainable=trainable, _scope=entered, _reuse=reuse, **settings,
            )  # fmt: skip
            return _applied(
                made, inputs, normalizer_fn, normalizer_params, activation_fn, variables_collections, outputs_collections
            )

    convolution.__name__, convolution.__doc__ = name, f"{layer.__doc__} A normalizer takes the place of the biases."
    return add_arg_scope(convolution)


conv1d, conv2d = _convolution(Conv1D, "convolution1d"), _convolution(Conv2D, "convolution2d")
conv3d = _convolution(Conv3D, "convolution3d")
conv2d_transpose = _convolution(Conv2DTranspose, "convolution2d_transpose", "Conv2d_transpose", True)
convolution = convolution2d = conv2d
convolution1d, convolution3d = conv1d, conv3d
convolution2d_transpose = conv2d_transpose


@add_arg_scope
def separable_conv2d(
    inputs: Any, num_outputs: int | None, kernel_size: Any, depth_multiplier: int = 1, stride: Any = 1, padding: str = "SAME",
    data_format: str = "NHWC", rate: Any = 1, activation_fn: Any = nn.relu, normalizer_fn: Any = None,
    normalizer_params: Any = None, weights_initializer: Any = None, pointwise_initializer: Any = None,
    weights_regularizer: Any = None, biases_initializer: Any = zeros_initializer, biases_regularizer: Any = None,
    reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True,
    scope: Any = None,
) -> Any:  # fmt: skip
    """A convolution of each channel, then one over channels, which is left out where num_outputs is None."""
    if data_format != "NHWC":
        raise ValueError("separable_conv2d: data_format has to be NHWC")
    first = xavier_initializer() if weights_initializer is None else weights_initializer
    sizes, steps, rates = (_pair(n) for n in (kernel_size, stride, rate))
    made: list[Any] = []

    def weights(name: str, shape: list[int], initializer: Any, regularizer: Any) -> Any:
        made.append(get_variable(name, shape, inputs.dtype, initializer, regularizer, trainable))
        return made[-1]

    with variable_scope(scope, "SeparableConv2d", reuse=reuse):
        channels = inputs.shape[-1].value
        depthwise = weights("depthwise_weights", [*sizes, channels, depth_multiplier], first, weights_regularizer)
        strides = [1, *steps, 1]
        if num_outputs is None:
            out = spatial.depthwise_conv2d(inputs, depthwise, strides, padding, rates)
        else:
            second = first if pointwise_initializer is None else pointwise_initializer
            shape = [1, 1, channels * depth_multiplier, num_outputs]
            pointwise = weights("pointwise_weights", shape, second, weights_regularizer)
            out = spatial.separable_conv2d(inputs, depthwise, pointwise, strides, padding, rates)
        if normalizer_fn is not None:
            out = normalizer_fn(out, **(normalizer_params or {}))
        elif biases_initializer is not None:
            out = nn.bias_add(out, weights("biases", [out.shape[-1].value], biases_initializer, biases_regularizer))
        out = out if activation_fn is None else activation_fn(out)
        return _collected(out, outputs_collections, made, variables_collections)


separable_convolution2d = separable_conv2d


def _pair(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


@add_arg_scope
def bias_add(
    inputs: Any, activation_fn: Any = None, initializer: Any = zeros_initializer, regularizer: Any = None, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True,
    data_format: str = "NHWC", scope: Any = None,
) -> Any:  # fmt: skip
    """activation(inputs + biases), a bias for each channel."""
    with variable_scope(scope, "BiasAdd", reuse=reuse):
        axis = 1 if data_format == "NCHW" else -1
        biases = get_variable("biases", [inputs.shape[axis].value], inputs.dtype, initializer, regularizer, trainable)
        out = nn.bias_add(inputs, biases, data_format)
        out = out if activation_fn is None else activation_fn(out)
        return _collected(out, outputs_collections, [biases], variables_collections)


def _affine(
    inputs: Any, mean: Any, variance: Any, epsilon: float, shape: Sequence[int], spread: Sequence[int] | None, center: bool,
    scale: bool, trainable: bool, initializers: Any = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """(inputs - mean) / sqrt(variance + epsilon) * gamma + beta, and the variables. spread: their shape beside the inputs."""
    starts, made = initializers or {}, {}
    for name, start, wanted in (("beta", "zeros", center), ("gamma", "ones", scale)):
        if wanted:
            initializer = starts.get(name, zeros_initializer() if start == "zeros" else ones_initializer())
            made[name] = get_variable(name, list(shape), inputs.dtype, initializer, trainable=trainable)
    placed = {name: v if spread is None else arrays.reshape(v, list(spread)) for name, v in made.items()}
    out = nn.batch_normalization(inputs, mean, variance, placed.get("beta"), placed.get("gamma"), epsilon)
    return out, list(made.values())


@add_arg_scope
def layer_norm(
    inputs: Any, center: bool = True, scale: bool = True, activation_fn: Any = None, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, begin_norm_axis: int = 1,
    begin_params_axis: int = -1, scope: Any = None,
) -> Any:  # fmt: skip
    """Layer normalization over the axes from `begin_norm_axis` on, with a beta and gamma for those from `begin_params_axis`
    on. Ba, Kiros and Hinton, 2016."""
    with variable_scope(scope, "LayerNorm", reuse=reuse):
        rank = inputs.shape.ndims
        axes, params = list(range(begin_norm_axis % rank, rank)), inputs.shape[begin_params_axis % rank :]
        if not params.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {inputs.shape}")
        mean, variance = nn.moments(inputs, axes, keep_dims=True)
        small = 1e-3 if inputs.dtype.size == 2 else 1e-12
        out, made = _affine(inputs, mean, variance, small, params.as_list(), None, center, scale, trainable)
        out = out if activation_fn is None else activation_fn(out)
        return _collected(out, outputs_collections, made, variables_collections)


@add_arg_scope
def instance_norm(
    inputs: Any, center: bool = True, scale: bool = True, epsilon: float = 1e-6, activation_fn: Any = None,
    param_initializers: Any = None, reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None,
    trainable: bool = True, data_format: str = "NHWC", scope: Any = None,
) -> Any:  # fmt: skip
    """Normalization of each channel of each example. Ulyanov, Vedaldi and Lempitsky, 2016."""
    with variable_scope(scope, "InstanceNorm", reuse=reuse):
        rank = inputs.shape.ndims
        channel = 1 if data_format == "NCHW" else rank - 1
        mean, variance = nn.moments(inputs, [a for a in range(1, rank) if a != channel], keep_dims=True)
        count = inputs.shape[channel].value
        spread = [count if a == channel else 1 for a in range(rank)]
        out, made = _affine(inputs, mean, variance, epsilon, [count], spread, center, scale, trainable, param_initializers)
        out = out if activation_fn is None else activation_fn(out)
        return _collected(out, outputs_collections, made, variables_collections)


@add_arg_scope
def group_norm(
    inputs: Any, groups: int = 32, channels_axis: int = -1, reduction_axes: Sequence[int] = (-3, -2), center: bool = True,
    scale: bool = True, epsilon: float = 1e-6, activation_fn: Any = None, param_initializers: Any = None, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Any:  # fmt: skip
    """Normalization of groups of channels of each example. Wu and He, ECCV 2018."""
    with variable_scope(scope, "GroupNorm", reuse=reuse):
        rank, sizes = inputs.shape.ndims, inputs.shape.as_list()
        channel = channels_axis % rank
        count = sizes[channel]
        if count % groups:
            raise ValueError(f"Invalid groups {groups} for {count} channels.")
        whole = arrays.shape(inputs)
        parted = [-1 if n is None else n for n in sizes]
        parted[channel : channel + 1] = [groups, count // groups]
        if parted.count(-1) > 1:
            raise ValueError(f"group_norm: at most one extent of {inputs.shape} may be unknown")
        over = {a % rank for a in reduction_axes}
        axes = [a + (a > channel) for a in over] + [channel + 1]
        x = arrays.reshape(inputs, parted)
        mean, variance = nn.moments(x, sorted(axes), keep_dims=True)
        spread = [1] * (rank + 1)
        spread[channel : channel + 2] = [groups, count // groups]
        out, made = _affine(x, mean, variance, epsilon, [count], spread, center, scale, trainable, param_initializers)
        out = arrays.reshape(out, whole)
        out.set_shape(inputs.shape)
        out = out if activation_fn is None else activation_fn(out)
        return _collected(out, outputs_collections, made, variables_collections)


@add_arg_scope
def batch_norm(
    inputs: Any, decay: float = 0.999, center: bool = True, scale: bool = False, epsilon: float = 0.001,
    activation_fn: Any = None, param_initializers: Any = None, param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS, is_training: Any = True, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, batch_weights: Any = None,
    fused: Any = None, data_format: str = "NHWC", zero_debias_moving_mean: bool = False, scope: Any = None,
    renorm: bool = False, renorm_clipping: Any = None, renorm_decay: float = 0.99, adjustment: Any = None,
) -> Any:  # fmt: skip
    """Batch normalization; with updates_collections=None the moving averages are updated before the result is computed."""
    if batch_weights is not None or zero_debias_moving_mean:
        raise ValueError("batch_norm: batch_weights and zero_debias_moving_mean are not supported")
    starts = param_initializers or {}
    shrink = param_regularizers or {}
    with variable_scope(scope, "BatchNorm", reuse=reuse) as entered:
        layer = BatchNormalization(
            axis=1 if data_format == "NCHW" else -1, momentum=decay, epsilon=epsilon, center=center, scale=scale,
            beta_regularizer=shrink.get("beta"), gamma_regularizer=shrink.get("gamma"), renorm=renorm,
            renorm_clipping=renorm_clipping, renorm_momentum=renorm_decay, adjustment=adjustment, trainable=trainable,
            _scope=entered, _reuse=reuse, **{f"{key}_initializer": value for key, value in starts.items()},
        )  # fmt: skip
        graph = get_default_graph()
        before = len(graph.get_collection(GraphKeys.UPDATE_OPS))
        out = layer(inputs, training=is_training)
        if updates_collections != GraphKeys.UPDATE_OPS:
            kept = graph.get_collection_ref(GraphKeys.UPDATE_OPS)
            updates = kept[before:]
            del kept[before:]
            if updates_collections is None:
                with graph.control_dependencies(updates):
                    out = arrays.identity(out)
            else:
                for update in updates:
                    graph.add_to_collection(updates_collections, update)
        out = out if activation_fn is None else activation_fn(out)
        return _collected(out, outputs_collections, layer, variables_collections)


def _pool(call: Callable[..., Any], name: str, label: str) -> Callable[..., Any]:
    def pool(
        inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NHWC",
        outputs_collections: Any = None, scope: str | None = None,
    ) -> Any:  # fmt: skip
        out = call(inputs, kernel_size, stride, padding, data_format, name=scope or label)
        return _collected(out, outputs_collections)

    pool.__name__, pool.__doc__ = name, "Windows of images, 2 apart unless told."
    return add_arg_scope(pool)


max_pool2d = _pool(spatial.max_pool_v2, "max_pool2d", "MaxPool2D")
avg_pool2d = _pool(spatial.avg_pool_v2, "avg_pool2d", "AvgPool2D")


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """All axes but the first joined."""
    return _collected(core.flatten(inputs, name=scope or "Flatten"), outputs_collections)


@add_arg_scope
def dropout(
    inputs: Any, keep_prob: Any = 0.5, noise_shape: Any = None, is_training: Any = True, outputs_collections: Any = None,
    scope: str | None = None, seed: int | None = None,
) -> Any:  # fmt: skip
    """Dropout while `is_training`."""
    out = core.dropout(inputs, 1 - keep_prob, noise_shape, seed, training=is_training, name=scope or "Dropout")
    return _collected(out, outputs_collections)


@add_arg_scope
def one_hot_encoding(
    labels: Any, num_classes: int, on_value: float = 1.0, off_value: float = 0.0, outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:  # fmt: skip
    """`tf.one_hot` of class numbers."""
    made = arrays.one_hot(labels, num_classes, on_value, off_value, name=scope or "OneHotEncoding")
    return _collected(made, outputs_collections)


@add_arg_scope
def softmax(logits: Any, scope: str | None = None) -> Any:
    """Probabilities along the last axis."""
    return nn.softmax(logits, name=scope or "softmax")


@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: str | None = None) -> Any:
    """The largest of each group of channels: `num_units` of them. Goodfellow et al., ICML 2013."""
    rank, sizes = inputs.shape.ndims, inputs.shape.as_list()
    at = axis % rank
    if sizes[at] is None or sizes[at] % num_units:
        raise ValueError(f"number of features({sizes[at]}) is not a multiple of num_units({num_units})")
    parted = [-1 if n is None else n for n in sizes]
    parted[at : at + 1] = [num_units, sizes[at] // num_units]
    return math.reduce_max(arrays.reshape(inputs, parted), at + 1, name=scope or "MaxOut")  # type: ignore[attr-defined]


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: str | None = None) -> Any:
    """inputs / sqrt(the sum of their squares along an axis + epsilon)."""
    squares = math.reduce_sum(inputs * inputs, dim, keepdims=True)  # type: ignore[attr-defined]
    return math.multiply(inputs, math.rsqrt(squares + epsilon), name=scope or "UnitNorm")  # type: ignore[attr-defined]


def bow_encoder(
    ids: Any, vocab_size: int, embed_dim: int, sparse_lookup: bool = True, initializer: Any = None, regularizer: Any = None,
    trainable: bool = True, scope: Any = None, reuse: Any = None,
) -> Any:  # fmt: skip
    """The mean of the rows of a table `embeddings` for each row of ids."""
    from ..nn.sampling import safe_embedding_lookup_sparse
    from ..sparse import SparseTensor

    with variable_scope(scope, "bow_encoder", reuse=reuse):
        table = get_variable(
            "embeddings", [vocab_size, embed_dim], initializer=initializer, regularizer=regularizer, trainable=trainable
        )
        if isinstance(ids, SparseTensor):
            return safe_embedding_lookup_sparse([table], ids, combiner="mean")
        return math.reduce_mean(embedding_lookup(table, ids), 1)  # type: ignore[attr-defined]


def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """The inputs, through which gradients flow multiplied."""
    multiplier = arrays.convert_to_tensor(gradient_multiplier, inputs.dtype)
    return arrays.stop_gradient(inputs - inputs * multiplier) + inputs * multiplier


def embed_sequence(
    ids: Any, vocab_size: int | None = None, embed_dim: int | None = None, unique: bool = False, initializer: Any = None,
    regularizer: Any = None, trainable: bool = True, scope: Any = None, reuse: Any = None,
) -> Any:  # fmt: skip
    """Rows of a table `embeddings` (vocab_size, embed_dim)."""
    with variable_scope(scope, "EmbedSequence", reuse=reuse):
        table = get_variable(
            "embeddings", [vocab_size, embed_dim], initializer=initializer, regularizer=regularizer, trainable=trainable
        )
        return embedding_lookup(table, ids)


def stack(inputs: Any, layer: Callable[..., Any], stack_args: Any, scope: str | None = None, **options: Any) -> Any:
    """A layer several times, with one entry of `stack_args` after the other."""
    label = scope or getattr(layer, "__name__", "stack")
    with variable_scope(scope, "Stack"):
        for number, args in enumerate(stack_args, 1):
            given = args if isinstance(args, (list, tuple)) else [args]
            inputs = layer(inputs, *given, scope=f"{label}_{number}", **options)
        return inputs


def repeat(inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, scope: Any = None, **options: Any) -> Any:
    """A layer several times, one after another."""
    label = scope or getattr(layer, "__name__", getattr(getattr(layer, "func", None), "__name__", "repeat"))
    with variable_scope(scope, "Repeat"):
        for number in range(1, repetitions + 1):
            inputs = layer(inputs, *args, scope=f"{label}_{number}", **options)
        return inputs


# summaries ------------------------------------------------------------------------------------------------------------


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A summary of a number, or of the distribution of elements."""
    write = summary.scalar if tensor.shape.ndims == 0 else summary.histogram
    return write(tag or tensor.op.name, tensor)


def summarize_activation(op: Any) -> Any:
    """The distribution of a layer's results; of ReLU's the share of zeros, too."""
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        summary.scalar(f"{op.op.name}/zeros", nn.zero_fraction(op))
    return summary.histogram(f"{op.op.name}/activation", op)


def summarize_tensors(tensors: Sequence[Any], summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    return [summarizer(t) for t in tensors]


def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Summaries of the items of a collection."""
    return summarize_tensors(get_default_graph().get_collection(collection, name_filter), summarizer)


def summarize_activations(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation) -> list[Any]:
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)


def summarize_variables(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    return summarize_collection(GraphKeys.GLOBAL_VARIABLES, name_filter, summarizer)


# training -------------------------------------------------------------------------------------------------------------


def optimize_loss(
    loss: Any, global_step: Any, learning_rate: Any, optimizer: Any, gradient_noise_scale: Any = None,
    gradient_multipliers: Any = None, clip_gradients: Any = None, learning_rate_decay_fn: Any = None,
    update_ops: Any = None, variables: Any = None, name: str | None = None, summaries: Any = None,
    colocate_gradients_with_ops: bool = False, increment_global_step: bool = True,
) -> Any:  # fmt: skip
    """A tensor of the loss whose evaluation is a step of the optimizer ("Adam", a class, a function of the rate, or an object).

    clip_gradients: a global norm, or a function of (gradient, variable) pairs. Raises ValueError for gradient noise.
    """
    if gradient_noise_scale is not None or gradient_multipliers is not None:
        raise ValueError("optimize_loss: gradient noise and multipliers are not supported; use compute_gradients")
    graph = get_default_graph()
    with variable_scope(name, "OptimizeLoss"):
        step = get_global_step() if global_step is None else global_step
        if learning_rate is not None and learning_rate_decay_fn is not None:
            learning_rate = learning_rate_decay_fn(learning_rate, step)
        if isinstance(optimizer, str):
            made = OPTIMIZERS[optimizer](learning_rate)
        elif isinstance(optimizer, optimizers.Optimizer):
            made = optimizer
        else:
            made = optimizer(learning_rate) if learning_rate is not None else optimizer()
        updates = graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
        with graph.control_dependencies(updates):
            loss = arrays.identity(loss)
        pairs = made.compute_gradients(loss, variables or trainable_variables())
        if callable(clip_gradients):
            pairs = clip_gradients(pairs)
        elif clip_gradients is not None:
            clipped, _ = math.clip_by_global_norm([g for g, _ in pairs], clip_gradients)
            pairs = list(zip(clipped, [v for _, v in pairs], strict=True))
        done = made.apply_gradients(pairs, global_step=step if increment_global_step else None, name="train")
        with graph.control_dependencies([done]):
            return arrays.identity(loss)


OPTIMIZERS: dict[str, Any] = {
    "Adagrad": optimizers.AdagradOptimizer, "Adam": optimizers.AdamOptimizer, "Ftrl": FtrlOptimizer,
    "Momentum": lambda rate: optimizers.MomentumOptimizer(rate, momentum=0.9), "RMSProp": optimizers.RMSPropOptimizer,
    "SGD": optimizers.GradientDescentOptimizer,
}  # fmt: skip
"""Of `optimize_loss`, by name."""
