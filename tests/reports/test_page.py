"""The page, above all under ugly data: it is made, says what is wrong, and runs nothing."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from harness.contract import UsageError
from harness.contract.records import BenchmarkRecord, DevicesRecord
from reports.analysis import analyse
from reports.build import build_page, build_report
from reports.merge import group_runs
from reports.page.render import prose, render_page
from reports.store import cell_folder
from tests.reports.make_run import (
    cell,
    end,
    report,
    scored_run,
    study,
    write_cell,
    write_realistic_run,
    write_study,
)

VOID = {"meta", "link", "br", "wbr", "img", "hr", "input"}


class Page(HTMLParser):
    """The page's elements, its visible text, and its table rows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        self.text = re.sub(r"\s+", " ", "".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page_of(run: Path) -> Page:
    path = build_report(run)
    assert path == run / "report.html"
    page = Page(path.read_text(encoding="utf-8"))
    assert page.open == []
    return page


@pytest.fixture(scope="module")
def realistic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_realistic_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def page(realistic: Path) -> Page:
    return page_of(realistic)


def test_the_page_is_whole_and_stands_alone(realistic: Path, page: Page) -> None:
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    anchors = {a["href"] for a in page.all("a") if "download" not in a}
    assert anchors <= {f"#{name}" for name in ids} | {
        "results.parquet", "summary.json", "study.json",
    }  # fmt: skip
    assert page.all("script") == [{}]
    for tag, attributes in page.elements:
        assert tag not in {"link", "img", "iframe", "object", "base", "form"}
        assert not any(name.startswith("on") or name == "src" for name in attributes)
    html = (realistic / "report.html").read_text()
    assert set(re.findall(r"https?://[^\s\"'<)]+", html)) == {
        "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink",
    }  # fmt: skip
    assert "@import" not in html
    policy = next(m["content"] for m in page.all("meta") if "http-equiv" in m)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    script = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert len(html) < 3_000_000


def test_the_page_is_accessible(page: Page) -> None:
    assert page.all("html") == [{"lang": "en"}]
    assert all("scope" in header for header in page.all("th"))
    assert all(svg["role"] == "img" and svg["aria-labelledby"] for svg in page.all("svg"))
    regions = [d for d in page.all("div") if d.get("class") == "scroll"]
    assert len(regions) == len(page.all("table"))
    assert all(r["tabindex"] == "0" and r["aria-label"] for r in regions)


@pytest.mark.usefixtures("page")
def test_the_page_is_the_same_each_time(realistic: Path) -> None:
    first = (realistic / "report.html").read_bytes()
    assert build_report(realistic).read_bytes() == first


def test_the_page_tells_what_a_reader_asks(page: Page) -> None:
    text = page.text
    assert "mean of 3 seeds (95 % t-interval" in text
    assert "With fewer than 6 seeds no significance can be claimed" in text
    assert "400 core-seconds per strategy and seed" in text
    assert "python -m harness run --strategies all" in text
    assert "stopping variant" in text
    assert "told to Optuna and HyperOpt as complete" in text
    assert "the population of 4 is small" in text
    assert '"reduction_factor": 3' in text
    assert "GPU-" not in text


def test_one_seed_claims_nothing(tmp_path: Path) -> None:
    text = page_of(write_realistic_run(tmp_path, ["random/fifo", "pbt"], seeds=(5,))).text
    assert "One seed cannot separate strategies" in text
    assert "One seed: no band." in text
    assert "t-interval" not in text.split("Notes")[0]


def test_gpus_are_counted_in_gpu_hours(tmp_path: Path) -> None:
    devices = DevicesRecord(
        kind="GPU", model="H200", slots=8, workers_per_trial=1, devices_per_worker=0.5
    )
    write_study(tmp_path, study(devices=devices, budget_device_seconds=36000.0))
    write_cell(tmp_path, cell(), [report(0, 1, 0.5, 3600.0), end(0, 1, "cut")])
    text = page_of(tmp_path).text
    assert "10.0 GPU-hours per strategy and seed" in text
    assert not re.search(r"\bcore", text)


EVIL = '<script>alert("1")</script>'


def test_foreign_text_is_shown_not_run(tmp_path: Path) -> None:
    name = f"{EVIL}'&--><style>"
    write_study(tmp_path, study([name, "x"], command=EVIL, machine={EVIL: EVIL}))
    fields = cell(name, reason=EVIL, warnings=[EVIL], settings={EVIL: [EVIL]})
    events = [
        report(0, 1, 0.5, 1.0, config={"lr": EVIL, "batch": EVIL}),
        end(0, 1, "failed", reason=EVIL),
    ]
    write_cell(tmp_path, fields, events)
    write_cell(tmp_path, cell("x", status="failed", reason=EVIL), [])
    page = page_of(tmp_path)
    assert page.all("script") == [{}]
    assert len(page.all("style")) == 1
    assert EVIL in page.text
    assert "<script>alert" not in (tmp_path / "report.html").read_text()


