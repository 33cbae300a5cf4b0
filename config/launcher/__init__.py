"""The import package ``skerry`` of the wheel: the command, and the application in the folder ``app``.

In the source tree it is ``config.launcher``, and nothing uses it there (docs/decisions/package.md).
"""
