"""The DuckDB file, the objects and the sources."""
