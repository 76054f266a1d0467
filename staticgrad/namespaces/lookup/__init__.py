"""How a name is found: the table of PyTorch's paths, the modules made of it, and advice where there is none."""
