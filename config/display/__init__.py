"""The form in which people read and type values: numbers, plurals, times, characters, charts."""
