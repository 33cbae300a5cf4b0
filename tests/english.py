"""A lint for plain English: ``python -m tests.english``, which ``make lint`` runs.

Sentences that are too long are reported, docstrings and comments that begin with a pronoun, and names that are
private words of this project. Names are read where they are bound: definitions, parameters, assignments and
imports. Docstrings, first lines of comments and the pages in Markdown are read. Tables, code and lists of links are
not sentences. Exits with 1 if there are findings.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CODE = ("accounts", "compute", "config", "managed", "regions", "tags", "tests")
PAGES = ("README.md", "CHANGELOG.md", "SECURITY.md", "config/api/introduction.md", "docs/**/*.md")
MAX_WORDS = 30
FIRST_WORDS = re.compile(r"(What|Who|Whoever|Whatever|Which|Of what|Those|That|It|They)\b")
PRIVATE_NAMES = frozenset({
    "Beside", "Course", "Desk", "Visit", "acrosses", "beside", "bury", "course", "dear", "desk", "furnish", "held",
    "held_here", "hold", "holding", "is_owned", "look", "looks", "rise", "said", "tidied", "tidy", "told", "ups",
})  # fmt: skip
"""Names with a meaning that only this project knew. Plain words replaced them. A leading underscore is ignored."""
BARE_CONSTANTS = frozenset({
    "EVERY", "FULL", "HELD", "HOLD", "KEPT", "LARGEST", "LOCK", "LONG", "LOOK", "MOST", "OFF", "PATIENCE", "SAID",
    "SHORT", "SHORTEST", "STILL", "TASK", "TOLD",
})  # fmt: skip
"""Names of constants of a module that lack their noun. Members of an enumeration have the noun in its name."""

BLOCK = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"::\n\n(?:(?: {4}.*)?\n)+")
PART = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s)")
SPAN = re.compile(r"(`+)[^`]+\1")
TARGET = re.compile(r"\]\([^)]*\)")
END = re.compile(r"(?<=[.!?:;])[\"')\]*_]*\s+(?=[A-Z0-9`\"(\[*_<])")


@dataclass(frozen=True)
class Finding:
    """A problem in a file. `line` is 0 for a page."""

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}" if self.line else f"{self.path}: {self.problem}"


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text in Markdown or of a docstring. A span of code counts as one word."""
    text = INDENTED.sub(".\n\n", BLOCK.sub("", text))
    for part in PART.split(TARGET.sub("]", SPAN.sub("Code", text))):
        if not part.lstrip().startswith("|"):
            yield from END.split(" ".join(part.split()))


def long_sentences(text: str) -> Iterator[str]:
    """Yield a problem for each sentence with more than `MAX_WORDS` words."""
    for sentence in sentences(text):
        if (count := len(sentence.split())) > MAX_WORDS:
            yield f"a sentence of {count} words: {sentence[:70]}…"


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of a module with their lines: of modules, classes and functions, and below variables."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the first lines of the comments of a module, without their ``#``."""
    previous = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != previous + 1:
                yield token.start[0], token.string.lstrip("#: ")
            previous = token.start[0]


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that a tree binds, with their lines.

    Names of functions and classes, parameters, variables, attributes that are set, and aliases of imports and
    exceptions.
    """
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield node.lineno, name


def private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names that a module binds and that are private words, with their lines."""
    for line, name in bound_names(tree):
        if name.strip("_") in PRIVATE_NAMES:
            yield line, name
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            yield from ((line, name) for line, name in bound_names(statement) if name.strip("_") in BARE_CONSTANTS)


def check_module(path: str, source: str) -> Iterator[Finding]:
    """Yield the findings in a module of Python."""
    tree = ast.parse(source)
    for line, text in docstrings(tree):
        if FIRST_WORDS.match(text.strip()):
            yield Finding(path, line, f"a docstring begins with a pronoun: {text.strip()[:60]}…")
        yield from (Finding(path, line, problem) for problem in long_sentences(text))
    for line, text in comments(source):
        if FIRST_WORDS.match(text):
            yield Finding(path, line, f"a comment begins with a pronoun: {text[:60]}…")
    yield from (Finding(path, line, f"{name} is a private word") for line, name in private_names(tree))


def check_page(path: str, text: str) -> Iterator[Finding]:
    """Yield the findings in a page of Markdown."""
    yield from (Finding(path, 0, problem) for problem in long_sentences(text))


def findings() -> Iterator[Finding]:
    """Yield all findings in the tree."""
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield from check_module(str(path.relative_to(ROOT)), path.read_text())
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            yield from check_page(str(path.relative_to(ROOT)), path.read_text())


def main() -> int:
    """Print all findings; return the exit code."""
    found = [str(finding) for finding in findings()]
    if found:
        sys.stdout.write("\n".join([*found, f"{len(found)} findings: docs/testing.md describes the rules.", ""]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
