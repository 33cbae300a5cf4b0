"""``python -m compute.drivers.qemu.guest DIRECTORY``: build the tiny guest in the directory of a host."""

import sys
from pathlib import Path

from compute.drivers.qemu.agent.errors import Failed, details_of
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.guest import build


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(f"usage: python -m {__package__} DIRECTORY")
    try:
        made = build.build(Store(Path(sys.argv[1])))
    except Failed as error:
        sys.exit(f"{error} {details_of(error)}".strip())
    for path in made:
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
