"""A month in minutes: the clock of usage jumps by days, and the export is checked by hand."""
