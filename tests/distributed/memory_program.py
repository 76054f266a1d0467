"""A training step of which each process prints the memory that it takes at most, and the prediction of its plan, in bytes.

SHARD says what is divided among processes; MODE whether the step is a compiled function or a run of a session.
"""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path
from types import SimpleNamespace

import staticgrad as sg
import staticgrad.distributed as dist
from staticgrad import nn, optim
from staticgrad.nn.parallel import DistributedDataParallel

dist.init_process_group()
SHARD = os.environ.get("SHARD") or None


def network(width):
    sg.manual_seed(0)
    return nn.Sequential(*[layer for _ in range(3) for layer in (nn.Linear(width, width), nn.ReLU())])


def compiled(width):
    """A step, its inputs, and a function that gives its plan."""
    model = DistributedDataParallel(network(width), shard=SHARD)
    kind = (optim.Adam,) if SHARD is None else (optim.ZeroRedundancyOptimizer, optim.Adam)
    optimizer = kind[0](model.parameters(), *kind[1:], lr=0.001)

    @sg.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, (sg.randn(32, width),), lambda: step.plan


def session(width):
    with sg.Graph().as_default() as graph:
        h = x = sg.placeholder(sg.float32, [None, width])
        for _ in range(3):
            w = sg.Variable(sg.broadcast_to(sg.constant(0.03), [width, width]))  # computed: the graph keeps no array of it
            h = sg.relu(h @ w + sg.Variable(sg.zeros([width])))
        train = optim.Adam(lr=0.001).minimize(sg.mean(sg.square(h)))
        init = sg.global_variables_initializer()
    run = sg.Session(graph, shard=SHARD)
    run.run(init)
    values = sg.randn(32, width).numpy()
    plan = SimpleNamespace(footprint=0)

    def step(given):
        run.run(train, {x: given})
        of = run.plan(train, {x: values})
        plan.footprint = of.footprint + sum(other.memory.arena for other in run.plans if other is not of)

    return step, (values,), lambda: plan


def status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


make = session if os.environ.get("MODE") == "session" else compiled
if __name__ == "__main__":
    made, given, _ = make(128)
    for _ in range(6):
        made(*given)
    del made, given
    gc.collect()
    before = status("VmRSS")
step, inputs, plan = make(1024)
if __name__ == "__main__":
    for _ in range(3):
        step(*inputs)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    for _ in range(5):
        step(*inputs)
    print(json.dumps({"peak": status("VmHWM") - before, "predicted": plan().footprint}), flush=True)
    dist.destroy_process_group()
