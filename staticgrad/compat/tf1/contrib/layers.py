"""`tf.contrib.layers`: layers as functions with `weights` and `biases`, regularizers, and one call that trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import arrays, math
from ..graph import GraphKeys, get_default_graph
from ..initializers import VarianceScaling, zeros_initializer
from ..layer import Layer
from ..layers import core
from ..layers.convolution import Conv1D, Conv2D, Conv2DTranspose, Conv3D
from ..layers.core import BatchNormalization
from ..nn import functions as nn
from ..nn import spatial
from ..train import optimizers
from ..train.decay import get_global_step
from ..train.optimizers import FtrlOptimizer
from ..variable_scopes import get_variable, variable_scope
from ..variables import trainable_variables


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


def _collected(out: Any, outputs_collections: Any, layer: Layer | None = None, collections: Any = None) -> Any:
    """A result and the variables of its layer, entered in collections."""
    graph = get_default_graph()
    for w in () if layer is None else layer.weights:
        graph.add_to_collections([GraphKeys.MODEL_VARIABLES, *(collections or [])], w)
    graph.add_to_collections(outputs_collections or [], out)
    return out


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


def _convolution(layer: Any, label: str, transposed: bool = False) -> Callable[..., Any]:
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

    convolution.__name__, convolution.__doc__ = label, f"{layer.__doc__} A normalizer takes the place of the biases."
    return convolution


conv1d, conv2d = _convolution(Conv1D, "Conv"), _convolution(Conv2D, "Conv")
conv3d = _convolution(Conv3D, "Conv")
conv2d_transpose = _convolution(Conv2DTranspose, "Conv2d_transpose", True)
convolution = convolution2d = conv2d
convolution1d, convolution3d = conv1d, conv3d
convolution2d_transpose = conv2d_transpose


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


def _pool(call: Callable[..., Any], label: str) -> Callable[..., Any]:
    def pool(
        inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NHWC",
        outputs_collections: Any = None, scope: str | None = None,
    ) -> Any:  # fmt: skip
        out = call(inputs, kernel_size, stride, padding, data_format, name=scope or label)
        return _collected(out, outputs_collections)

    pool.__name__, pool.__doc__ = label, "Windows of images, 2 apart unless told."
    return pool


max_pool2d, avg_pool2d = _pool(spatial.max_pool_v2, "MaxPool2D"), _pool(spatial.avg_pool_v2, "AvgPool2D")


def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """All axes but the first joined."""
    return _collected(core.flatten(inputs, name=scope or "Flatten"), outputs_collections)


def dropout(
    inputs: Any, keep_prob: Any = 0.5, noise_shape: Any = None, is_training: Any = True, outputs_collections: Any = None,
    scope: str | None = None, seed: int | None = None,
) -> Any:  # fmt: skip
    """Dropout while `is_training`."""
    out = core.dropout(inputs, 1 - keep_prob, noise_shape, seed, training=is_training, name=scope or "Dropout")
    return _collected(out, outputs_collections)


def one_hot_encoding(labels: Any, num_classes: int, on_value: float = 1.0, off_value: float = 0.0) -> Any:
    """`tf.one_hot` of class numbers."""
    return arrays.one_hot(labels, num_classes, on_value, off_value)


def embed_sequence(
    ids: Any, vocab_size: int | None = None, embed_dim: int | None = None, unique: bool = False, initializer: Any = None,
    regularizer: Any = None, trainable: bool = True, scope: Any = None, reuse: Any = None,
) -> Any:  # fmt: skip
    """Rows of a table `embeddings` (vocab_size, embed_dim)."""
    with variable_scope(scope, "EmbedSequence", reuse=reuse):
        table = get_variable(
            "embeddings", [vocab_size, embed_dim], initializer=initializer, regularizer=regularizer, trainable=trainable
        )
        return arrays.embedding_lookup(table, ids)


def stack(inputs: Any, layer: Callable[..., Any], stack_args: Any, scope: str | None = None, **options: Any) -> Any:
    """A layer several times, with one entry of `stack_args` after the other."""
    label = getattr(layer, "__name__", "stack")
    with variable_scope(scope, "Stack"):
        for number, args in enumerate(stack_args, 1):
            given = args if isinstance(args, (list, tuple)) else [args]
            inputs = layer(inputs, *given, scope=f"{label}_{number}", **options)
        return inputs


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
