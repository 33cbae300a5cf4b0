"""The API reference at /docs: the OpenAPI document as pages to read, to search and to try out.

`reading` turns the document into operations, `fields` its schemas into what a table can show, `search` finds
operations by words, `views` answers. The scripts of config/static/docs send the calls.
"""
