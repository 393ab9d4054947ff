"""Work on a CUDA device: kernels as text, compiled at first use; their memory and their launches."""
