"""The API reference at /docs: the OpenAPI document as pages to read, to search and to try out.

`reading` turns the document into operations. `fields` turns its schemas into fields for a table. `search` finds
operations by words. `views` has the pages. The scripts of config/static/docs send the calls.
"""
