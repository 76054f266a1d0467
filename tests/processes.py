"""Programs in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LISTENS = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""What a shell runs in the background ignores Ctrl-C, and so would its children."""


def start(program: str, **options: Any) -> subprocess.Popen[str]:
    """A program in a fresh interpreter, whose warnings are errors."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", LISTENS + textwrap.dedent(program)], cwd=ROOT, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def ended(process: subprocess.Popen[str], seconds: float = 120) -> tuple[str, str]:
    """What it printed and what it complained of, by the time that it ends. Raises subprocess.TimeoutExpired."""
    try:
        return process.communicate(timeout=seconds)
    finally:
        process.kill()


def interrupted(program: str, after: float) -> tuple[str, str]:
    """The same of a program that gets a Ctrl-C some seconds after it has printed that it is running."""
    process = start(program)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "running\n", process.stderr.read()
    threading.Event().wait(after)
    process.send_signal(signal.SIGINT)
    return ended(process, 60)
