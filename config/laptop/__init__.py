"""The services and processes of ``make serve`` and of the tests: embedded servers and their supervisor."""
