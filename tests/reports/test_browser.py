"""The page in a real browser: Debian's chromium, driven headless."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from reports.build import build_page, build_report
from tests.reports.make_run import cell as cell_fields
from tests.reports.make_run import report as epoch
from tests.reports.make_run import study, write_cell, write_realistic_run, write_study

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SCREENSHOTS = os.environ.get("REPORT_SCREENSHOTS")
"""A folder for pictures to look at: ``make screenshots``."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        # Without a sandbox, as tests may run as root, where chromium has none.
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def realistic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    return build_report(write_realistic_run(folder, seeds=range(6)))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    runs = [
        write_realistic_run(folder / "one", ["random/fifo", "random/asha"], seeds=(0, 1)),
        write_realistic_run(folder / "two", ["pbt", "random/asha"], seeds=(0,), budget=90.0),
    ]
    return build_page(runs, folder / "page.html")


class Visit:
    """A page, with what it asked for and complained about."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page, self.requests, self.complaints = page, list[str](), list[str]()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(path.as_uri())
        self.requests.remove(path.as_uri())


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "layout"), [(375, "narrow"), (1440, "wide")])
@pytest.mark.parametrize("which", ["realistic", "several"])
def test_the_page_asks_for_nothing_and_never_scrolls_sideways(
    browser: Browser,
    request: pytest.FixtureRequest,
    which: str,
    width: int,
    layout: str,
    dark: bool,
) -> None:
    path: Path = request.getfixturevalue(which)
    page = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
    )
    visit = Visit(page, path)
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    assert visit.requests == []
    assert visit.complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.locator(f".{layout} svg").first
    assert shown.is_visible()
    assert page.locator("svg:visible").count() == page.locator(f".{layout} svg:visible").count()
    if SCREENSHOTS:
        theme = "dark" if dark else "light"
        page.screenshot(path=Path(SCREENSHOTS, f"{which}-{width}-{theme}.png"), full_page=True)
    page.close()


def first_column(page: Page, table: int = 0) -> list[str]:
    return page.locator("table.sortable").nth(table).locator("tbody tr > th").all_inner_texts()


def test_the_ranking_sorts(browser: Browser, realistic: Path) -> None:
    page = browser.new_page()
    visit = Visit(page, realistic)
    as_ranked = first_column(page)
    header = page.locator("table.sortable").first.get_by_role("button", name="strategy")
    header.click()
    assert first_column(page) == sorted(as_ranked)
    header.click()
    assert first_column(page) == sorted(as_ranked, reverse=True)
    score = page.locator("table.sortable").first.get_by_role("button", name="test_accuracy")
    score.click()
    assert first_column(page) == as_ranked[::-1]
    # With the keyboard too, and it is said which column orders the rows.
    score.press("Enter")
    assert first_column(page) == as_ranked
    sorted_by = page.locator("table.sortable").first.locator("th[aria-sort]")
    assert sorted_by.get_attribute("aria-sort") == "descending"
    assert sorted_by.inner_text().startswith("test_accuracy")
    assert visit.complaints == []
    page.close()


def test_what_is_not_known_stays_below(browser: Browser, tmp_path: Path) -> None:
    run = write_study(tmp_path / "run", study(["a", "none", "b"]))
    for name, score in (("a", 0.5), ("b", 0.7)):
        write_cell(run, cell_fields(name), [epoch(0, 1, score, 10.0, is_incumbent=True)])
    page = browser.new_page()
    Visit(page, build_report(run))
    button = page.locator("table.sortable").first.get_by_role("button", name="test_accuracy")
    for expected in (["a", "b", "none"], ["b", "a", "none"]):
        button.click()
        assert first_column(page) == expected
    page.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_the_views_of_a_figure_switch(browser: Browser, realistic: Path, scripts: bool) -> None:
    page = browser.new_page(java_script_enabled=scripts)
    Visit(page, realistic)
    views = page.locator("fieldset.views").first
    titles = views.locator(".wide svg > title")
    assert titles.count() >= 3

    def shown() -> list[bool]:
        return [views.locator(".wide svg").nth(i).is_visible() for i in range(3)]

    assert shown() == [True, False, False]
    views.get_by_text("regret", exact=True).click()
    assert shown() == [False, False, True]
    page.close()


def test_without_scripts_everything_can_be_read(browser: Browser, realistic: Path) -> None:
    page = browser.new_page(java_script_enabled=False)
    Visit(page, realistic)
    assert page.locator("table").first.is_visible()
    assert page.locator("thead button").count() == 0
    assert page.get_by_role("heading", name="Ranking").is_visible()
    page.close()


def test_on_paper_folds_are_open_and_all_views_are_shown(browser: Browser, realistic: Path) -> None:
    page = browser.new_page()
    Visit(page, realistic)
    closed = page.locator("details:not([open]):not(.data)").count()
    assert closed > 0
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open]):not(.data)").count() == 0
    views = page.locator("fieldset.views").first.locator(".wide svg")
    assert all(views.nth(i).is_visible() for i in range(views.count()))
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open]):not(.data)").count() == closed
    assert len(page.pdf()) > 20_000
    page.close()


def test_data_can_be_saved(browser: Browser, realistic: Path) -> None:
    page = browser.new_page()
    Visit(page, realistic)
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    with page.expect_download() as saved:
        page.get_by_role("link", name="score.csv").click()
    text = Path(saved.value.path()).read_text()
    assert saved.value.suggested_filename == "score.csv"
    assert text.startswith("strategy,held_device_seconds,validation,low,high,test,seeds\n")
    page.close()


def test_a_reader_of_screens_finds_its_way(browser: Browser, several: Path) -> None:
    page = browser.new_page()
    Visit(page, several)
    assert page.locator("h1").count() == 1
    levels = page.evaluate(
        "Array.from(document.querySelectorAll('h1,h2,h3,h4,h5'), h => +h.tagName[1])"
    )
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    unnamed = page.evaluate(
        "Array.from(document.querySelectorAll('svg,[role=region],nav,fieldset'))"
        ".filter(e => !(e.ariaLabel || e.getAttribute('aria-labelledby') ||"
        " e.querySelector('legend'))).length"
    )
    assert unnamed == 0
    page.close()
