"""Making recorded tables from real training."""
