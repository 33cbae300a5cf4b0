"""Unicode names of DNS in the letters that DNS has (RFC 5891)."""

import unicodedata

import idna

MAX_LABEL_LENGTH = 63


def to_ascii(name: str) -> str:
    """Convert Unicode labels to punycode (IDNA 2008): ``münchen.example`` becomes ``xn--mnchen-3ya.example``.

    A label that IDNA 2008 does not allow stays as it is, and the pattern of the name refuses it later. Letters are
    changed to lower case and composed (NFC). No other character is replaced, so that no Unicode character becomes
    an ASCII letter or dot.
    """
    return name if name.isascii() else ".".join(map(_to_ascii_label, name.split(".")))


def _to_ascii_label(label: str) -> str:
    # such a label is too long as punycode too, and the encoder takes quadratic time
    if label.isascii() or len(label) > MAX_LABEL_LENGTH:
        return label
    composed = unicodedata.normalize("NFC", label.lower())
    if composed.isascii():  # a letter such as the Kelvin sign
        return label
    try:
        return idna.alabel(composed).decode("ascii")
    except UnicodeError:
        return label
