"""Hypervisors behind one interface, `compute.drivers.base.Driver`. Imports neither Django nor anything of ours."""
