"""The event loop of web and stream processes. Web processes first read a request's whole body."""
