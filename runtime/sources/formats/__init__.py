"""The formats of files and bodies: CSV, JSON lines and Parquet, packed or not."""
