"""Volumes: create, attach, detach, resize, clone, delete."""
