"""A picture of the page that ``setloss explore`` writes, taken with a headless Chromium.

Run ``python docs/figures/explore.py`` to write ``docs/figures/explore.png``.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from setloss.explore import write_page

SIZE = "1200,1380"


def take_picture(out: Path) -> None:
    """Write the page to a folder that goes away, and its picture to `out`."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("the picture needs chromium or google-chrome on the path")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = write_page(Path(folder) / "page.html")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}"]
        profile = f"--user-data-dir={folder}/profile"
        command = [chromium, *flags, profile, f"--screenshot={out}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    take_picture(Path(__file__).with_suffix(".png"))
