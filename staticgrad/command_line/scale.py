"""`scale`: a step on many processes, predicted from its plan.

One process plans the step as one of N would, and times its instructions. What a process exchanges takes the time of the best
of a few algorithms on a network of a latency and a rate: the alpha-beta model of collectives (Thakur, Rabenseifner and Gropp,
"Optimization of collective communication operations in MPICH", 2005). Exchanges follow one another, and go on beside the
instructions between the one that begins an exchange and the one that waits for its end.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..base import communicators
from ..base.interpreter import need
from ..compiler.backend.abi import MATCH, START, WAIT
from ..compiler.runtime.loader import get_num_threads, set_num_threads
from ..distributed import destroy_process_group, is_initialized
from ..viz.subjects import called, compiled_of
from .programs import Misuse, inputs_of, subject

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
BYTES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


class Net(NamedTuple):
    """Between two processes. latency: seconds of an empty message; rate: bytes a second."""

    latency: float
    rate: float


class Prediction(NamedTuple):
    """Of one number of processes. Times in seconds; memory in bytes, see `Plan.footprint`."""

    ranks: int
    step: float
    computing: float
    communicating: float
    hidden: float
    latency: float
    """The part of `communicating` that an infinite rate would leave."""
    memory: int
    algorithms: str


def network(text: str) -> Net:
    """ "100us,10Gbit" or "2us,12GB". Raises Misuse."""
    found = re.fullmatch(r"([\d.]+)(s|ms|us|ns),([\d.]+)([kmgt]?)(bit|b)(?:/s|ps)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise Misuse(f"--net is a latency and a rate, for example 100us,10Gbit, got {text!r}")
    rate = float(found[3]) * BYTES[found[4].lower()] / (8 if found[5].lower() == "bit" else 1)
    return Net(float(found[1]) * SECONDS[found[2].lower()], rate)


def duration(kind: str, size: int, ranks: int, net: Net) -> tuple[float, str]:
    """Seconds of an exchange, and the algorithm that takes them. size: bytes that a process gives."""
    if ranks == 1:
        return 0.0, "none"
    a, b, p, rounds = net.latency, size / net.rate, ranks, math.ceil(math.log2(ranks))
    ways: dict[str, float]
    if kind == "all_reduce":
        ways = {
            "tree": rounds * (a + b),
            "halves": 2 * rounds * a + 2 * b * (p - 1) / p,
            "ring": 2 * (p - 1) * (a + b / p),
        }
        if p & (p - 1):  # halving needs a power of two: the others join in two more rounds
            ways["halves"] += 2 * (a + b)
    elif kind in ("all_gather", "gather_rows"):
        ways = {"doubling": rounds * a + (p - 1) * b, "ring": (p - 1) * (a + b)}
    elif kind == "reduce_scatter":
        ways = {"halves": rounds * a + b * (p - 1) / p, "ring": (p - 1) * (a + b / p)}
    elif kind == "all_to_all":
        ways = {"pairs": (p - 1) * (a + b / p)}
    else:
        ways = {"tree": rounds * (a + b), "scatter and gather": (rounds + p - 1) * a + 2 * b * (p - 1) / p}
    best = min(ways, key=ways.__getitem__)
    return ways[best], best


def predict(plan: Any, times: Mapping[int, float], ranks: int, net: Net) -> Prediction:
    """The step of a plan that was made for so many processes. times: microseconds of instructions, by number."""
    now = link = waited = communicating = latency = 0.0
    ends: dict[int, float] = {}
    """Of what has begun, by its state."""
    used: dict[str, None] = {}
    for i, each in enumerate(plan.instructions):
        if each.control == START:
            kind, size = ("compare", 0) if each.node is None else (each.node.op.name, each.node.inputs[0].type.nbytes)
            cost, algorithm = duration(kind, size, ranks, net)
            if each.node is not None:
                used[algorithm] = None
            latency += duration(kind, 0, ranks, net)[0]
            communicating += cost
            link = ends[id(each.size_array)] = max(now, link) + cost
        elif each.control in (WAIT, MATCH):
            end = ends[id(each.size_array)]
            now, waited = max(now, end), waited + max(0.0, end - now)
        else:
            now += times.get(i, 0.0) * 1e-6
    hidden = 1 - waited / communicating if communicating else 1.0
    return Prediction(ranks, now, now - waited, communicating, max(0.0, hidden), latency, plan.footprint, ", ".join(used))


def scale(given: Namespace) -> int:
    """Print the predictions."""
    try:
        ranks = [int(n) for n in given.ranks.split(",")]
    except ValueError:
        ranks = []
    if not ranks or min(ranks) < 1:
        raise Misuse(f"--ranks are numbers of processes, for example 8,64,512, got {given.ranks!r}")
    if max(ranks) > 1:
        need("mpi4py", "mpi")
    net = network(given.net)
    found = [*_predictions(given, ranks, net)]
    if given.json:
        print(json.dumps([row._asdict() for row in found]))
        return 0
    print(f"{given.program} on a network of {given.net}, {found[0].computing * 1e3:.2f} ms of computing in each process")
    print("ranks    step/ms  communication/ms  hidden  memory/MB  algorithm")
    for row in found:
        print(
            f"{row.ranks:5} {row.step * 1e3:10.2f} {row.communicating * 1e3:17.2f} {row.hidden:7.0%} {row.memory / 1e6:10.1f}  "
            f"{row.algorithms}"
        )
    worst = max(found, key=lambda row: row.step)
    waits = worst.step - worst.computing
    if waits > worst.computing / 10:
        share = worst.latency / worst.communicating
        print(
            f"at {worst.ranks} ranks {waits * 1e3:.2f} ms are waiting; {share:.0%} of the communication is latency: "
            + ("fewer and larger buckets help" if share > 0.5 else "fewer bytes, or more samples between two exchanges, help")
        )
    return 0


def measured(step: Callable[..., Any], plan: Any, inputs: Sequence[Any] | None, repeats: int) -> dict[int, float]:
    """Microseconds of the instructions of a plan, by number. They add up to what a call takes, which has its own overhead, and
    finds less in the caches than an instruction that is repeated."""
    plan.profile(repeats)
    times: dict[int, float] = dict(plan.times)
    calls = []
    for _ in range(max(5, min(repeats, int(1e6 / max(sum(times.values()), 1.0))))):
        begin = time.perf_counter()
        step(*(inputs or ()))
        calls.append((time.perf_counter() - begin) * 1e6)
    total = sum(times.values())
    return {i: us * statistics.median(calls) / total for i, us in times.items()} if total else times


def _predictions(given: Namespace, ranks: list[int], net: Net) -> Iterator[Prediction]:
    known: dict[Any, dict[int, float]] = {}
    before = get_num_threads()
    if given.threads is not None:
        set_num_threads(given.threads)
    for number in ranks:
        communicators.supposed = number
        try:
            step, module = subject(given.program)
            inputs = inputs_of(step, module, given.inputs, given.shapes, given.seed)
            compiled = compiled_of(step)
            if compiled is None:
                raise Misuse(f"{given.program} is no function")
            plan = called(compiled, "scale", inputs).plan
            kinds = tuple((instruction.kind, instruction.work) for instruction in plan.instructions)
            if kinds not in known:  # each plan once, so that rows differ by their exchanges alone
                known[kinds] = measured(compiled, plan, inputs, given.repeats)
            yield predict(plan, known[kinds], number, net)
        finally:
            communicators.supposed = 1
            if number == ranks[-1]:
                set_num_threads(before)
            if is_initialized():
                destroy_process_group()  # of so many processes as there are not
