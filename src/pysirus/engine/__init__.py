"""Where the sums of a fit come from when a table is in parts: files, chunks or machines."""
