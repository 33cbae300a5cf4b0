"""Metrics of jobs, counted by workers."""

from config.monitoring.counts import Counter, Histogram

STEP_SECONDS = Histogram(
    "skerry_job_step_seconds",
    "The time of steps of jobs, also of undone steps. Most of it is the driver call.",
    ("kind", "step"),
)
STEP_FAILURES = Counter(
    "skerry_job_step_failures", "Steps of jobs that failed and are tried again.", ("kind", "step")
)
JOB_SECONDS = Histogram(
    "skerry_job_seconds",
    "The time from the creation of a job to its end. The outcome is done, failed or superseded.",
    ("kind", "outcome"),
)
SWEEPS = Counter("skerry_sweeps", "Searches for due jobs.")
