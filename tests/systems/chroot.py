"""A Debian in a folder, made by debootstrap, in which commands run as an ordinary user.

Each command has mounts and processes of its own (`unshare`). When the command ends, the kernel removes all of
them: nothing stays mounted, and no process stays. The network is the machine's.
"""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("python3", "make", "git", "curl", "ca-certificates")
"""The packages that README names, and curl for its examples, which needs certificates."""
HOME = Path("home/tester")
USER = "1000"
AUTHORITIES = Path("etc/ssl/certs/ca-certificates.crt")
MACHINES_AUTHORITIES = Path("etc/ssl/certs/machine.crt")
PASSED_ON = ("PIP_INDEX_URL", "PIP_PROXY", "PIP_DEFAULT_TIMEOUT", "http_proxy", "https_proxy", "no_proxy")
"""Variables of this machine that lead to packages."""
INSIDE = f"""
set -e
mount -t proc proc "$0/proc"
mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$0/dev/pts"
mount --bind "$1" "$0/{HOME}/.cache"
root=$0
shift
chroot "$root" setpriv --reuid {USER} --regid {USER} --init-groups "$@"
exit
"""
"""Runs as the first process of the command's namespace: without `exec`, so that signals reach the command."""


class Impossible(Exception):
    """A system cannot be made on this machine. The text says why."""


@dataclass(frozen=True)
class Chroot:
    """A system below `root`. `cache` keeps the packages of all systems from one run to the next."""

    root: Path
    cache: Path

    @property
    def home(self) -> Path:
        return self.root / HOME

    def build(self, suite: str, mirror: str, packages: Sequence[str], output: int) -> None:
        """Install the release `suite` of Debian into `root`, which is deleted first. Raises `Impossible`."""
        self.delete()
        archives, downloads = self.cache / "debian" / suite, self.cache / "user"
        for folder in (self.root, archives, downloads):
            folder.mkdir(parents=True, exist_ok=True)
        include = f"--include={','.join((*PACKAGES, *packages))}"
        options = ("--variant=minbase", f"--cache-dir={archives.absolute()}", include)
        made = subprocess.run(
            ["debootstrap", *options, suite, self.root, mirror], stdout=output, stderr=output, check=False
        )
        if made.returncode:
            raise Impossible(f"debootstrap of {suite} failed")
        subprocess.run(["chroot", self.root, "useradd", "--create-home", "--uid", USER, "tester"], check=True)
        (self.home / ".cache").mkdir()
        shutil.chown(self.home / ".cache", int(USER), int(USER))
        shutil.chown(downloads, int(USER), int(USER))
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        shutil.copy(Path("/") / AUTHORITIES, self.root / MACHINES_AUTHORITIES)

    def clone(self, repository: Path) -> None:
        """Clone the checked-out commit of `repository` into the user's home."""
        target = self.home / "skerry"
        trusted = ("-c", f"safe.directory={repository}")
        subprocess.run(["git", *trusted, "clone", "--quiet", "--no-hardlinks", repository, target], check=True)
        subprocess.run(["chown", "--recursive", f"{USER}:{USER}", target], check=True)

    def command(self, script: str, environment: Mapping[str, str]) -> list[str]:
        """Return the command line that runs a bash script in the clone, as the user.

        The end of the caller ends the script. Of `environment`, only `PASSED_ON` is used.
        """
        variables = [f"{name}={environment[name]}" for name in PASSED_ON if name in environment]
        return [
            *("setpriv", "--pdeathsig", "KILL"),
            *("unshare", "--mount", "--pid", "--fork", "--kill-child"),
            *("sh", "-c", INSIDE, str(self.root), str(self.cache / "user")),
            *("env", "-i", f"HOME=/{HOME}", "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
            *(f"PIP_CERT=/{MACHINES_AUTHORITIES}", *variables),
            *("bash", "-c", f"cd ~/skerry && {{\n{script}\n}}"),
        ]

    def delete(self) -> None:
        """Delete the system. Only commands mount anything below it, and no command runs any more."""
        if self.root.exists():
            shutil.rmtree(self.root)
