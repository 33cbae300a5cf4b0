"""The operator's own catalogue, as a file: read and checked, planned, applied, exported."""
