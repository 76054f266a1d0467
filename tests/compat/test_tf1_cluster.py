"""Workers that train together in the dialect of TensorFlow 1."""

from __future__ import annotations

import re

import pytest

import staticgrad.distributed as dist
from staticgrad.compat import tf1 as sgtf
from tests.distributed.test_two_processes import launch


@pytest.fixture(autouse=True)
def _world():
    sgtf.reset_default_graph()
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_a_cluster_knows_its_tasks():
    cluster = sgtf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "c:1"]})
    assert cluster.jobs == ["ps", "worker"]
    assert cluster.num_tasks("worker") == 2
    assert cluster.task_indices("worker") == [0, 1]
    assert cluster.task_address("worker", 1) == "c:1"
    assert cluster.job_tasks("ps") == ["a:1"]
    assert sgtf.train.ClusterSpec(cluster) == cluster == sgtf.train.ClusterSpec(cluster.as_dict())
    assert cluster
    assert not sgtf.train.ClusterSpec({})
    gaps = sgtf.train.ClusterSpec({"worker": {1: "b:1", 3: "c:1"}})
    assert gaps.as_dict() == {"worker": {1: "b:1", 3: "c:1"}}
    assert gaps.job_tasks("worker") == [None, "b:1", None, "c:1"]
    with pytest.raises(ValueError, match="No such job in cluster: 'chief'"):
        cluster.num_tasks("chief")
    with pytest.raises(ValueError, match="No task with index 4"):
        cluster.task_address("worker", 4)
    with pytest.raises(TypeError, match="must be a dictionary"):
        sgtf.train.ClusterSpec(["a:1"])
    with pytest.raises(AttributeError, match="workers that `staticgrad launch` starts"):
        _ = sgtf.train.ClusterDef


def test_refused():
    cluster = sgtf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1"]})
    with pytest.raises(ValueError, match=r"no process holds variables for others.*SyncReplicasOptimizer"):
        sgtf.train.Server(cluster, job_name="ps", task_index=0)
    with pytest.raises(ValueError, match=r"has 2 workers, and 1 processes run; start .*launch -n 2 train\.py`"):
        sgtf.train.Server({"worker": ["a:1", "b:1"]}, "worker", 0)
    with pytest.raises(ValueError, match="this is process 0, which is task 0 of job 'worker', got task 1"):
        sgtf.train.Server(cluster, "worker", 1)
    server = sgtf.train.Server(cluster, "worker", 0)
    assert server.target == "grpc://b:1"
    with pytest.raises(RuntimeError, match="parameter servers wait forever"):
        server.join()
    with pytest.raises(ValueError, match="gradients of all 1 workers are averaged, got replicas_to_aggregate=2"):
        sgtf.train.SyncReplicasOptimizer(sgtf.train.AdamOptimizer(), 2)
    assert sgtf.train.replica_device_setter(cluster={"worker": ["b:1"]}) is None
    assert sgtf.train.replica_device_setter(1)(None) == "/job:worker"
    w = sgtf.Variable(1.0)
    with pytest.raises(ValueError, match="Global step is required"):
        sgtf.train.SyncReplicasOptimizer(sgtf.train.AdamOptimizer(), 1).minimize(w * w)


PROGRAM = """\
import os
import numpy as np
import staticgrad.compat.tf1 as tf

size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
cluster = tf.train.ClusterSpec({"ps": ["a:1"], "worker": [f"b:{i}" for i in range(size)]})
server = tf.train.Server(cluster, job_name="worker", task_index=rank)
tf.set_random_seed(rank)
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    x, y = tf.placeholder(tf.float64, [None, 3]), tf.placeholder(tf.float64, [None, 1])
    ids = tf.placeholder(tf.int32, [None])
    w, table = tf.get_variable("w", [3, 1], tf.float64), tf.get_variable("table", [5, 1], tf.float64)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + tf.nn.embedding_lookup(table, ids) - y))
    step = tf.train.get_or_create_global_step()
    averages = tf.train.ExponentialMovingAverage(0.9)
    adam = tf.train.AdamOptimizer(0.1)
    try:
        refused = size > 1 and adam.minimize(loss) and False
    except RuntimeError as error:
        refused = "updates that do not wait for each other are refused" in str(error)
    optimizer = tf.train.SyncReplicasOptimizer(adam, size, size, averages, [w])
    train = optimizer.minimize(loss, global_step=step)
    optimizer.get_init_tokens_op(), optimizer.get_chief_queue_runner().create_threads(None)
rng = np.random.default_rng(0)
xs, numbers = rng.normal(size=(8, 3)), np.arange(8) % 5
part = slice(rank * 8 // size, (rank + 1) * 8 // size)
feeds = {x: xs[part], y: xs.sum(1, keepdims=True)[part], ids: numbers[part]}
hooks = [optimizer.make_session_run_hook(rank == 0), tf.train.StopAtStepHook(last_step=5)]
with tf.train.MonitoredTrainingSession(master=server.target, is_chief=rank == 0, hooks=hooks) as session:
    while not session.should_stop():
        _, values = session.run([train, [w, table, averages.average(w)]], feeds)
print(f"rank {rank}: {refused or size == 1} " + " ".join(f"{v:.10f}" for x in values for v in x.ravel()), flush=True)
"""


def test_two_workers_train_as_one(tmp_path):
    pytest.importorskip("mpi4py")
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    found = [launch(str(program), processes=size) for size in (1, 2)]
    for ended in found:
        assert ended.returncode == 0, ended.stderr
    one, two = (re.findall(r"rank \d: (True .*)", ended.stdout) for ended in found)
    assert two == one * 2
