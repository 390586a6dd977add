"""Photograph the studio into this folder: ``python docs/assets/photograph.py``.

Needs the extras ``serve`` and ``browser``, and Chromium, as ``make test-service`` does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent


def edit(page: Page) -> None:
    """Show the editor with its plan, costs included."""
    page.wait_for_selector(".right .calendar")
    page.wait_for_selector(".right:not([aria-busy])")


def watch(page: Page) -> None:
    """Show what the demo's listeners do, after they have been at it for a while."""
    page.get_by_role("link", name="Watch").click()
    page.wait_for_timeout(20_000)


def main() -> None:
    """Serve the demo station and photograph its two pages."""
    command = [sys.executable, "-m", "lastswitch", "serve", "--demo", "--port", "8765"]
    served = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None
    try:
        said = (re.search(r"studio: (\S+)", line) for line in served.stdout)
        address = next(found[1] for found in said if found)
        flags = ["--no-sandbox"] if os.getuid() == 0 else []
        with sync_playwright() as started:
            browser = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--disable-gpu", *flags]
            )
            page = browser.new_page(viewport={"width": 1180, "height": 830})
            page.goto(address)
            for show in (edit, watch):
                show(page)
                page.screenshot(path=HERE / f"studio-{show.__name__}.png")
            browser.close()
    finally:
        served.terminate()
        served.wait(30)


if __name__ == "__main__":
    main()
