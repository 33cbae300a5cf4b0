"""The application of web processes, without what these write beside their requests.

The server outlives a test, on a database that others use: its heartbeats and alarms would come among their rows.
"""

from config.rsgi import application

application.beside = ()
