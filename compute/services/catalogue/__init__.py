"""The operator's own catalogue as a file: reading, checking, planning, applying and exporting it."""
