"""Searches an answer for a text as it arrives, so that no answer is kept whole in memory."""

import codecs
import re
import zlib
from encodings import normalize_encoding
from encodings.aliases import aliases

PREFIX_BYTES = 1024 * 1024
"""The number of bytes of an answer, decompressed, that are searched for the text."""
PIECE_BYTES = 64 * 1024
"""The maximum number of bytes that are decompressed at once."""
PLAIN = ("", "identity")
PACKED = ("gzip", "x-gzip", "deflate")
CHARSETS = frozenset(
    (
        "ascii", "big5", "big5hkscs", "cp1250", "cp1251", "cp1252",
        "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258",
        "cp866", "cp932", "cp949", "euc_jp", "euc_kr", "gb18030",
        "gb2312", "gbk", "iso2022_jp", "iso8859_1", "iso8859_2", "iso8859_3",
        "iso8859_4", "iso8859_5", "iso8859_6", "iso8859_7", "iso8859_8", "iso8859_9",
        "iso8859_10", "iso8859_11", "iso8859_13", "iso8859_14", "iso8859_15", "iso8859_16",
        "johab", "koi8_r", "koi8_u", "latin_1", "mac_cyrillic", "mac_roman",
        "shift_jis", "tis_620", "utf_16", "utf_16_be", "utf_16_le", "utf_32",
        "utf_32_be", "utf_32_le", "utf_8", "utf_8_sig",
    )
)  # fmt: skip
"""Character sets of the web. Python has other codecs, some of which take hours for a megabyte, or decompress."""


_CHARSET = re.compile(r""";[ \t]*charset[ \t]*=[ \t]*["']?([\w.:+-]{1,40})(?![\w.:+-])""", re.ASCII | re.IGNORECASE)
MAX_TYPE_LENGTH = 1024
"""The number of characters of a Content-Type that are read."""


class Unreadable(Exception):
    """The answer's Content-Encoding is not supported, or its data is broken. The text says so, for people."""


class Search:
    """The search for one text in one answer, whose headers name `charset` and `encoding` (Content-Encoding)."""

    def __init__(self, text: str, charset: str, encoding: str):
        self._text = text
        self._codec = codec(charset)
        self._decoder = codecs.getincrementaldecoder(self._codec)("replace")
        self._tail = ""
        self._left = PREFIX_BYTES
        encoding = encoding.strip().lower()
        if encoding not in (*PLAIN, *PACKED):
            raise Unreadable("the answer has an unknown compression")
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding in PACKED else None

    @property
    def ended(self) -> bool:
        """Whether the first `PREFIX_BYTES` bytes, or all of the compressed data, have been searched."""
        return not self._left or (self._unpacker is not None and self._unpacker.eof)

    def feed(self, part: bytes) -> bool:
        """Search the next bytes of the answer. Return whether the text was found. Raises `Unreadable`."""
        if self._unpacker is None:
            return self._found(part)
        while part and not self.ended:
            try:
                piece = self._unpacker.decompress(part, PIECE_BYTES)
            except zlib.error:
                raise Unreadable("the answer could not be decompressed") from None
            if self._found(piece):
                return True
            part = self._unpacker.unconsumed_tail
        return False

    def _found(self, piece: bytes) -> bool:
        piece = piece[: self._left]
        self._left -= len(piece)
        seen = self._tail + self._decoded(piece)
        # Long enough for a text that begins in this piece and ends in the next.
        self._tail = seen[len(seen) - min(len(seen), len(self._text) - 1) :]
        return self._text in seen

    def _decoded(self, piece: bytes) -> str:
        try:
            return self._decoder.decode(piece)
        except UnicodeError:  # of UTF-16 and UTF-32 without a byte order mark, which browsers read as little-endian
            kept = self._decoder.getstate()[0]
            self._decoder = codecs.getincrementaldecoder(f"{self._codec}_le")("replace")
            return self._decoder.decode(kept + piece)


def charset_of(content_type: str) -> str:
    """Return the charset that a Content-Type header names, or an empty text.

    Python's email package is not used: its parser takes a minute for a header that is made to be slow.
    """
    found = _CHARSET.search(content_type[:MAX_TYPE_LENGTH])
    return found[1] if found else ""


def codec(charset: str) -> str:
    """Return the name of Python's codec for a charset of a header.

    UTF-8 for charsets that the web does not have.
    """
    name = normalize_encoding(charset.strip().lower()) if charset.isascii() else ""
    name = aliases.get(name, name)
    return name if name in CHARSETS else "utf_8"
