"""With this folder in PYTHONPATH, Python finds none of the modules of WITHOUT_MODULES, as if not installed."""

import os
import sys
from importlib.machinery import PathFinder

HIDDEN = set(os.environ.get("WITHOUT_MODULES", "").split(","))


class Finder(PathFinder):
    """A finder of installed modules, except the hidden ones and their submodules."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.partition(".")[0] in HIDDEN:
            return None
        return super().find_spec(fullname, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
