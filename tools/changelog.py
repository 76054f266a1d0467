"""Make a version of what is under *Unreleased* in the changelog: each entry one line, what is long by its first sentence.

    python -m tools.changelog 1.0.0 [--date 2026-11-29]

Read the result: a line says what changed for a user. `tests/docs/test_changelog.py` holds the form of released versions.
"""

from __future__ import annotations

import argparse
import re
from datetime import date
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "CHANGELOG.md"
OPEN = "## Unreleased"
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed")
LONG = 160
"""Characters from which on an entry is cut after its first sentence."""
SHORT = 40
"""Characters up to which what stands before a colon is a name, and says nothing by itself."""
SENTENCE = re.compile(r"(?<=[^A-Z.])\.\s+(?=[A-Z`\"])")
CLAUSE = re.compile(r"[;:]\s+(?=\w)")


def line(entry: str) -> str:
    """An entry as one line."""
    text = " ".join(entry.split())
    for end in (SENTENCE, CLAUSE):
        first = end.split(text, maxsplit=1)[0].rstrip(".") + "."
        if len(text) > LONG and len(first) > SHORT:
            text = first
    return f"- {text}"


def parts(body: str) -> dict[str, list[str]]:
    """The entries of a version by their kind."""
    found: dict[str, list[str]] = {}
    sections = re.split(r"(?m)^### (\w+)\n", body)
    for kind, text in zip(sections[1::2], sections[2::2], strict=True):
        found.setdefault(kind, []).extend(re.split(r"(?m)^- ", text)[1:])
    return found


def released(text: str, version: str, day: str) -> str:
    """The changelog with a new version. Raises ValueError where nothing is unreleased, or the version is there."""
    if f"## {version}," in text:
        raise ValueError(f"{version} is in the changelog")
    head, _, rest = text.partition(f"{OPEN}\n")
    body, mark, older = rest.partition("\n## ")
    entries = parts(body)
    if not any(entries.values()):
        raise ValueError("nothing is unreleased")
    made = [f"### {kind}\n\n" + "\n".join(map(line, entries[kind])) for kind in KINDS if entries.get(kind)]
    empty = "\n\n".join(f"### {kind}" for kind in ("Added", "Changed", "Fixed"))
    return f"{head}{OPEN}\n\n{empty}\n\n## {version}, {day}\n\n" + "\n\n".join(made) + "\n" + mark + older


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.changelog", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version")
    parser.add_argument("--date", default=str(date.today()))
    options = parser.parse_args()
    FILE.write_text(released(FILE.read_text(encoding="utf-8"), options.version, options.date), encoding="utf-8")


if __name__ == "__main__":
    main()
