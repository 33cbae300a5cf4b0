"""A pytest plugin: it prints the tracebacks of failed tests first, then their output, once.

``-p`` in pyproject.toml loads it. A job writes many log lines. Below each traceback, and twice, they would push the
other tracebacks out of sight. ``--show-capture`` chooses the output as usual. ``-rP`` and ``-rA`` show all
output in pytest's own order.
"""

from collections.abc import Generator

import pytest

SHOWN = pytest.StashKey[str]()
"""The value of ``--show-capture``, while pytest itself shows no output."""


def pytest_configure(config: pytest.Config) -> None:
    if not set(config.option.reportchars) & set("PA"):
        config.stash[SHOWN] = config.option.showcapture
        config.option.showcapture = "no"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Drop the records that pytest's log handler kept: our own handler has written each one to standard error."""
    report = yield
    report.sections = [(name, text) for name, text in report.sections if not name.startswith("Captured log")]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the output of failed tests, between the tracebacks and the list of failed tests."""
    shown = config.stash.get(SHOWN, "no")
    if shown == "no" or config.option.tbstyle == "no":
        return
    reports = [report for outcome in ("error", "failed") for report in terminalreporter.getreports(outcome)]
    found = [
        (f"{name} of {report.nodeid}", text)
        for report in reports
        for name, text in report.sections
        if shown == "all" or shown in name
    ]
    if found:
        terminalreporter.write_sep("=", "OUTPUT OF FAILED TESTS")
    for title, text in found:
        terminalreporter.write_sep("-", title)
        terminalreporter.write_line(text.rstrip("\n"))
