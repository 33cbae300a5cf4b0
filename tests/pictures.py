"""Pictures that cost their decoder much more than their bytes do."""

import io

from PIL import Image


def scans(count: int, side: int = 64) -> bytes:
    """A progressive JPEG that has the scan of one more pass `count` times, `side` pixels wide and high."""
    file = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(file, "JPEG", progressive=True)
    photograph = file.getvalue()
    last = photograph[photograph.rindex(b"\xff\xda") : -2]
    return photograph[:-2] + last * count + photograph[-2:]
