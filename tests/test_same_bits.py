"""One seed gives one result: in every process, whatever the kernel cache has, how busy the machine is, and how strings hash."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.helpers import sweep
from tests.processes import ROOT
from tests.seeded_programs import PROGRAMS

CROWD = min((os.cpu_count() or 1) + 2, 16)
"""Processes at a time that keep a machine busy: more than it has CPUs, unless it has many."""


def hashes(cache: Path, *arguments: str, **environment: str) -> dict[str, str]:
    """What `tests.seeded_programs` prints for these arguments in a process of its own: hashes by names."""
    unset = ("STATICGRAD_EAGER", "STATICGRAD_PLANS", "STATICGRAD_TIERS")  # as a user has them
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {"PYTHONPATH": str(ROOT), "STATICGRAD_CACHE_DIR": str(cache), **environment}
    done = subprocess.run(
        [sys.executable, "-m", "tests.seeded_programs", *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines())


def in_turn(cache: Path, *arguments: str, crowd: Iterable[Sequence[str]] | None = None) -> list[dict[str, str]]:
    """The same for a cache that is empty, then full, then on a busy machine with other hashes of strings.

    crowd: the arguments of the processes that keep it busy; without them, all have the same.
    """
    alone = [hashes(cache, *arguments) for _ in range(2)]
    with ThreadPoolExecutor(CROWD) as pool:
        beside = pool.map(lambda each: hashes(cache, *each, PYTHONHASHSEED="5"), crowd or [arguments] * CROWD)
        return [*alone, *beside]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """Those of all programs; on the busy machine each process has a part of them."""
    names = [*PROGRAMS]
    parts = [names[i::CROWD] for i in range(min(CROWD, len(names)))]
    return in_turn(tmp_path_factory.mktemp("kernels"), crowd=parts)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_seed_gives_the_same_bits(runs: list[dict[str, str]], name: str):
    first, *others = [found[name] for found in runs if name in found]
    assert others == [first, first]


# examples ---------------------------------------------------------------------------------------------------------------

OPTIONS = {
    "char_gpt": "--quick", "char_lstm": "--quick", "digits_cnn": "--quick", "pinn_poisson": "--quick",
    "dialects": "--steps 30", "digits": "--epochs 3 --no-peers", "numba_simulation": "--quick --steps 20",
    "torch/actor_critic": "--episodes 20", "torch/reinforce": "--episodes 20", "torch/char_rnn": "--epochs 1",
    "torch/dcgan": "--epochs 1", "torch/vae": "--epochs 2", "torch/ppo": "--iterations 2", "torch/gpt": "--steps 30",
    "torch/maml": "--steps 30", "torch/neural_ode": "--steps 30", "torch/realnvp": "--steps 40", "torch/wgan_gp": "--steps 40",
    "torch/pinn": "--steps 5",
}  # fmt: skip
"""What makes examples shorter. They still take steps enough for the kernels to take over from NumPy."""
SHORT = ("autograd_notes", "newton_while")
"""Those that the suite and its sweep run; `python -m tests.test_same_bits` runs all."""


def examples() -> Iterator[tuple[str, ...]]:
    """Each script with its options, and again as it is compiled where it has such an option."""
    folder = ROOT / "examples"
    for path in sorted(folder.rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(folder).with_suffix(""))
        if "__main__" in text:
            script = (str(path.relative_to(ROOT)), *OPTIONS.get(name, "").split())
            yield script
            if '"--compile"' in text:
                yield (*script, "--compile")


@pytest.mark.parametrize("name", sweep(SHORT, lambda _, name: name == "newton_while"))
def test_examples_give_the_same_numbers(tmp_path: Path, name: str):
    (script,) = [each for each in examples() if each[0] == f"examples/{name}.py" and "--compile" not in each]
    first, *others = in_turn(tmp_path, *script)
    assert len(first) == 1
    assert others == [first] * (1 + CROWD)


def main(wanted: list[str]) -> int:
    """Compare all examples, or those whose names have one of these parts. Returns how many differ or fail."""
    differing = 0
    for script in examples():
        line = " ".join(script)
        if wanted and not any(part in line for part in wanted):
            continue
        with tempfile.TemporaryDirectory() as cache:
            try:
                bits = in_turn(Path(cache), *script)
            except AssertionError as error:
                differing += 1
                print(f"FAILS {line}\n{error}", flush=True)
                continue
        same = all(each == bits[0] for each in bits)
        differing += not same
        print("same" if same else f"DIFFER {[[*each.values()][0][:8] for each in bits]}", line, flush=True)
    return differing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
