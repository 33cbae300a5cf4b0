"""How fast the service is, against a bare server that does the same work without a framework.

``make bench`` (``python -m tests.bench``) measures; docs/performance.md explains what and how. It is not part
of the test suite: a timing never decides a test. `tests.bench.test_bench` checks only that the harness is
honest, which is that both servers give the same answers.
"""
