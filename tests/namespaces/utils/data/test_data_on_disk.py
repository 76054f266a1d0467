"""Data sets that stay in files: loaders read rows, never the whole."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import safetensors
from staticgrad.utils.data import DataLoader, Dataset, TensorDataset

ROWS, WIDTH = 40_000, 128


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    rows = np.zeros((ROWS, WIDTH), np.float32)
    rows[:, 0] = np.arange(ROWS)
    np.save(folder / "rows.npy", rows)
    safetensors.save_file({"rows": rows}, folder / "rows.safetensors")
    return folder


def opened(kind, folder):
    mapped = np.load(folder / "rows.npy", mmap_mode="r")
    return {
        "memmap": lambda: Rows(np.memmap(folder / "rows.npy", np.float32, "r", mapped.offset, mapped.shape)),
        "npy": lambda: Rows(mapped),
        "tensor": lambda: TensorDataset(sg.from_numpy(mapped)),
        "safetensors": lambda: Rows(safetensors.safe_open(folder / "rows.safetensors").get_slice("rows")),
        "slices": lambda: TensorDataset(safetensors.safe_open(folder / "rows.safetensors").get_slice("rows")),
    }[kind]()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["memmap", "npy", "tensor", "safetensors", "slices"])
def test_batches_are_read_alone(kind, workers, files):
    data = opened(kind, files)
    tracemalloc.start()
    try:
        seen = []
        for number, batch in enumerate(DataLoader(data, batch_size=32, shuffle=True, num_workers=workers)):
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            assert x.shape == (32, WIDTH)
            seen += x[:, 0].tolist()
            if number == 5:
                break
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len({*seen}) == len(seen)
    assert peak < ROWS * WIDTH * 4 / 2


def test_a_tensor_of_a_mapped_file_shares_its_pages(files):
    mapped = np.load(files / "rows.npy", mmap_mode="r")
    assert np.shares_memory(sg.from_numpy(mapped).numpy(), mapped)
