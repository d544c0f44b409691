"""Tables: rows of numbers, files of any usual kind, and what their columns mean."""

from whyflag.table.rows import Table, read_table

__all__ = ["Table", "read_table"]
