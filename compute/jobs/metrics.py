"""Metrics of jobs, counted by workers."""

from config.monitoring.counts import Counter, Histogram

STEP_SECONDS = Histogram(
    "skerry_job_step_seconds",
    "The time that steps of jobs took, undone ones too: about that of their call of the driver.",
    ("kind", "step"),
)
STEP_FAILURES = Counter(
    "skerry_job_step_failures", "Steps of jobs that failed and are tried again.", ("kind", "step")
)
JOB_SECONDS = Histogram(
    "skerry_job_seconds",
    "The time from a request, or whatever began a job, to its end; the outcome is done, failed or superseded.",
    ("kind", "outcome"),
)
SWEEPS = Counter("skerry_sweeps", "Looks for due jobs.")
