"""An interactive shell, driven by a test."""

import queue
import secrets
import subprocess
import threading
from pathlib import Path

SECONDS = 1200
"""How long a command may take, in seconds: longer than any wait of docs/shell.sh."""


class Terminal:
    """An interactive bash in the folder `cwd`. It shows neither its input nor prompts."""

    def __init__(self, env: dict[str, str], cwd: Path):
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "--noediting", "-i"],
            env=env | {"PS1": "", "PS2": "", "HISTFILE": "/dev/null"},
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._prompt = secrets.token_hex(16)
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.type(f"PROMPT_COMMAND='printf \"%s %s\\n\" {self._prompt} $?'\n")

    def type(self, command: str, *, asked: str = "", answer: str = "") -> tuple[str, int]:
        """Type a command, with the end of its line. Returns its output with errors, and its exit status.

        When the command prints the line `asked`, `answer` is typed. Earlier, the shell would take it for a
        command.
        """
        self._write(command)
        shown = ""
        while True:
            try:
                line = self._lines.get(timeout=SECONDS)
            except queue.Empty:
                raise AssertionError(f"{command}is not done after {SECONDS} seconds:\n{shown}") from None
            assert line, f"{command}ended the shell:\n{shown}"
            assert not line.endswith(b": event not found\n"), f"{command}has a ! for the history"
            before, prompt, status = line.decode(errors="replace").rpartition(f"{self._prompt} ")
            if prompt:
                return shown + before, int(status)
            shown += status
            if asked and status == f"{asked}\n":
                self._write(f"{answer}\n")

    def _write(self, text: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(SECONDS)

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")
