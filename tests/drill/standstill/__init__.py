"""Cases in which one disturbance blocked everything, or something waited forever. Each is played and judged.

docs/drills.md lists them. A quick drill judges counts and order. A full drill also judges times.
"""
