"""What every room needs and what knows nothing of tensors: dtypes and types, files, locks, signals, logs, libraries."""
