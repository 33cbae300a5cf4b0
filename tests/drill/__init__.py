"""A drill: an installation of its own is disturbed, raced and attacked, and the effects are counted.

``make drill`` runs it (docs/drills.md).
"""
