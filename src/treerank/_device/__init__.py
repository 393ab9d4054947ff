"""CUDA devices: memory, launches, and kernels that are compiled at first use."""
