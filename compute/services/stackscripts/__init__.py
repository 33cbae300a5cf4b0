"""Deployment scripts: their fields, the scripts that they include, and writing them."""
