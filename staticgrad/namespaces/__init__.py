"""Names as other libraries have them: PyTorch's module paths, and this library under the names `torch` and `tensorflow`."""
