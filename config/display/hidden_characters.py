"""Invisible characters. With them, a name can look like another name.

They are control characters (C0, C1), characters that change the direction of text (bidi), and characters without a
width. New names contain none of them (`config.api.common_fields.printable`). Pages make them visible in old names
that other people see.
"""

import re
import unicodedata

HIDDEN = (
    r"\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\uffff"
)
"""Ranges of a regular expression, in the syntax that Python and JavaScript share: the API's document contains
them.
"""
BLANKS = dict.fromkeys(map(ord, "\t\n\v\f\r"), " ")
PLAIN = re.compile(r"[ -~]*").fullmatch
_hidden = re.compile(f"[{HIDDEN}]").match


def visible(text: str) -> str:
    """Return a text of one line for display to other people.

    Each hidden character is shown by its number, as ``[U+202E]``. Tabs and line ends become blanks.
    """
    if PLAIN(text):
        return text
    return "".join(f"[U+{ord(each):04X}]" if _is_hidden(each) else each for each in text.translate(BLANKS))


def _is_hidden(character: str) -> bool:
    return bool(_hidden(character)) or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
