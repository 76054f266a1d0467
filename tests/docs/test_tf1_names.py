"""The page of TensorFlow 1's names is that of the code."""

from __future__ import annotations

from tools.tf1_names import PAGE, page


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tools.tf1_names"
