"""The formats of files and bodies: CSV, JSON lines, Parquet and Windows event logs, packed or not."""
