"""Work on a CUDA device: kernels as text, compiled at first use, memory and launches."""
