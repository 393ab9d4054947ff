"""File input and output: atomic writes, Parquet, model files, trees of other libraries."""
