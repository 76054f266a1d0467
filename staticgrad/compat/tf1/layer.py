"""What layers have in common: a scope that holds their variables, which are made at the first call."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .control import cond
from .dtypes import as_dtype, float32
from .graph import GraphKeys, get_default_graph
from .handles import Handle
from .partitions import tables_of
from .shapes import TensorShape
from .variable_scopes import get_variable, variable_scope


def snake_case(name: str) -> str:
    """The name of a class as that of a scope: BasicLSTMCell is basic_lstm_cell."""
    split = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", split).lower().lstrip("_")


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


class Layer:
    """A function with variables. A subclass defines `call(inputs)`, and `build(input_shape)` where it has variables.

    The variables are made in a variable scope that begins at the first call: `name`, or the class's name made unique.
    """

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, activity_regularizer: Any = None,
        _scope: Any = None, _reuse: Any = None, **options: Any,
    ):  # fmt: skip
        if options:
            raise TypeError(f"Keyword argument not understood: {next(iter(options))}")
        self.trainable, self.built = trainable, False
        self.activity_regularizer = activity_regularizer
        self._dtype, self._reuse = dtype, _reuse
        self._base_name = snake_case(type(self).__name__) if name is None else name
        self._given_scope = name if _scope is None else _scope
        self._scope: Any = None
        self._weights: list[tuple[Any, bool]] = []
        self._losses: list[Any] = []
        self._updates: list[Any] = []

    # variables --------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its scope's own name once it was called."""
        return self._base_name if self._scope is None else self._scope.name.rsplit("/", 1)[-1]

    @property
    def scope_name(self) -> str:
        """Raises ValueError before the first call."""
        if self._scope is None:
            raise ValueError(f'No name available for layer scope because the layer "{self._base_name}" has not been used yet.')
        return str(self._scope.name)

    dtype = property(lambda self: self._dtype)

    def add_weight(
        self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
        trainable: bool | None = None, constraint: Any = None, **accepted: Any,
    ) -> Any:  # fmt: skip
        """A variable of the layer. regularizer: its loss enters the collection of regularization losses."""
        learns = self.trainable and trainable is not False
        made = get_variable(
            name, None if shape is None else list(TensorShape(shape).as_list()), dtype or self._dtype or float32, initializer,
            regularizer, learns, constraint=constraint,
        )  # fmt: skip
        for part in tables_of(made):
            if all(part is not w for w, _ in self._weights):
                self._weights.append((part, learns))
        return made

    add_variable = add_weight

    @property
    def trainable_weights(self) -> list[Any]:
        return [w for w, learns in self._weights if learns and self.trainable]

    @property
    def non_trainable_weights(self) -> list[Any]:
        return [w for w, learns in self._weights if not (learns and self.trainable)]

    @property
    def weights(self) -> list[Any]:
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        return self.non_trainable_weights

    def count_params(self) -> int:
        """The number of elements of all variables."""
        return sum(int(w.shape.num_elements()) for w in self.weights)

    # losses and updates -----------------------------------------------------------------------------------------------

    @property
    def losses(self) -> list[Any]:
        return list(self._losses)

    @property
    def updates(self) -> list[Any]:
        return list(self._updates)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Losses that enter the collection of regularization losses."""
        for loss in leaves(losses):
            self._losses.append(loss)
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Operations that enter the collection "update_ops"."""
        for update in leaves(updates):
            self._updates.append(update)
            get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, update)

    # calls ------------------------------------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Make the variables for inputs of a shape."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        raise NotImplementedError

    def __call__(self, inputs: Any, *args: Any, scope: Any = None, **kwargs: Any) -> Any:
        graph = get_default_graph()
        if self._scope is None:
            given = self._given_scope if scope is None else scope
            with variable_scope(given, self._base_name, reuse=self._reuse) as entered:
                self._scope = entered
                return self._called(inputs, *args, **kwargs)
        reuse = True if self.built else self._reuse
        place = graph.name_scope(self._scope.original_name_scope or None)
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False), place:
            return self._called(inputs, *args, **kwargs)

    apply = __call__

    def _called(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.built:
            tensors = [x for x in leaves(inputs) if isinstance(x, Handle)]
            if self._dtype is None and tensors:
                self._dtype = as_dtype(tensors[0].dtype)
            shapes = [x.shape for x in tensors]
            self.build(shapes[0] if len(shapes) == 1 else shapes)
            self.built = True
        out = self.call(inputs, *args, **kwargs)
        if self.activity_regularizer is not None:
            for part in leaves(out):
                self.add_loss(self.activity_regularizer(part))
        return out


class Kernelled(Layer):
    """A layer with a kernel and a bias, and an activation."""

    def __init__(
        self, activation: Any, use_bias: bool, initializers: tuple[Any, Any], regularizers: tuple[Any, Any],
        constraints: tuple[Any, Any], trainable: bool, name: str | None, **options: Any,
    ):  # fmt: skip
        super().__init__(trainable, name, **options)
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = initializers
        self.kernel_regularizer, self.bias_regularizer = regularizers
        self.kernel_constraint, self.bias_constraint = constraints

    def build_kernel(self, shape: list[int]) -> None:
        self.kernel = self.add_weight(
            "kernel", shape, initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )  # fmt: skip

    def build_bias(self, units: int) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [units], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip
        self.built = True

    def finished(self, out: Any, layout: str | None = None) -> Any:
        from .nn.functions import bias_add

        out = out if self.bias is None else bias_add(out, self.bias, layout)
        return out if self.activation is None else self.activation(out)


def as_function(layer: type, label: str, doc: str, call: Sequence[str] = ()) -> Callable[..., Any]:
    """The function of a class of layers: `label(inputs, <settings>, name, reuse)`. call: settings that the call takes."""
    import inspect

    settings = [p for p in inspect.signature(layer).parameters.values() if p.kind is not p.VAR_KEYWORD]
    names = ["inputs", *(p.name for p in settings)]

    def function(inputs: Any, *args: Any, reuse: Any = None, **kwargs: Any) -> Any:
        given = dict(zip(names[1:], args, strict=False)) | kwargs
        rest = {key: given.pop(key) for key in call if key in given}
        return layer(**given, _scope=given.get("name"), _reuse=reuse)(inputs, **rest)

    function.__name__ = function.__qualname__ = label
    function.__doc__ = doc
    free = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=False) for n in call]
    own = [inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD), *settings, *free]
    own.append(inspect.Parameter("reuse", inspect.Parameter.KEYWORD_ONLY, default=None))
    function.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return function


def by_training(training: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """One of two results by a boolean, which may be a tensor."""
    if isinstance(training, Handle):
        return cond(training, true_fn, false_fn)
    return true_fn() if training else false_fn()


def known(shape: Any, axis: int, layer: str) -> int:
    """An extent of a shape. Raises ValueError for an unknown one."""
    extent = TensorShape(shape).as_list()[axis]
    if extent is None:
        where = "last dimension" if axis == -1 else "channel dimension"
        raise ValueError(f"The {where} of the inputs to `{layer}` should be defined. Found `None`.")
    return int(extent)
