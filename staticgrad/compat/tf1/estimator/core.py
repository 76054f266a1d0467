"""`Estimator`: a model that is a function, trained, evaluated and asked for predictions by monitored sessions."""

from __future__ import annotations

import copy
import inspect
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import metrics, summary
from ..core import protocol
from ..dataset import Dataset
from ..errors import OutOfRangeError
from ..graph import Graph, set_random_seed
from ..train import saver
from ..train.decay import get_global_step, get_or_create_global_step
from ..train.hooks import CheckpointSaverHook, LoggingTensorHook, NanTensorHook, SessionRunHook, StopAtStepHook
from ..train.saver import Saver, latest_checkpoint
from ..train.supervised import ChiefSessionCreator, MonitoredSession, MonitoredTrainingSession, Scaffold


class ModeKeys:
    """What a model is made for."""

    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


@dataclass
class EstimatorSpec:
    """The tensors of a model, as a function of it returns them.

    loss and train_op: needed to train; loss: to evaluate; predictions, a tensor or a dict of them: to predict. eval_metric_ops:
    name -> (value, update), as `tf.metrics` gives them. export_outputs is accepted. Raises ValueError for what a mode lacks.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: dict[str, Any] | None = None
    export_outputs: Any = None
    training_chief_hooks: Sequence[SessionRunHook] | None = None
    training_hooks: Sequence[SessionRunHook] | None = None
    scaffold: Scaffold | None = None
    evaluation_hooks: Sequence[SessionRunHook] | None = None
    prediction_hooks: Sequence[SessionRunHook] | None = None

    def __post_init__(self) -> None:
        needed = {"train": ("train_op", "loss"), "eval": ("loss",), "infer": ("predictions",)}[self.mode]
        for name in needed:
            if getattr(self, name) is None:
                raise ValueError(f"Missing {name}.")


@dataclass(frozen=True)
class RunConfig:
    """When an estimator saves and logs. session_config, and numbers of machines, are accepted."""

    model_dir: str | None = None
    tf_random_seed: int | None = None
    save_summary_steps: int = 100
    save_checkpoints_steps: int | None = None
    save_checkpoints_secs: int | None = None
    session_config: Any = None
    keep_checkpoint_max: int = 5
    keep_checkpoint_every_n_hours: float = 10000
    log_step_count_steps: int | None = 100
    train_distribute: Any = None
    device_fn: Any = None

    def replace(self, **changes: Any) -> RunConfig:
        """One with other fields."""
        return replace(self, **changes)


class Estimator:
    """A model: `model_fn(features, labels, mode, params, config)`, of which it may leave out the last four, returns an
    `EstimatorSpec`.

    model_dir: the folder of its checkpoints, a new one in the folder of temporary files unless given; params: a dict for the
    function. Each call makes the graph anew, and begins with the last checkpoint.
    """

    def __init__(
        self, model_fn: Callable[..., EstimatorSpec], model_dir: str | None = None, config: RunConfig | None = None,
        params: dict[str, Any] | None = None, warm_start_from: Any = None,
    ):  # fmt: skip
        names = inspect.signature(model_fn).parameters
        if "features" not in names:
            raise ValueError(f"model_fn ({model_fn}) must include features argument.")
        if params is not None and "params" not in names:
            raise ValueError(
                f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator."
            )
        config = config or RunConfig()
        folder = model_dir or config.model_dir or tempfile.mkdtemp()
        self.config = config.replace(model_dir=folder)
        self.model_fn, self._params, self._warm_start = model_fn, dict(params or {}), warm_start_from

    @property
    def model_dir(self) -> str:
        assert self.config.model_dir is not None
        return self.config.model_dir

    @property
    def params(self) -> dict[str, Any]:
        """A copy."""
        return copy.deepcopy(self._params)

    def latest_checkpoint(self) -> str | None:
        """The path of the last checkpoint."""
        return latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the last checkpoint. Raises ValueError where there is none."""
        return [name for name, _ in saver.list_variables(self._trained(None))]

    def get_variable_value(self, name: str) -> np.ndarray:
        """The value of a variable in the last checkpoint. Raises ValueError where there is none."""
        return saver.load_variable(self._trained(None), name)

    def train(
        self, input_fn: Callable[..., Any], hooks: Sequence[SessionRunHook] | None = None, steps: int | None = None,
        max_steps: int | None = None, saving_listeners: Any = None,
    ) -> Estimator:  # fmt: skip
        """Train for `steps` more, until the global step is `max_steps`, or to the end of the input; returns the estimator.

        input_fn() gives (features, labels), or a data set of these.
        """
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, number in (("steps", steps), ("max_steps", max_steps)):
            if number is not None and number <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {number}")
        last = self.latest_checkpoint()
        if max_steps is not None and last is not None and int(saver.load_variable(last, "global_step")) >= max_steps:
            return self
        with Graph().as_default():
            spec = self._made(input_fn, ModeKeys.TRAIN)
            summary.scalar("loss", spec.loss)
            every = [NanTensorHook(spec.loss), *self._stop(steps, max_steps), *(hooks or ()), *(spec.training_hooks or ())]
            config = self.config
            if config.log_step_count_steps:
                named = {"loss": spec.loss, "step": get_global_step()}
                every.append(LoggingTensorHook(named, every_n_iter=config.log_step_count_steps))
            scaffold = spec.scaffold or Scaffold()
            if scaffold.saver is None:
                kept = config.keep_checkpoint_max, config.keep_checkpoint_every_n_hours
                scaffold.saver = Saver(max_to_keep=kept[0], keep_checkpoint_every_n_hours=kept[1])
            seconds = 600 if (config.save_checkpoints_secs, config.save_checkpoints_steps) == (None, None) else None
            every.append(CheckpointSaverHook(
                self.model_dir, config.save_checkpoints_secs or seconds, config.save_checkpoints_steps, scaffold.saver,
                listeners=saving_listeners,
            ))  # fmt: skip
            with MonitoredTrainingSession(
                checkpoint_dir=self.model_dir, scaffold=scaffold, hooks=every, chief_only_hooks=spec.training_chief_hooks,
                save_checkpoint_secs=None, save_checkpoint_steps=None, save_summaries_steps=config.save_summary_steps,
                log_step_count_steps=None,
            ) as session:  # fmt: skip
                while not session.should_stop():
                    session.run([spec.train_op, spec.loss])
        return self

    def evaluate(
        self, input_fn: Callable[..., Any], steps: int | None = None, hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None, name: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """The mean loss, the metrics and the global step over `steps` batches, or all. They are summaries, too, in the folder
        "eval", or "eval_" with the name. Raises ValueError where no checkpoint is found."""
        path = self._trained(checkpoint_path)
        with Graph().as_default():
            spec = self._made(input_fn, ModeKeys.EVAL)
            measured = {**(spec.eval_metric_ops or {}), "loss": metrics.mean(spec.loss)}
            updates = [update for _, update in measured.values()]
            values = {key: value for key, (value, _) in measured.items()}
            every = [*(hooks or ()), *(spec.evaluation_hooks or ())]
            done = 0
            creator = ChiefSessionCreator(spec.scaffold, checkpoint_filename_with_path=path)
            with MonitoredSession(creator, every) as session:
                while steps is None or done < steps:
                    try:
                        session.run(updates)
                    except OutOfRangeError:
                        break
                    done += 1
                found = session._session.run({**values, "global_step": get_global_step()})
        self._summarize(found, f"eval_{name}" if name else "eval")
        return dict(found)

    def predict(
        self, input_fn: Callable[..., Any], predict_keys: Any = None, hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None, yield_single_examples: bool = True,
    ) -> Iterator[Any]:  # fmt: skip
        """The predictions for one example after the other, or for whole batches. predict_keys: those of a dict that are
        wanted. Raises ValueError where no checkpoint is found."""
        path = self._trained(checkpoint_path)
        with Graph().as_default():
            spec = self._made(input_fn, ModeKeys.PREDICT)
            wanted = spec.predictions
            if predict_keys is not None:
                keys = [predict_keys] if isinstance(predict_keys, str) else list(predict_keys)
                if not isinstance(wanted, dict):
                    raise ValueError(f"predict_keys argument is not valid in case of non-dict predictions, got {wanted}")
                wanted = {key: value for key, value in wanted.items() if key in keys}
                if not wanted:
                    raise ValueError(f"Expected to run at least one output from {list(spec.predictions)}, provided {keys}.")
            every = [*(hooks or ()), *(spec.prediction_hooks or ())]
            creator = ChiefSessionCreator(spec.scaffold, checkpoint_filename_with_path=path)
            with MonitoredSession(creator, every) as session:
                while not session.should_stop():
                    try:
                        batch = session.run(wanted)
                    except OutOfRangeError:
                        return
                    if not yield_single_examples:
                        yield batch
                    elif isinstance(batch, dict):
                        for i in range(len(next(iter(batch.values())))):
                            yield {key: value[i] for key, value in batch.items()}
                    else:
                        yield from batch

    def _stop(self, steps: int | None, last: int | None) -> list[SessionRunHook]:
        return [] if steps is None and last is None else [StopAtStepHook(steps, last)]

    def _trained(self, path: str | None) -> str:
        found = path or self.latest_checkpoint()
        if not found:
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")
        return found

    def _made(self, input_fn: Callable[..., Any], mode: str) -> EstimatorSpec:
        """The model in the default graph."""
        set_random_seed(self.config.tf_random_seed)
        get_or_create_global_step()
        given = {"mode": mode, "params": self.params, "config": self.config}
        found = input_fn(**{k: v for k, v in given.items() if k in inspect.signature(input_fn).parameters})
        if isinstance(found, Dataset):
            found = found.make_one_shot_iterator().get_next()
        features, labels = found if isinstance(found, (tuple, list)) and len(found) == 2 else (found, None)
        names = inspect.signature(self.model_fn).parameters
        if "labels" in names:
            given["labels"] = None if mode == ModeKeys.PREDICT else labels
        elif labels is not None and mode != ModeKeys.PREDICT:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        spec = self.model_fn(features=features, **{k: v for k, v in given.items() if k in names})
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        if self._warm_start is not None and self.latest_checkpoint() is None:
            saver.warm_start(self._warm_start)
        return spec

    def _summarize(self, found: dict[str, Any], folder: str) -> None:
        records = protocol()
        values = [
            records.Summary.Value(tag=key, simple_value=float(value))
            for key, value in found.items()
            if key != "global_step" and np.ndim(value) == 0
        ]
        with summary.FileWriter(os.path.join(self.model_dir, folder)) as writer:
            writer.add_summary(records.Summary(value=values).SerializeToString(), int(found["global_step"]))


@dataclass(frozen=True)
class TrainSpec:
    """How `train_and_evaluate` trains."""

    input_fn: Callable[..., Any]
    max_steps: int | None = None
    hooks: Sequence[SessionRunHook] = ()
    saving_listeners: Any = None


@dataclass(frozen=True)
class EvalSpec:
    """How `train_and_evaluate` evaluates. exporters, and times between evaluations, are accepted."""

    input_fn: Callable[..., Any]
    steps: int | None = 100
    name: str | None = None
    hooks: Sequence[SessionRunHook] = ()
    exporters: Any = None
    start_delay_secs: int = 120
    throttle_secs: int = 600


def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> tuple[dict[str, Any], list[Any]]:
    """Train to the end, then evaluate: (the metrics, nothing exported)."""
    estimator.train(train_spec.input_fn, train_spec.hooks, None, train_spec.max_steps, train_spec.saving_listeners)
    return estimator.evaluate(eval_spec.input_fn, eval_spec.steps, eval_spec.hooks, name=eval_spec.name), []


# `tf.estimator.inputs`: functions that give the features and labels of batches -----------------------------------------


def numpy_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None,
    queue_capacity: int = 1000, num_threads: int = 1,
) -> Callable[[], Any]:  # fmt: skip
    """A function that gives batches of arrays, or of dicts of them: (features, labels), or features alone without y.

    The first axes have one extent. num_epochs: how often every row comes; None: without end. shuffle: rows in random order
    within `queue_capacity`; it has to be given. num_threads is accepted.
    """
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for training); "
            f"got {shuffle}"
        )
    if isinstance(x, dict) and not x:
        raise ValueError("x cannot be an empty dict")
    if not isinstance(x, (dict, np.ndarray)):
        raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
    if isinstance(y, dict) and not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    arrays = [*(x.values() if isinstance(x, dict) else [x]), *([] if y is None else y.values() if isinstance(y, dict) else [y])]
    lengths = {len(a) for a in arrays}
    if len(lengths) != 1:
        raise ValueError(
            f"Length of tensors in x and y is mismatched. All elements in x and y must have the same length, got {lengths}"
        )

    def input_fn() -> Any:
        rows = Dataset.from_tensor_slices(x if y is None else (x, y))
        if shuffle:
            rows = rows.shuffle(max(queue_capacity, 1))
        return rows.repeat(num_epochs).batch(batch_size).make_one_shot_iterator().get_next()

    return input_fn


def pandas_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None,
    queue_capacity: int = 1000, num_threads: int = 1, target_column: str = "target",
) -> Callable[[], Any]:  # fmt: skip
    """`numpy_input_fn` of the columns of a data frame; y: a series, or a frame whose columns are a dict."""
    features = {str(name): x[name].to_numpy() for name in x.columns}
    labels = y if y is None else y.to_numpy() if not hasattr(y, "columns") else {str(n): y[n].to_numpy() for n in y.columns}
    return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads)
