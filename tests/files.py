"""Files that programs under test write and delete while a test looks at them."""

import os
from collections.abc import Iterable
from pathlib import Path


def below(folders: Iterable[Path]) -> list[Path]:
    """The regular files below the folders, as far as they are still there. Unlike `Path.rglob`, it does not fail
    where a folder goes while it is read."""
    found = (Path(place, name) for folder in folders for place, _, names in os.walk(folder) for name in names)
    return [path for path in found if path.is_file()]
