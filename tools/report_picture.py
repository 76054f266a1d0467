"""Take `docs/images/digits_report.png`, the README's picture: the report of `examples/digits.py` in Chromium.

python -m tools.report_picture    # on an idle machine, with torch and jax installed: the picture shows times

Runs the example in all modes and beside both peers, which takes about a minute, and opens its report in a headless browser.
Exits with 1, and leaves the picture alone, where other work loads the machine, unless `--anyway` is given.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "digits_report.png"
SIZE = "1280,1760"
COLORS = 128
"""Of the picture's palette."""
IDLE = 0.7
"""The load average up to which a machine counts as idle."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Take docs/images/digits_report.png")
    parser.add_argument("--anyway", action="store_true", help="also on a machine that has other work")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    if load > IDLE and not given.anyway:
        sys.exit(f"the load is {load:.1f}: wait until the machine is idle (below {IDLE}), or pass --anyway")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("there is no chromium on the path")
    from PIL import Image  # comes with matplotlib

    with tempfile.TemporaryDirectory() as folder:
        report, shot = Path(folder) / "digits.html", Path(folder) / "shot.png"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "digits.py", "--report", report], cwd=ROOT / "examples", env=environment, check=True)
        flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000")
        subprocess.run([chromium, *flags, f"--window-size={SIZE}", f"--screenshot={shot}", report.as_uri()], check=True)
        Image.open(shot).convert("RGB").quantize(COLORS).save(PICTURE, optimize=True)
    print(f"{PICTURE.relative_to(ROOT)}, {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
