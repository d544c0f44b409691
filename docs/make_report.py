"""Take the picture of the report that `whyflag demo` writes.

`python docs/make_report.py` writes docs/images/report.png; it needs selenium and chromium.
"""

from __future__ import annotations

import sys
import tempfile
from base64 import b64decode
from pathlib import Path

from whyflag.cli.demo import demo

DOCS = Path(__file__).resolve().parent
WIDTH, HEIGHT = 1262, 1180

sys.path.insert(0, str(DOCS.parent / "tests/report"))

from browser import open_browser  # noqa: E402


def main() -> None:
    """Make the picture anew."""
    with tempfile.TemporaryDirectory() as folder:
        demo(Path(folder))
        browser = open_browser(width=WIDTH, height=HEIGHT)
        try:
            browser.get((Path(folder) / "report.html").as_uri())
            box = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1}
            asked = {"captureBeyondViewport": True, "clip": box}
            taken = browser.execute_cdp_cmd("Page.captureScreenshot", asked)
        finally:
            browser.quit()
    path = DOCS / "images/report.png"
    path.write_bytes(b64decode(taken["data"]))
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")  # noqa: T201


if __name__ == "__main__":
    main()
