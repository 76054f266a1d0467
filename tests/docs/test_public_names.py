"""The public names and how they are called: a change is one of `tests/golden/public_names.txt`, and seen as such."""

from tools import public_names


def test_the_list_of_public_names_is_true():
    found = "\n".join(public_names.lines()) + "\n"
    assert found == public_names.FILE.read_text(encoding="utf-8"), "`python -m tools.public_names` writes it anew"
