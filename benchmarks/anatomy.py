"""Where each microsecond of the digits step goes: writes the page `docs/digits.md`.

    python -m benchmarks.anatomy [--output docs/digits.md] [--rounds 15]

One process, one thread and as many as the machine has: the instructions of the plan, each timed by itself in turns, and
the overhead of the call from Python. Products have their rate beside them.
"""

from __future__ import annotations

import argparse
import re
from typing import Any

import staticgrad as sg

from .overhead import CASE, measure
from .registry import CASES, IMPLEMENTATIONS, Arrays
from .timing import load

ABOUT = {
    "bounded": "the labels are checked: a bad one raises before anything is changed",
    "add+relu": "bias and ReLU of the hidden layer",
    "gt+where+sum": "backward of the ReLU, and the gradient of the hidden bias",
    "add+eq": "bias of the logits, cross-entropy and its gradient, the gradient of the bias",
    "add+sub+pow": "Adam's step size and bias corrections, scalars once a step",
    "mul+add": "Adam's update of one parameter: two moments and the weights, in place",
}
PRODUCTS = {
    "64x64x128": "hidden layer, x W1'",
    "64x128x10": "logits, h W2'",
    "64x10x128": "gradient of h",
    "10x64x128": "gradient of W2",
    "128x64x64": "gradient of W1",
}


def instructions_of(data: Arrays, repeats: int) -> Any:
    job = IMPLEMENTATIONS[CASE, "compiled"].function(data, "compiled", "")
    job.step()
    return job.compiled.plan.profile(repeats).instructions


def rate(name: str, us: float) -> str:
    """GFLOP/s of a product m x k x n."""
    found = re.match(r"(\d+)x(\d+)x(\d+)", name)
    if not found or not us:
        return ""
    m, k, n = map(int, found.groups())
    return f"{2 * m * k * n / us / 1e3:.0f}"


def about(kind: str, name: str) -> str:
    if kind == "gemm":
        return PRODUCTS.get(name.split(",")[0], "")
    return next((text for start, text in ABOUT.items() if name.startswith(start)), "")


def page(data: Arrays, rounds: int) -> str:
    """The page as Markdown."""
    threads = sg.get_num_threads()
    begin = load()
    sg.set_num_threads(1)
    alone = instructions_of(data, 20 * rounds)
    one = measure(data, rounds=rounds)
    sg.set_num_threads(threads)
    shared = {i: us for i, (_, _, us) in enumerate(row for row in instructions_of(data, 20 * rounds) if row[0] != "fold")}
    many = measure(data, rounds=rounds)
    lines = [
        "# Where each microsecond of the digits step goes",
        "",
        "The step is that of `examples/digits.py`: a 64-128-10 network with ReLU, batch 64, cross-entropy, Adam, float32;",
        f"each step takes a fresh batch, and the loss is read. Written by `python -m benchmarks.anatomy` on {threads} CPUs;",
        f"load {begin:.1f} before, {load():.1f} after.",
        "Instructions are timed one by one, ten times each, taking turns; the median round counts. In the step they also",
        "wait for each other's memory, and processes differ by some tenths: smaller differences, also below 0, are noise.",
        "",
        "## The plan",
        "",
        f"| instruction | meaning | us, 1 thread | us, {threads} threads | GFLOP/s, 1 thread |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for i, (kind, name, us) in enumerate(alone):
        lines.append(f"| `{name}` | {about(kind, name)} | {us:.2f} | {shared.get(i, 0.0):.2f} | {rate(name, us)} |")
    lines += [f"| all | | {sum(us for _, _, us in alone):.2f} | {sum(shared.values()):.2f} | |", ""]
    lines += ["## The call", "", f"| | us, 1 thread | us, {threads} threads |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {one[name]:.2f} | {many[name]:.2f} |" for name in one]
    lines += [
        "",
        "`wall` is `float(step(x, y))`, `native` the driver on the plan's instructions, and `overhead` the difference: the",
        "checks of the arguments, the results, the read of the loss.",
        "",
    ]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="docs/digits.md")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(argv)
    text = page(CASES[CASE].arrays(), options.rounds)
    with open(options.output, "w") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    main()
