"""The board of the first page: numbers, and figures that the server draws.

Apps register their parts with `registry`. `bars` draws tables with bars, and `config.display.charts` draws values
over time.
Nothing here knows an app, asks the database, or needs a script: figures are SVG and tables.
"""
