"""Credentials in URLs are never shown and never kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cluster.messages import EpochError
from harness.cluster.storage import open_storage
from harness.contract import UsageError
from harness.redaction import redacted, redacted_about, redacted_data
from harness.tuning.results import Failure
from tests.harness.test_run_command import run


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("s3://AKIA1:abc/de+f@bucket/hpo", "s3://***@bucket/hpo"),
        ("sftp://alice:p@ss@host/x and more", "sftp://***@host/x and more"),
        ("two: 'ftp://a:b@h', \"ftp://c:d@h\"", "two: 'ftp://***@h', \"ftp://***@h\""),
        ("git+https://ghp_x@github.com/a/b", "git+https://***@github.com/a/b"),
        ("https://acc/c?sv=1&sig=abc%3D&se=2", "https://acc/c?sv=1&sig=***&se=2"),
        ("https://b/o?X-Amz-Signature=00ff", "https://b/o?X-Amz-Signature=***"),
        # No secrets:
        ("sftp://alice@host/x", "sftp://alice@host/x"),
        ("abfss://container@account/x", "abfss://container@account/x"),
        ("http://127.0.0.1:8265/jobs?page=2", "http://127.0.0.1:8265/jobs?page=2"),
        ("mail a@b.c, ratio 1:2", "mail a@b.c, ratio 1:2"),
    ],
)
def test_what_is_hidden(given: str, shown: str) -> None:
    assert redacted(given) == shown
    assert redacted(shown) == shown
    assert redacted_data({"a": [given, 1, None]}) == {"a": [shown, 1, None]}


def test_a_drivers_error_may_quote_the_credentials_alone() -> None:
    url = "s3://AKIA1:abc%2Fde@bucket"
    text = 'Invalid bucket name "AKIA1:abc%2Fde@bucket", user AKIA1, password abc/de'
    assert redacted_about(url, text) == 'Invalid bucket name "***@bucket", user ***, password ***'
    assert redacted_about("s3://bucket", "bucket is not there") == "bucket is not there"


def test_failures() -> None:
    text = "OSError: cannot read ftp://me:secret@host/table"
    for failure in (Failure(text, text, 0.0), EpochError(text).failure):
        assert "secret" not in repr(failure)
    assert "secret" not in str(EpochError(text, text))


def test_a_storage_that_cannot_be_written() -> None:
    with pytest.raises(UsageError) as caught:
        open_storage("nosuch://me:secret@host/hpo")
    assert "--storage nosuch://***@host/hpo cannot be written" in str(caught.value)
    assert "secret" not in repr(caught.value) and caught.value.__cause__ is None
    with pytest.raises(UsageError, match="credentials that are not shown in place of"):
        open_storage("nosuch://***@host/hpo")


def test_nothing_of_a_run_has_them(tmp_path: Path) -> None:
    """The virtual executor: what is told and what is kept is the same code for both."""
    url = "s3://AKIA1:top-secret@bucket/curves"
    strategies = ["--strategies", "random/fifo", "--executor", "virtual", "--budget", 0.01]
    noted = ["--goal", f"is {url} good?", "--decision", f"yes, {url}", "--out", tmp_path / "run"]
    done = run("--benchmark", "noisy_quadratic", *strategies, *noted)
    assert done.returncode == 0, done.stderr
    assert "top-secret" not in done.stdout + done.stderr
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert {"report.html", "study.json", "summary.json"} <= {path.name for path in files}
    assert [path for path in files if b"top-secret" in path.read_bytes()] == []
    assert json.loads((tmp_path / "run" / "study.json").read_text())["goal"] == (
        "is s3://***@bucket/curves good?"
    )
