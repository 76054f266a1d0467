"""The benchmark of floats of 16 bits runs, and its steps compute the same in each dtype."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import halves


def test_a_run(tmp_path, capsys):
    file = tmp_path / "rows.json"
    rows = halves.main(["--sizes", "1e3", "--seconds", "0.01", "--markdown", "--json", str(file)])
    assert [row.step for row in rows] == [*halves.STEPS]
    assert all(row.ratio(dtype) > 0 for row in rows for dtype in halves.DTYPES)
    assert [row["size"] for row in json.loads(file.read_text())] == [1000] * len(rows)
    assert capsys.readouterr().out.count("\n|") == 1 + len(rows)


@pytest.mark.parametrize("step", halves.STEPS)
def test_dtypes_agree(step):
    results = {dtype: halves.STEPS[step](1000, dtype)().numpy().astype(np.float32) for dtype in halves.DTYPES}
    for dtype, bits in (("bfloat16", 8), ("float16", 11)):
        scale = np.abs(results["float32"]).max()
        np.testing.assert_allclose(results[dtype], results["float32"], rtol=0, atol=scale * 8 * 2.0**-bits)
