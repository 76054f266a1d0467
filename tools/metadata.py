"""What an index of packages shows of this one: Hatchling asks for it in every build.

An index shows the README alone, so its pictures and its links to other pages of the checkout get the addresses that they have
at the site, which SITE_URL names, as REPOSITORY_URL does the repository; `.github/workflows/release.yml` sets both. In a build
without them they are their words: there is no address that would be right.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"!?\[([^][]*)\]\((?![a-z]+:|#)([^()\s]+)\)")
"""A picture or a link to a file of the checkout: its words and the file."""


def at_an_index(readme: str, site: str) -> str:
    """The README as an index can show it."""

    def elsewhere(link: re.Match[str]) -> str:
        words, file = link.groups()
        page = re.sub(r"^(.+)\.md\b", lambda name: f"{name[1].lower()}/", file.removeprefix("docs/"))
        return link[0].replace(f"({file})", f"({site.rstrip('/')}/{page})") if site else str(words)

    return LINK.sub(elsewhere, readme)


class AtAnIndex(MetadataHookInterface):
    """The fields that `pyproject.toml` calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them."""
        site, repository = (os.environ.get(name, "") for name in ("SITE_URL", "REPOSITORY_URL"))
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": at_an_index(text, site)}
        addresses = {"Documentation": site, "Repository": repository, "Issues": repository and f"{repository}/issues"}
        metadata["urls"] = {name: address for name, address in addresses.items() if address}
