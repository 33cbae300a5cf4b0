"""Pictures that cost their decoder far more than their bytes suggest."""

import io

from PIL import Image


def scans(count: int, side: int = 64) -> bytes:
    """Return a progressive JPEG, `side` pixels wide and high, that repeats the scan of one more pass `count`
    times."""
    file = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(file, "JPEG", progressive=True)
    photograph = file.getvalue()
    last = photograph[photograph.rindex(b"\xff\xda") : -2]
    return photograph[:-2] + last * count + photograph[-2:]
