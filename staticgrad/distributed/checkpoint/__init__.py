"""`sg.distributed.checkpoint`: the state of a program in several processes in one folder, under PyTorch's names.

Each process writes one safetensors file, and process 0 then the index that names them. The index is replaced at once or not at
all, and files that it names stay until the next index is on the disk. So whatever happens meanwhile, the folder has the last
checkpoint that was complete. Another number of processes loads it alike.
"""

from ...namespaces.lookup.modules import refusing
from .index import BytesStorageMetadata, ChunkStorageMetadata, Metadata, Shard, Stateful, TensorStorageMetadata
from .state_dict_saver import (
    CheckpointException,
    DefaultLoadPlanner,
    DefaultSavePlanner,
    FileSystemReader,
    FileSystemWriter,
    async_save,
    load,
    save,
)

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "Metadata", "Shard", "Stateful", "TensorStorageMetadata", "async_save", "load",
    "save",
]  # fmt: skip

__getattr__ = refusing(__name__, __all__, "DISTRIBUTED_REPLACED", lazy={"state_dict": f"{__name__}.state_dict"})
