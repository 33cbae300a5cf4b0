"""Durable jobs, as services use them: kinds, data, queue, claims and notifications (docs/jobs.md)."""