def test_missing_and_damaged_and_failed_cells_are_shown(tmp_path: Path) -> None:
    write_realistic_run(tmp_path, ["a", "b", "c", "d"], seeds=(0, 1))
    damaged = cell_folder(tmp_path, "b", 0) / "events.jsonl"
    damaged.write_bytes(damaged.read_bytes()[:100])
    (cell_folder(tmp_path, "c", 1) / "cell.json").unlink()
    events = [end(0, 0, "failed", reason="out of memory")]
    write_cell(tmp_path, cell("d", 0, status="failed", reason="all trials failed"), events)
    text = page_of(tmp_path).text
    assert "b, seed 0: events.jsonl is truncated in line 1." in text
    assert "c, seed 1: not finished: its folder has no cell.json." in text
    assert "d, seed 0 failed: all trials failed." in text
    assert "out of memory" in text
    assert "Not compared, having a score for fewer seeds: " in text


def test_retrainings_that_are_not_there_are_told(tmp_path: Path) -> None:
    run = write_realistic_run(tmp_path, ["a", "b"], [0])
    assert "has no retrainings" not in page_of(run).text
    write_study(run, study(["a", "b"], [0], study={"retrain": 2}))
    (cell_folder(run, "b", 0) / "retrained.json").write_text("{")
    text = page_of(run).text
    assert "a, seed 0 without retrainings: there is no retrained.json." in text
    assert "b, seed 0 without retrainings: retrained.json is damaged: not valid JSON" in text


def test_no_cell_at_all(tmp_path: Path) -> None:
    text = page_of(write_study(tmp_path, study(["a", "b"]))).text
    assert "No strategy has a finite validation_accuracy" in text
    assert "No trial reported a finite score." in text
    assert "No epoch was reported." in text
    assert "No cell held a device." in text


CASES: dict[str, tuple[dict[str, Any], list]] = {
    "no report": ({}, []),
    "nothing held": ({"held_device_seconds": 0.0, "ledger": []}, []),
    "all failed": (
        {"status": "failed", "reason": "the same failure 3 times"},
        [end(i, 0, "failed", reason="boom") for i in range(3)],
    ),
    "only NaN": ({}, [report(0, 1, math.nan, 5.0, "diverged"), end(0, 1, "diverged")]),
    "only infinite": ({}, [report(0, 1, math.inf, 5.0, "diverged"), end(0, 1, "diverged")]),
    "one trial": ({}, [report(0, 1, 0.5, 5.0, test_score=None), end(0, 1, "cut")]),
    "a score at time 0": ({}, [report(0, 1, 0.5, 0.0), end(0, 1, "cut")]),
    "equal scores": ({}, [report(i, 1, 0.5, float(i)) for i in range(5)]),
    "huge scores": ({}, [report(0, 1, 1e300, 1.0), report(1, 1, -1e300, 2.0)]),
    "ASHA without a trial": ({"rungs": [1, 3]}, []),
}


@pytest.mark.parametrize(
    ("case", "mode"), [(case, ("min", "max")[i % 2]) for i, case in enumerate(CASES)]
)
@pytest.mark.filterwarnings("error")
def test_ugly_cells_make_a_page(tmp_path: Path, case: str, mode: Any) -> None:
    fields, events = CASES[case]
    write_study(tmp_path, study(["a"], mode=mode))
    write_cell(tmp_path, cell("a", **fields), events)
    page = page_of(tmp_path)
    assert " nan" not in page.text.lower().replace("nan and ±∞", "").replace("nan, ", "")


@pytest.mark.parametrize("hours", [1e-6, 1e6])
def test_any_budget_makes_a_page(tmp_path: Path, hours: float) -> None:
    held = hours * 3600
    write_study(tmp_path, study(["图/🙂", "b" * 400], budget_device_seconds=held))
    for name in ("图/🙂", "b" * 400):
        events = [report(0, 1, 0.5, held / 2), end(0, 1, "cut")]
        write_cell(tmp_path, cell(name, held_device_seconds=held), events)
    assert "图/🙂" in page_of(tmp_path).text


def test_a_benchmark_without_a_test_metric_is_ranked_by_validation(tmp_path: Path) -> None:
    record = study(["a"])
    benchmark = BenchmarkRecord(**record.benchmark.model_dump() | {"test_metric": None})
    write_study(tmp_path, record.model_copy(update={"benchmark": benchmark}))
    write_cell(tmp_path, cell("a"), [report(0, 1, 0.5, 1.0, test_score=None), end(0, 1, "cut")])
    text = page_of(tmp_path).text
    assert "a has the only validation_accuracy of an incumbent: 0.5000." in text
    assert "test_accuracy" not in text


def test_eighty_strategies(tmp_path: Path) -> None:
    names = [f"searcher-{i}/scheduler-{i % 7}" for i in range(80)]
    write_study(tmp_path, study(names, [0, 1]))
    for i, name in enumerate(names):
        for seed in (0, 1):
            score = 0.5 + i / 1000 + seed / 100
            events = [report(0, 1, score, 50.0, is_incumbent=True), end(0, 1, "cut")]
            write_cell(tmp_path, cell(name, seed), events)
    page = page_of(tmp_path)
    assert "The 12 best of 80 strategies; the CSV has all." in page.text
    assert "The first 200 of 3,160; all of them: pairs.csv" in page.text
    assert (tmp_path / "report.html").stat().st_size < 3_000_000


