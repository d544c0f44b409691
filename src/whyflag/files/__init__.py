"""Tables and documents on disk and in pipes."""
