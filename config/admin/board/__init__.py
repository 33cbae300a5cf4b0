"""The board of the first page: numbers, and figures that the server draws.

`registry` is what apps register their parts with, `bars` draws tables with bars, `course` what changes over time.
Nothing here knows an app, asks the database, or needs a script: figures are SVG and tables.
"""