def test_a_page_about_several_studies(tmp_path: Path) -> None:
    """Two runs of one question are one study; a third, of another budget, is another."""
    one = write_realistic_run(tmp_path / "one", ["random/fifo"], seeds=(0, 1))
    two = write_realistic_run(tmp_path / "two", ["random/asha"], seeds=(0, 1))
    other = write_realistic_run(tmp_path / "other", ["pbt"], seeds=(3,), budget=90.0)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    path = build_page([one, two, other], tmp_path / "pages" / "all.html")
    page = Page(path.read_text(encoding="utf-8"))
    assert page.open == []
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    anchors = {a["href"] for a in page.all("a") if "download" not in a}
    assert {name for name in anchors if name and name.startswith("#")} <= {f"#{i}" for i in ids}
    assert len(page.all("h1")) == 1
    assert "2 studies" in page.text
    assert "random/fifo and random/asha" in page.text or "random/asha and random/fifo" in page.text
    assert "pbt has the only test_accuracy of an incumbent" in page.text
    assert "../one/study.json" in anchors
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_page_about_several_runs_and_what_can_be_wrong(tmp_path: Path) -> None:
    run = write_realistic_run(tmp_path / "run", ["pbt"], seeds=(0,))
    with pytest.raises(UsageError, match="is given twice"):
        build_page([run, tmp_path / "." / "run"], tmp_path / "page.html")
    with pytest.raises(UsageError, match="is a folder; give the file to write"):
        build_page([run], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write --out"):
        build_page([run], tmp_path / "file" / "page.html")
    with pytest.raises(UsageError, match="is not a folder"):
        build_page([run, tmp_path / "none"], tmp_path / "page.html")


def test_the_journal_is_the_record_of_the_study(tmp_path: Path) -> None:
    record = study(["a"]).model_copy(
        update={"goal": f"save {EVIL}", "decisions": ["use ASHA", "look at PBT again"]}
    )
    write_study(tmp_path, record)
    write_cell(tmp_path, cell("a"), [report(0, 1, 0.5, 1.0), end(0, 1, "cut")])
    text = page_of(tmp_path).text
    assert f"Goal: save {EVIL}" in text
    assert "use ASHA" in text and "look at PBT again" in text
    assert "No goal and no decision" not in text


def test_a_failure_leads_to_its_log(tmp_path: Path) -> None:
    write_study(tmp_path, study(["a/b"]))
    events = [end(0, 2, "failed", reason="boom", config={"lr": 0.1, "batch": 32})]
    folder = write_cell(tmp_path, cell("a/b"), events)
    assert "log" not in {a["href"] for a in page_of(tmp_path).all("a")}
    (folder / "log.txt").write_text("boom")
    page = page_of(tmp_path)
    assert "cells/a-b--seed-0/log.txt" in {a["href"] for a in page.all("a")}
    assert "lr = 0.1, batch = 32" in page.text


def test_every_figure_says_how_to_read_it_and_gives_its_data(page: Page, realistic: Path) -> None:
    html = (realistic / "report.html").read_text()
    figures = re.findall(r"<figure>(.*?)</figure>", html, flags=re.DOTALL)
    titles = [re.findall(r"<title[^>]*>(.*?)</title>", figure)[0] for figure in figures]
    assert titles[:4] == [
        "Best validation score vs compute", "Best validation score vs wall-clock time",
        "Regret vs compute", "Epochs run by rung, as a share of run-to-completion",
    ]  # fmt: skip
    assert "Searcher effect and scheduler effect" in titles
    assert "Device time by kind of work" in titles
    assert "Configurations by score" in titles
    assert "Validation against test score" in titles
    assert 1 <= sum(title.startswith("Timeline of ") for title in titles) <= 2
    for figure in figures:
        assert re.search(r'<p class="hint">[^<]{20,}</p>', figure)
        assert len(re.findall(r"<svg ", figure)) == len(re.findall(r"<desc ", figure)) == 2
        assert re.search(r"<details.*<table.*</details>", figure, flags=re.DOTALL)
        (data,) = re.findall(r'href="data:text/csv;charset=utf-8;base64,([^"]+)"', figure)
        assert base64.b64decode(data).count(b"\n") > 1


def test_code_in_sentences_is_code_and_nothing_else() -> None:
    assert str(prose("see `a <b>`, or <i>")) == "see <code>a &lt;b&gt;</code>, or &lt;i&gt;"
    assert str(prose("one ` alone <")) == "one ` alone &lt;"


@pytest.mark.filterwarnings("error:constrained_layout not applied")
def test_long_names_leave_room_for_the_figures() -> None:
    scores = [0.8, 0.81, 0.82, 0.83, 0.84, 0.85]
    run = scored_run(**{f"optuna/asha-variant-{i}!history-lost": scores for i in range(18)})
    (group,) = group_runs([run])
    html = render_page([(group, analyse(group.run))], Path("report.html"))
    assert html.count("variant-17!history-lost") > 1
