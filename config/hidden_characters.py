"""Characters that are not seen but change what is: with them, a name that others are shown passes for another.

Those that control (C0, C1), those that turn the direction of text (bidi), and those of no width. New names have
none of them (`config.api.common_fields.printable`); where names are shown to others, those of old rows are made
visible.
"""

import re
import unicodedata

HIDDEN = (
    r"\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\uffff"
)
"""Ranges of a regular expression, in the spelling that Python and JavaScript share: the API's document has them."""
BLANKS = dict.fromkeys(map(ord, "\t\n\v\f\r"), " ")
PLAIN = re.compile(r"[ -~]*").fullmatch
_hidden = re.compile(f"[{HIDDEN}]").match


def visible(text: str) -> str:
    """A text of one line as others are shown it: each hidden character by its number, as ``[U+202E]``, but for tabs
    and ends of lines, which are blanks."""
    if PLAIN(text):
        return text
    return "".join(f"[U+{ord(each):04X}]" if _is_hidden(each) else each for each in text.translate(BLANKS))


def _is_hidden(character: str) -> bool:
    return bool(_hidden(character)) or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
