"""Cases in which everybody waited for one, or something waited for ever: each is played and judged.

docs/drills.md lists them. Counts and order decide in a quick drill, times as well in a full one.
"""
