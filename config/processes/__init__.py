"""The parts of every process: start and stop, logs, traces, notifications between processes, commands."""
