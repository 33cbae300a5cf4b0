"""Guests of one or two sectors, which boot within a second: enough for power, buttons, a console and a command
line.

The guests print ``login: ``, then echo the input, and ``m`` 600 times. ``p`` powers them off, ``r`` reboots them.
Obedient guests power off when the power button is pressed. Stubborn ones never check it. The code is 16-bit,
for a PC with an ICH9 (q35), whose power management is at port 0x600.
"""

BANNER = b"one sector, login: "
KERNEL_BANNER = b"\nRun /init as init process\ntwo sectors, login: "

_BEGIN = "fa fc"  # cli; cld
_ANSWER = "fb ba0206 b80001 ef"  # sti; PM1 enable: report the power button
_BUTTON = "ba0006 ed f6c401 752e"  # PM1 status: the button was pressed: power off
_PRINT = "ac 84c0 7406 baf803 ee ebf5"  # until it ends: lodsb; out to the first serial port
_TAIL = (
    "ba0406 b80020 ef f4ebfd"  # PM1 control: sleep type 5; halt
    "baf90c b006 ee f4ebfd"  # reset control: full reset; halt
)


def _loop(obedient: bool) -> bytes:
    loop = bytearray.fromhex(
        "f4"  # hlt: 18 interrupts a second wake it
        + (_BUTTON if obedient else "")
        + "bafd03 ec a801 74 00"  # nothing typed: again
        + "baf803 ec ee"  # echo
        + "3c6d 7513 b95802 bafd03 ec a820 74fb baf803 b06d ee e2f0"  # m: 600 more, each when there is room
        + "3c70 7406 3c72 740c"  # p: power off; r: reboot
        + "eb 00"  # again
    )
    again = loop.index(b"\xa8\x01\x74") + 4
    loop[again - 1] = -again & 0xFF
    loop[-1] = -len(loop) & 0xFF
    return bytes(loop) + bytes.fromhex(_TAIL)


def boot_sector(obedient: bool = True) -> bytes:
    """Return a boot sector, which a firmware boots from a disk."""
    begin = bytes.fromhex(_BEGIN + "31c0 8ed8 8ed0 bc007c" + _ANSWER)  # ds = ss = 0; sp = 0x7c00
    rest = bytes.fromhex(_PRINT) + _loop(obedient)
    text = 0x7C00 + len(begin) + 3 + len(rest)
    code = begin + b"\xbe" + text.to_bytes(2, "little") + rest + BANNER + b"\0"
    assert len(code) <= 510
    return code.ljust(510, b"\0") + b"\x55\xaa"


def kernel() -> bytes:
    """Return a file that QEMU boots as a Linux kernel (boot protocol 2.3). It first prints its command line."""
    head = bytearray(0x270)
    head[0x1F1] = 1  # sectors of setup, besides the first
    head[0x1FE:0x200] = b"\x55\xaa"
    head[0x200:0x202] = bytes.fromhex("eb6e")  # to 0x270
    head[0x202:0x208] = b"HdrS\x03\x02"
    head[0x211] = 1  # loaded high
    head[0x22C:0x230] = bytes.fromhex("ffffff37")  # where an initrd may be
    begin = bytes.fromhex(
        _BEGIN
        + "b80020 8ed8 31f6"  # the command line is at 0x20000
        + _PRINT
        + "0e 1f"  # ds = cs
        + _ANSWER
    )
    rest = bytes.fromhex(_PRINT) + _loop(obedient=True)
    text = 0x70 + len(begin) + 3 + len(rest)
    setup = bytes(head) + begin + b"\xbe" + text.to_bytes(2, "little") + rest + KERNEL_BANNER + b"\0"
    assert len(setup) <= 1024
    return setup.ljust(1024, b"\0") + bytes(4096)
