"""Install the packages of a lock file into the environment of this Python, and show the progress.

``python install.py LOCKFILE``. It runs before anything is installed, so it uses only Python itself. pip is silent
unless it fails: then all of its output is shown.
"""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

HERE = Path(__file__).resolve().parent
# Back to the start of the line, and erase the line.
REWRITE = "\r\x1b[K"
# Seconds between the progress lines of a long installation, if lines are not rewritten.
PLAIN_EVERY = 30.0
INTERRUPTED = 130

HINT = """
pip failed. Its output is above. pip downloads packages from the index that it is configured with. To change this,
set PIP_INDEX_URL (another index), PIP_PROXY (a proxy) or PIP_CERT (its certificates). Downloaded packages are kept.
"""


class Progress:
    """A progress line that is rewritten on a terminal. Elsewhere a new line is written now and then."""

    def __init__(self, total: int, terminal: bool) -> None:
        self.total = total
        self.terminal = terminal
        self.began = self.written = time.monotonic()

    def show(self, text: str) -> None:
        now = time.monotonic()
        if self.terminal:
            sys.stdout.write(f"{REWRITE}{text} ({now - self.began:.0f} s)")
        elif now - self.written >= PLAIN_EVERY:
            self.written = now
            sys.stdout.write(f"{text} ({now - self.began:.0f} s)\n")
        sys.stdout.flush()

    def line(self, text: str) -> None:
        """Write a line that is not rewritten."""
        sys.stdout.write(f"{REWRITE if self.terminal else ''}{text}\n")
        sys.stdout.flush()


def main(lock: Path) -> int:
    """Install the packages of the file `lock`. Returns the exit code of pip, or `INTERRUPTED` after Ctrl-C."""
    total = len(re.findall(r"^[A-Za-z0-9]", lock.read_text(), re.MULTILINE))
    progress = Progress(total, sys.stdout.isatty())
    progress.line(f"Installing {total} packages, once (150 MB at most)")
    lines: list[str] = []
    process = subprocess.Popen(  # noqa: S603
        command(lock), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        if process.stdout:
            follow(process.stdout, progress, lines)
        code = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        progress.line("Stopped.")
        return INTERRUPTED
    if code:
        progress.line("".join(lines))
        progress.line(HINT.strip())
        return code
    progress.line(f"Installed in {time.monotonic() - progress.began:.0f} s")
    return 0


def command(lock: Path) -> list[str]:
    # A minimal Debian has a python3 without pip, and without ensurepip to install it: this pip runs from its wheel.
    [pip] = HERE.glob("pip-*.whl")
    return [
        *(sys.executable, str(pip / "pip"), "--disable-pip-version-check", "--no-input", "--no-color", "install"),
        *("--progress-bar", "off", "--root-user-action", "ignore"),
        *("--require-hashes", "--only-binary=:all:", "-r", str(lock)),
    ]


def follow(output: IO[str], progress: Progress, lines: list[str]) -> None:
    """Read pip's `output` to its end, collect it in `lines`, and show how many packages pip has reached."""
    found = 0
    for line in output:
        lines.append(line)
        if line.startswith(("Collecting ", "Requirement already satisfied: ", "Ignoring ")):
            found += 1
            progress.show(f"Downloading: {found} of {progress.total}")
        elif line.startswith("Installing collected packages"):
            progress.show("Unpacking")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
