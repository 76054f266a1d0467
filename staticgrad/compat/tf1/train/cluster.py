"""Several workers: synchronous training in which each process has the graph and the variables, and gradients are averaged.

A worker of the cluster is a process that MPI starts, in the order of its tasks: `staticgrad launch -n 2 train.py`. No process
holds variables for others, so there are no parameter servers to start, and no updates that do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import (
    F,
    all_gather_op,
    all_reduce_op,
    buckets,
    communicate,
    communicators,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    joined,
    parted,
    static,
    using,
)
from ..gradients import IndexedSlices
from ..graph import GraphKeys, get_default_graph
from ..handles import Operation
from ..tensor import tensor
from .hooks import SessionRunHook
from .optimizers import SERVERS, Optimizer, several

WORKERS = "chief", "master", "worker"
"""Jobs whose tasks train, in the order in which they are ranks."""


class ClusterSpec:
    """The tasks of each job of a cluster. cluster: job -> addresses, or a dict of them by task; or another ClusterSpec."""

    def __init__(self, cluster: Any):
        given: Mapping[str, Any] = cluster.as_dict() if isinstance(cluster, ClusterSpec) else cluster
        if not isinstance(given, Mapping):
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses")
        self._tasks: dict[str, dict[int, str]] = {}
        for job, tasks in given.items():
            if isinstance(tasks, int):
                raise TypeError(f"a job has addresses of tasks, got {tasks!r} for {job!r}")
            pairs = tasks.items() if isinstance(tasks, Mapping) else enumerate(tasks)
            self._tasks[job] = {int(i): str(address) for i, address in pairs}

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._tasks == other._tasks

    def __hash__(self) -> int:
        return hash(tuple(self._tasks))

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._tasks)

    def as_dict(self) -> dict[str, Any]:
        """Job -> addresses; a dict of them where tasks are left out."""
        return {
            job: [*tasks.values()] if [*tasks] == [*range(len(tasks))] else dict(tasks) for job, tasks in self._tasks.items()
        }

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has. Raises ValueError for an unknown job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks. Raises ValueError for an unknown job."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task. Raises ValueError for an unknown one."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks, None for those that are left out. Raises ValueError for an unknown job."""
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._tasks:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._tasks[name]

    def workers(self) -> list[tuple[str, int]]:
        """The tasks that train, in the order of their ranks."""
        return [(job, i) for job in WORKERS if job in self._tasks for i in self.task_indices(job)]


class Server:
    """This process as a task of a cluster. All workers make one; MPI has started them, and the task is that of the rank.

    Raises ValueError for another task or number of workers than MPI's, and for a parameter server: each worker has the
    variables.
    """

    def __init__(
        self, server_or_cluster_def: Any, job_name: str | None = None, task_index: int | None = None, protocol: Any = None,
        config: Any = None, start: bool = True,
    ):  # fmt: skip
        cluster = ClusterSpec(server_or_cluster_def)
        tasks = cluster.workers()
        if job_name is not None and job_name not in WORKERS:
            raise ValueError(f"tf.train.Server: no process holds variables for others, as job {job_name!r} does; {SERVERS}")
        if not is_initialized():
            init_process_group()
        rank, size = get_rank(), get_world_size()
        if len(tasks) != size:
            raise ValueError(
                f"tf.train.Server: the cluster has {len(tasks)} workers, and {size} processes run; start them with `staticgrad "
                f"launch -n {len(tasks)} train.py`"
            )
        job, task = tasks[rank]
        if (job_name or job, job_name and task_index) not in ((job, task), (job, None)):
            raise ValueError(
                f"tf.train.Server: this is process {rank}, which is task {task} of job {job!r}, got task {task_index} of job "
                f"{job_name!r}; take the task from the rank: task_index=int(os.environ['RANK'])"
            )
        self.target = f"grpc://{cluster.task_address(job, task)}"
        self._cluster = cluster

    @property
    def server_def(self) -> Any:
        """Raises NotImplementedError: there are no protocol buffers."""
        raise NotImplementedError("tf.train.Server.server_def: there are no protocol buffers; keep the ClusterSpec")

    def start(self) -> None:
        """Nothing is left to start."""

    def join(self) -> None:
        """Raises RuntimeError: a worker ends with its program."""
        raise RuntimeError(f"tf.train.Server.join: parameter servers wait forever, workers train; {SERVERS}")

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """The server of a cluster of this process alone."""
        return Server({"worker": ["localhost:0"]})


def replica_device_setter(
    ps_tasks: int = 0, ps_device: str = "/job:ps", worker_device: str = "/job:worker", merge_devices: bool = True,
    cluster: Any = None, ps_ops: Sequence[str] | None = None, ps_strategy: Any = None,
) -> Any:  # fmt: skip
    """What `tf.device` takes: all operations and variables are in the worker. None for a cluster without parameter servers."""
    servers = ps_tasks if cluster is None else len(ClusterSpec(cluster).as_dict().get(ps_device.rpartition(":")[2], ()))
    return (lambda op: worker_device) if servers else None


