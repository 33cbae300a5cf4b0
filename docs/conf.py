"""The docs as a site, built by `make docs`. docs/decisions/docs-site.md explains the choice of Sphinx.

The pages are plain Markdown, readable on a code host as well: none has a directive of the builder. This module
creates everything else that a site needs while a page is read. It makes the tree of contents from the lists of two
pages, and adds the text of files in other folders to their pages.
"""

import os
import re
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "Skerry"
extensions = ["myst_parser"]
exclude_patterns: list[str] = []
nitpicky = True

html_theme = "furo"
html_title = "Skerry"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_use_index = False

myst_heading_anchors = 4
"""Links name headings as on code hosts, down to this level."""

APPENDED = {"start": "README.md", "api": "config/api/introduction.md", "changelog": "CHANGELOG.md"}
"""Pages that continue with a file from another folder, if it exists."""

INDEXES = ("index", "decisions/README")
"""Pages whose lists are the contents of the site."""

SECTION = re.compile(r"^## (?P<title>.*)\n(?P<text>(?:(?!^## ).*\n?)*)", re.MULTILINE)
ENTRY = re.compile(r"^- \[[^]]*\]\((?P<page>[\w/-]+)\.md\)", re.MULTILINE)
LINK = re.compile(r"\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def contents(index: str) -> str:
    """Return the tree of contents from the lists of the index: a part for each heading, in their order."""
    parts = []
    for section in SECTION.finditer(index):
        if pages := [entry["page"] for entry in ENTRY.finditer(section["text"])]:
            parts.append(
                "\n".join(["```{toctree}", ":hidden:", f":caption: {section['title']}", "", *pages, "```"])
            )
    return "\n\n".join(parts)


def leading(text: str, folder: Path, page: str) -> str:
    """Return the text of a file in `folder`, with its links adapted to the page.

    A link to a file that a page continues with leads to that page. A link to a folder leads to its README.
    """
    pages = {(ROOT / name).resolve(): HERE / f"{other}.md" for other, name in APPENDED.items()}

    def link(match: re.Match[str]) -> str:
        target = (folder / match["path"]).resolve()
        target = target / "README.md" if target.is_dir() else pages.get(target, target)
        return f"]({os.path.relpath(target, (HERE / page).parent)}{match['anchor'] or ''})"

    return LINK.sub(link, text)


def appended(page: str) -> str:
    """Return the file that the page continues with, without its title.

    The README comes without its index of pages.
    """
    file = ROOT / APPENDED.get(page, "-")
    if not file.is_file():
        return ""
    text = re.sub(r"\A# .*\n", "", file.read_text()).partition("\n## Read on\n")[0]
    return "\n" + leading(text, file.parent, page)


def read(app: Sphinx, page: str, source: list[str]) -> None:
    text = leading(source[0], (HERE / page).parent, page) + appended(page)
    source[0] = f"{text}\n{contents(source[0])}" if page in INDEXES else text


def setup(app: Sphinx) -> None:
    app.connect("source-read", read)
    # Graphs are shown as text: a program that draws them would come from another server.
    app.add_lexer("mermaid", TextLexer)
