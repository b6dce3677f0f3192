"""The page in a real browser: it never scrolls sideways, and asks for nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from reports.build import build_report
from tests.reports.make_run import write_realistic_run

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

# Headless windows have a least width, a frame has none.
FRAME = """<!doctype html><iframe id="f" src="{page}" style="width:{width}px;height:900px"></iframe>
<p id="found">not loaded</p>
<script>
onload = () => {{
  const d = document.getElementById("f").contentDocument;
  for (const fold of d.querySelectorAll("details")) fold.open = true;
  const shown = d.querySelectorAll(".narrow")[0].getClientRects().length > 0;
  document.getElementById("found").textContent =
    [d.documentElement.clientWidth, d.documentElement.scrollWidth, shown ? "narrow" : "wide",
     document.getElementById("f").contentWindow.performance.getEntriesByType("resource").length
    ].join(" ");
}};
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")
@pytest.mark.parametrize(("width", "layout"), [(375, "narrow"), (1440, "wide")])
def test_the_page_never_scrolls_sideways(tmp_path: Path, width: int, layout: str) -> None:
    names = ["random/asha", "unbreakable" * 30, "pbt"]
    page = build_report(write_realistic_run(tmp_path / "run", names, seeds=(0,)))
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(page=page.as_uri(), width=width))
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            "--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}",
            "--window-size=1600,1000", frame.as_uri(),
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    found = re.search(r'<p id="found">(.*?)</p>', done.stdout)
    assert found is not None, done.stderr
    inner, scrolled, shown, requests = found[1].split()
    assert int(scrolled) <= int(inner) <= width
    assert shown == layout
    assert requests == "0"
