"""Hand-written kernels: moves of rows, copies, convolution, pooling, attention weights, running sums, index checks.

`backend/kernel_cache.library` compiles them like generated ones; matrix products are in `backend/gemm_tiles.py`. The source is
the text after the line `# kernels`; the lines before it serve tools that read the file on its own. A kernel is written once
for all types: its name and its text have T where those of `gather_f32_8` have f32, and N in place of the 8.
"""
