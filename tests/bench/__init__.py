"""The speed of the service, compared with a bare server that does the same work without a framework.

``make bench`` (``python -m tests.bench``) measures it. docs/performance.md explains the method. The benchmark
is not part of the test suite: a timing never decides a test. `tests.bench.test_bench` only checks that both
servers give the same answers.
"""
