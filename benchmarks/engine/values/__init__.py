"""Functions value by value beside DuckDB and Polars, and the filters that ask about nested values and networks."""
