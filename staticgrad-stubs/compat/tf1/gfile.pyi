"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from .platform import Copy as Copy
from .platform import DeleteRecursively as DeleteRecursively
from .platform import Exists as Exists
from .platform import FastGFile as FastGFile
from .platform import FileStatistics as FileStatistics
from .platform import GFile as GFile
from .platform import Glob as Glob
from .platform import IsDirectory as IsDirectory
from .platform import ListDirectory as ListDirectory
from .platform import MakeDirs as MakeDirs
from .platform import MkDir as MkDir
from .platform import Open as Open
from .platform import Remove as Remove
from .platform import Rename as Rename
from .platform import Stat as Stat
from .platform import Walk as Walk
__all__ = [
    "Copy", "DeleteRecursively", "Exists", "FastGFile", "FileStatistics", "GFile", "Glob", "IsDirectory", "ListDirectory",
    "MakeDirs", "MkDir", "Open", "Remove", "Rename", "Stat", "Walk",
]
