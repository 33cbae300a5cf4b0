"""``python -m skerry``: the command ``skerry`` of an environment whose folder of programs is not on PATH."""

from .command import main

if __name__ == "__main__":
    main()
