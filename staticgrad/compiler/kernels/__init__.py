"""Hand-written kernels: copies, gathers, convolutions, pooling. They are compiled like generated ones; see
`kernel_cache.library_source`.

The source of a kernel is the text after the line `# kernels`; the lines before it are for tools that read the file by itself.
A kernel is written once for all types: its name and its text have T where those of `gather_f32_8` have f32, and N for the 8.
"""
