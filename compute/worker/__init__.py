"""The code of workers: the engine, the kinds of job with their steps, and the tasks of the clock."""
