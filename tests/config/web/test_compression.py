"""Clients that accept gzip, and compressed answers that decompress to the original."""

import gzip

import pytest

from config.web.compression import accepts_gzip, compress_once, compress_quickly


@pytest.mark.parametrize(
    ("accepted", "is_accepted"),
    [
        ("", False),
        ("identity", False),
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("br;q=1.0, x-gzip ; q=1", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("br, zstd", False),
        ("gzipped", False),
    ],
)
def test_a_client_says_whether_it_accepts_gzip(accepted, is_accepted):
    assert accepts_gzip(accepted) is is_accepted


@pytest.mark.parametrize("compress", [compress_once, compress_quickly])
def test_a_document_survives(compress):
    assert gzip.decompress(compress(b"document " * 1000)) == b"document " * 1000
