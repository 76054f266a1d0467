"""`torch.hub`: files that are downloaded once and kept. Models of repositories are not run."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import urllib.request
from typing import Any, NoReturn
from urllib.parse import urlparse

from ...base.files import replacing
from ...errors import ArgumentError, UnsupportedError

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_folder: str | None = None


def _get_torch_home() -> str:
    home = os.getenv("TORCH_HOME", os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch"))
    return os.path.expanduser(home)


def get_dir() -> str:
    """The folder of downloaded files: the one that `set_dir` names, $TORCH_HOME/hub, or ~/.cache/torch/hub."""
    return os.path.join(_get_torch_home(), "hub") if _folder is None else _folder


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder of downloaded files."""
    global _folder
    _folder = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Write the file at a URL to `dst`, whole or not at all. Raises ArgumentError where its SHA-256 begins otherwise."""
    with urllib.request.urlopen(urllib.request.Request(url, headers={"User-Agent": "torch.hub"})) as source:
        content: bytes = source.read()
    found = hashlib.sha256(content).hexdigest()
    if hash_prefix and not found.startswith(hash_prefix):
        raise ArgumentError(f'invalid hash value (expected "{hash_prefix}", got "{found}")', f"of {url}")
    with replacing(dst) as file:
        file.write(content)


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = True,
) -> Any:  # fmt: skip
    """The tensors of a file at a URL, which is downloaded once."""
    from ...interchange.serialization import load as read

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found[1] if found else None, progress)
    return read(path, map_location=map_location)


load_url = load_state_dict_from_url


def load(repo_or_dir: str, model: str, *args: Any, **named: Any) -> NoReturn:
    """Raises UnsupportedError: code of a repository is not downloaded and run."""
    raise UnsupportedError(
        f"hub.load: {repo_or_dir} is not downloaded and run",
        "install its package, and load its weights: load_state_dict_from_url",
    )


list = help = load

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]
