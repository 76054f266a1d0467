"""Two versions of the package and four processes on one folder of kernels: each computes what is right and keeps what it made.

    python -m tests.faults.versions [rounds] [--with FOLDER]

The other version is another checkout at FOLDER, or without one a copy of this whose version and sources differ.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = textwrap.dedent("""
    import sys, warnings
    warnings.simplefilter("error")
    import numpy as np
    import staticgrad as sg
    from staticgrad import functional as F, nn, optim
    from staticgrad.compiler.backend import disk_cache as disk

    made, genuine = [0, 0], disk.kept
    def counted(name, key, make):
        content, found = genuine(name, key, make)
        made[found] += 1
        return content, found
    disk.kept = counted
    round = int(sys.argv[1])
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    opt = optim.Adam(model.parameters(), lr=0.05)

    def step(x, y):
        loss = F.cross_entropy(model(x) * (1 + round), y)
        opt.zero_grad(); loss.backward(); opt.step()
        return loss

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((16, 6)).astype("float32"), rng.integers(0, 3, 16)
    state = {k: v.clone() for k, v in model.state_dict().items()}
    expected = [step(sg.tensor(x), sg.tensor(y)).item() for _ in range(5)]
    model.load_state_dict(state)
    opt = optim.Adam(model.parameters(), lr=0.05)
    compiled = sg.compile(step, wait=True)
    found = [compiled(x, y).item() for _ in range(5)]
    assert np.allclose(found, expected, rtol=1e-4), (found, expected)
    print(sg.__version__, *made)
""")


def other(folder: Path) -> Path:
    """A copy of the package with another version, and with a kernel's source that differs by a comment."""
    shutil.copytree(ROOT / "staticgrad", folder / "staticgrad", ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "staticgrad" / "namespaces" / "version.py"
    text = file.read_text(encoding="utf-8")
    changed = re.sub(r'"\d+\.\d+\.\d+[^"]*"', '"0.0.1"', text, count=1)
    assert changed != text, text
    file.write_text(changed, encoding="utf-8")
    return folder


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rounds", type=int, nargs="?", default=10)
    parser.add_argument("--with", dest="beside", type=Path, help="another checkout")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        beside = options.beside or other(Path(temporary) / "other")
        cache = Path(temporary) / "kernels"
        wrong, last = 0, []
        for round in range(options.rounds):
            for again in (False, True):  # four at once with nothing there, then four that find all of it
                running = [
                    subprocess.Popen(
                        [sys.executable, "-c", PROGRAM, str(round)], cwd=temporary, text=True,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        env={**os.environ, "PYTHONPATH": str(root), "STATICGRAD_CACHE_DIR": str(cache)},
                    )
                    for root in (ROOT, beside, ROOT, beside)
                ]  # fmt: skip
                last = []
                for process in running:
                    out, err = process.communicate(timeout=300)
                    last.append(out.split())
                    if process.returncode or (again and out.split()[1:2] != ["0"]):
                        wrong += 1
                        print(f"round {round}, {'again' if again else 'first'}: {out}{err}", flush=True)
        left = [file.name for file in cache.rglob("*.tmp")]
        versions = sorted({row[0] for row in last if row})
        print(f"{options.rounds * 8} processes of {' and '.join(versions)}: {wrong} wrong, {len(left)} files half written")
    return int(bool(wrong or left) or len(versions) < 2)


if __name__ == "__main__":
    sys.exit(main())
