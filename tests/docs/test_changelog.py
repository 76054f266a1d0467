"""The changelog: versions, newest first, whose entries are one line each."""

from __future__ import annotations

import re

import pytest

from tools.changelog import FILE, KINDS, OPEN, released

TEXT = """# Changelog

## Unreleased

### Added

- `sg.new` is there: it does
  something.
- A long entry that has a sentence, which says what a user needs to know of it. And more, that nobody needs to read in a
  list of changes, because the documents of this library say all of it in their place, with examples that run.

### Fixed

- A defect.

## 0.9, 2026-01-01

### Added

- Older.
"""


def test_a_version_is_made_of_what_is_unreleased():
    found = released(TEXT, "1.0", "2026-02-02")
    assert found.index(OPEN) < found.index("## 1.0, 2026-02-02") < found.index("## 0.9, 2026-01-01")
    assert "- `sg.new` is there: it does something.\n" in found
    assert (
        "- A long entry that has a sentence, which says what a user needs to know of it.\n\n### Fixed\n\n- A defect.\n" in found
    )
    assert found.endswith("### Added\n\n- Older.\n")
    with pytest.raises(ValueError, match="nothing is unreleased"):
        released(found, "1.1", "2026-03-03")
    with pytest.raises(ValueError, match=re.escape("1.0 is in the changelog")):
        released(found, "1.0", "2026-03-03")


def test_released_versions_have_one_line_for_each_entry():
    head, *versions = re.split(r"(?m)^## ", FILE.read_text(encoding="utf-8"))
    assert versions[0].startswith("Unreleased\n")
    for version in versions[1:]:
        title, *lines = version.splitlines()
        assert re.fullmatch(r"\S+, \d{4}-\d\d-\d\d", title)
        assert [text for text in lines if text and not text.startswith("- ") and text.removeprefix("### ") not in KINDS] == []
