"""Hashes of passwords in the form that every Linux accepts."""

import shutil
import subprocess

import pytest

from compute.drivers.qemu.agent.disks import systems
from compute.drivers.qemu.passwords import sha512_crypt

# From the specification of SHA-crypt
VECTORS = [
    (
        ("Hello world!", "saltstring", None),
        "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
    ),
    (
        ("Hello world!", "saltstringsaltstring", 10000),
        "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/"
        "YTBmSK6H9qs/y3RnOaw5v.",
    ),
    (
        ("we have a short salt string but not a short password", "short", 77777),
        "$6$rounds=77777$short$WuQyW2YR.hBNpjjRhpYD/ifIw05xdfeEyQoMxIXbkvr0gge1a1x3yRULJ5CCaUeOxFmtlcGZelFl5CxtgfiAc0",
    ),
    (
        ("the minimum number is still observed", "roundstoolow", 10),
        "$6$rounds=1000$roundstoolow$kUMsbe306n21p9R.FRkW3IGn.S9NPN0x50YhH1xhLsPuWGsUSklZt58jaTfF4ZEQpyUNGc0dqbpBYYBa"
        "HHrsX.",
    ),
]


@pytest.mark.parametrize(("given", "hashed"), VECTORS)
def test_the_vectors_of_the_specification(given, hashed):
    assert sha512_crypt(*given) == hashed


@pytest.mark.parametrize("password", ["a", "Tall-ships.sail-at-9", "ünï cödé", "x" * 63, "x" * 64, "x" * 128])
def test_openssl_makes_the_same(password):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    expected = subprocess.run(
        ["openssl", "passwd", "-6", "-salt", "Az09./", "-stdin"],
        input=password,
        text=True,
        capture_output=True,
        check=True,
    ).stdout.strip()
    assert sha512_crypt(password, "Az09./") == expected


def test_each_hash_has_a_salt_of_its_own_and_fits_into_shadow():
    one, other = sha512_crypt("correct-horse"), sha512_crypt("correct-horse")
    assert one != other
    assert systems.HASH.fullmatch(one)
    assert len(one.split("$")[2]) == 16
