"""The compose file and the image: what an engine makes of them, and what must not get into the image."""

from tests.deploy.samples import ROOT


def test_no_secret_of_an_installation_gets_into_the_image_or_into_git():
    """Docker reads no other name than this one. The file `.env` lies beside the compose file."""
    assert not (ROOT / ".containerignore").exists()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".git", ".venv", ".state", "docs", "tests", "**/.env", "**/*.env"} <= set(ignored)
    assert not [line for line in ignored if line.startswith("!")]
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()
