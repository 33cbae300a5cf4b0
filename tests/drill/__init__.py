"""A drill: an installation of its own is disturbed, raced and attacked, and what came of it is counted.

``make drill`` runs it (docs/drills.md).
"""
