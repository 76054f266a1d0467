"""Write `tests/golden/public_names.txt`: each public name and how it is called.

    python -m tools.public_names

What the file loses, or what a line changes but for new arguments at its end, breaks programs of users: `docs/stability.md` says
when that may happen. `tests/docs/test_public_names.py` compares the file with the package.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from .example_runs import reference

FILE = Path(__file__).resolve().parent.parent / "tests" / "golden" / "public_names.txt"
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def lines() -> Iterator[str]:
    """A line for each documented name, and for each public method of a class that is documented under its first name."""
    for path, key in sorted(reference.names().items()):
        value = reference.value_of(path)
        if path != key:
            yield f"{path} = {key}"
        elif inspect.isclass(value):
            yield path + _call(value)
            yield from (f"{path}.{name}{_call(member)}" for name, member in _own(value).items())
        else:
            yield path + (_call(value) if callable(value) else "")


def _own(cls: type) -> dict[str, Any]:
    """The members of a class that the reference documents: those which the documented bases do not have."""
    bases = [object, *reference.described(cls)]
    found = {}
    for name in sorted({*dir(cls)} - reference.internal(cls)):
        if name.startswith("_") or not hasattr(cls, name) or any(hasattr(base, name) for base in bases):
            continue
        if isinstance(inspect.getattr_static(cls, name), property) or inspect.isroutine(getattr(cls, name)):
            found[name] = getattr(cls, name)
    return found


def _call(value: Any) -> str:
    """The arguments of a call with their defaults; nothing for what isn't called or does not tell."""
    if inspect.isclass(value) and issubclass(value, Enum):
        return ""  # Python's own arguments, which differ between its versions
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return ADDRESS.sub("", str(signature.replace(parameters=plain, return_annotation=signature.empty)))


def main() -> None:
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
