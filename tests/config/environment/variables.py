"""The variables that the settings read, and an environment without the variables of the test run."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VARIABLE = re.compile(r'env\.\w+\(\s*"([A-Z_0-9]+)"')
SOURCE = "".join((ROOT / "config" / name).read_text() for name in ("settings.py", "environment/openid.py"))


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of the tests without the variables that the settings read, plus `variables`."""
    ours = set(VARIABLE.findall(SOURCE)) | {"OIDC_CLIENT_ID"}
    return {name: value for name, value in os.environ.items() if name not in ours} | variables
