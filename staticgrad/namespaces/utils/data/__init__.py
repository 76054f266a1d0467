"""Data sets, samplers, and loaders of batches, with PyTorch's names and arguments."""

from ...lookup.modules import refusing
from .datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    IterDataPipe,
    MapDataPipe,
    StackDataset,
    Subset,
    TensorDataset,
    functional_datapipe,
    random_split,
)
from .loader import DataLoader, default_collate, default_convert
from .prefetcher import Prefetcher
from .samplers import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .workers import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterDataPipe",
    "IterableDataset", "MapDataPipe", "Prefetcher", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "WorkerInfo", "default_collate", "default_convert",
    "functional_datapipe", "get_worker_info", "random_split",
]  # fmt: skip

__getattr__ = refusing("staticgrad.utils.data", __all__, "DATA_REPLACED")