def share_variables(session: Any) -> None:
    """Give all workers the global variables of the first one."""
    if several():
        for variable in session.graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            values = np.array(session.run(variable), order="C")
            communicators.group(0).broadcast(values, 0)
            variable.load(values, session)


class SyncReplicasOptimizer(Optimizer):
    """An optimizer whose gradients are averaged over all workers before each of them takes the same step.

    replicas_to_aggregate, total_num_replicas: the number of workers. variable_averages: an ExponentialMovingAverage of
    variables_to_average, which are updated after each step. Raises ValueError for other numbers: workers whose gradients are
    left out would not have taken the same steps.
    """

    def __init__(
        self, opt: Optimizer, replicas_to_aggregate: int, total_num_replicas: int | None = None, variable_averages: Any = None,
        variables_to_average: Any = None, use_locking: bool = False, name: str = "sync_replicas",
    ):  # fmt: skip
        super().__init__(use_locking, name)
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        size = get_world_size() if is_initialized() else 1
        if not replicas_to_aggregate == total == size:
            raise ValueError(
                f"tf.train.SyncReplicasOptimizer: gradients of all {size} workers are averaged, got replicas_to_aggregate="
                f"{replicas_to_aggregate}, total_num_replicas={total}; make the tf.train.Server first, and write "
                f"{size} for both"
            )
        if (variable_averages is None) != (variables_to_average is None):
            raise ValueError("Need to specify both variable_averages and variables_to_average")
        self._opt, self._averages, self._averaged = opt, variable_averages, variables_to_average

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Those of this worker."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Operation:
        """One operation that averages the gradients over all workers, updates the variables and adds 1 to `global_step`.
        Raises ValueError without a global step."""
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        with using(pairs[0][1].graph if pairs else get_default_graph()):
            found = self._averaged_over_workers(pairs) if several() else pairs
        self._opt._synchronous = True
        made = self._opt.apply_gradients(found, global_step, name or self.name)
        if self._averages is not None:
            with get_default_graph().control_dependencies([made]):
                made = self._averages.apply(self._averaged)
        return made

    def _averaged_over_workers(self, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """The gradients, dense ones in a few arrays; of `IndexedSlices` the rows of all workers."""
        members = {"group_number": 0, "size": get_world_size()}
        found: list[Any] = [None] * len(pairs)
        dense = [i for i, (g, _) in enumerate(pairs) if not isinstance(g, IndexedSlices)]
        values = {i: tensor(pairs[i][0], pairs[i][1].symbol.dtype) for i in dense}
        shapes = {i: tuple(int(n) for n in pairs[i][1].symbol.shape) for i in dense}
        sizes = [int(np.prod(shapes[i])) * values[i].dtype.itemsize for i in dense]
        for bucket in buckets(sizes, [values[i].dtype for i in dense]):
            chosen = [dense[place] for place in bucket]
            whole = communicate(all_reduce_op, joined([values[i] for i in chosen]), reduction="avg", **members)
            for i, part in zip(chosen, parted(whole, [shapes[i] for i in chosen]), strict=True):
                found[i] = part
        for i, (g, v) in enumerate(pairs):
            if isinstance(g, IndexedSlices):
                rows = communicate(all_gather_op, tensor(g.values, v.symbol.dtype) / members["size"], **members)
                ids = communicate(all_gather_op, tensor(g.indices), **members)
                rows = F.reshape(rows, (-1, *rows.shape[2:]))
                found[i] = IndexedSlices(_handle(rows), _handle(F.reshape(ids, (-1,))), g.dense_shape)
        return [(_handle(g) if hasattr(g, "node") else g, v) for g, (_, v) in zip(found, pairs, strict=True)]

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Of the optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self) -> list[str]:
        """Of the optimizer."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Any]:
        """Of the optimizer."""
        return self._opt.variables()

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """A hook that gives all workers the variables of the first one."""
        return _Shared()

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """An operation that does nothing: workers wait for each other's gradients, not for tokens."""
        return Operation(get_default_graph(), static.group(name=f"{self.name}/init_tokens").node)

    def get_chief_queue_runner(self) -> Any:
        """A runner of no queue, for `start_queue_runners`."""
        return _NoQueue()


def _handle(x: Any) -> Any:
    return x.graph.handle(x.node)


class _NoQueue:
    def create_threads(self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False) -> list[Any]:
        return []


class _Shared(SessionRunHook):
    def after_create_session(self, session: Any, coord: Any) -> None:
        share_variables(session)
