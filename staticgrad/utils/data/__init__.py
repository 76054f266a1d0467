"""Data sets, samplers, and loaders of batches, with PyTorch's names and arguments."""

from ...base.module_paths import enter_paths, refusing
from . import datasets, loader, samplers
from .collate import default_collate, default_convert
from .datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .loader import DataLoader
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
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "Prefetcher",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

enter_paths(__name__, {"dataloader": loader, "dataset": datasets, "distributed": samplers, "sampler": samplers})

__getattr__ = refusing(__name__, __all__, "DATA_REPLACED")
