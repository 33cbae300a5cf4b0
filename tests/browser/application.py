"""The application of web processes, without their periodic writes.

The server outlives a test, on a database that other tests use. Its heartbeats and alarms would appear among
their rows.
"""

from config.rsgi import application

assert application.background, "a web process has no periodic writes to turn off"
application.background = ()
