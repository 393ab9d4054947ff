"""Files: atomic writes, Parquet, model files, trees of other libraries."""
