"""Usage of instances: samples, charts, transfer and alerts."""
