"""Files that programs under test write and delete while a test reads them."""

import os
from collections.abc import Iterable
from pathlib import Path


def below(folders: Iterable[Path]) -> list[Path]:
    """Return the regular files below the folders, as far as they still exist.

    Unlike `Path.rglob`, it does not fail if a folder is deleted while it is read.
    """
    found = (Path(place, name) for folder in folders for place, _, names in os.walk(folder) for name in names)
    return [path for path in found if path.is_file()]
