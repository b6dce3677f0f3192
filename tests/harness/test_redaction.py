"""No secret reaches a log, a result file, the report or the terminal."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cluster.messages import EpochError
from harness.cluster.ray_cluster import RayCluster
from harness.cluster.storage import open_storage
from harness.contract import UsageError
from harness.limits import SAME_FAILURE_EXIT_CODE
from harness.redaction import RedactingStream, redacted, redacted_about, redacted_data
from harness.tuning.results import Failure
from reports.store import read_cell
from tests.harness.leaking_benchmark import PASSWORD, URL
from tests.harness.test_cluster import assert_accounted, ends

LEAKING = Path(__file__).with_name("leaking_benchmark.py")
TOKEN = "tok-3141592653589793"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"cannot write {URL}: denied", "cannot write s3://***@bucket.example/run: denied"),
        ("http://token@host:80/x?a=1", "http://***@host:80/x?a=1"),
        ("gs://bucket/a@b and me@host.example", "gs://bucket/a@b and me@host.example"),
        (
            "https://h/x?sig=ab&X-Amz-Signature=abc&n=1",
            "https://h/x?sig=***&X-Amz-Signature=***&n=1",
        ),
        ("{'AWS_SECRET_ACCESS_KEY': 'a b', 'N': '1'}", "{'AWS_SECRET_ACCESS_KEY': ***, 'N': '1'}"),
        ("WANDB_API_KEY=abcdef, lr=0.1", "WANDB_API_KEY=***, lr=0.1"),
        ('{"password": "it\'s", "lr": 1}', '{"password": ***, "lr": 1}'),
        ("Authorization: Bearer abcdefghijk.lmn", "Authorization: Bearer ***"),
        ("pushed with ghp_abcdefghijklmnop0123 to main", "pushed with *** to main"),
        ("KeyError: 'momentum'", "KeyError: 'momentum'"),
        ("tokenizer: bpe, keys=3, monkey: 1", "tokenizer: bpe, keys=3, monkey: 1"),
        ("s3://AKIA1:abc/de+f@bucket/hpo", "s3://***@bucket/hpo"),
        ("sftp://alice:p@ss@host/x and more", "sftp://***@host/x and more"),
        ("two: 'ftp://a:b@h', \"ftp://c:d@h\"", "two: 'ftp://***@h', \"ftp://***@h\""),
        ("git+https://ghp_x@github.com/a/b", "git+https://***@github.com/a/b"),
        ("https://acc/c?sv=1&sig=abc%3D&se=2", "https://acc/c?sv=1&sig=***&se=2"),
        ("https://b/o?X-Amz-Signature=00ff", "https://b/o?X-Amz-Signature=***"),
        # No secrets in URLs:
        ("sftp://alice@host/x", "sftp://alice@host/x"),
        ("abfss://container@account/x", "abfss://container@account/x"),
        ("http://127.0.0.1:8265/jobs?page=2", "http://127.0.0.1:8265/jobs?page=2"),
        ("mail a@b.c, ratio 1:2", "mail a@b.c, ratio 1:2"),
    ],
)
def test_what_is_hidden_and_what_is_not(text: str, shown: str) -> None:
    assert redacted(text) == shown
    assert redacted(redacted(text)) == redacted(text)


def test_values_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("SSH_PRIVATE_KEY", "/home/me/.ssh/id_rsa")
    monkeypatch.setenv("API_KEY", "lr")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "/bPxRfiCYEXAMPLE/K7MDENG")
    text = f"header {TOKEN!r}, file /home/me/.ssh/id_rsa, lr=0.1"
    assert redacted("got /bPxRfiCYEXAMPLE/K7MDENG") == "got ***", "it begins as a path does"
    assert redacted(text) == "header '***', file /home/me/.ssh/id_rsa, lr=0.1"


def test_data_keeps_its_shape() -> None:
    data = {"storage": URL, "password": "x", "n": 3, "list": [URL, None], "key": {"lr": 0.1}}
    assert redacted_data(data) == {
        "storage": "s3://***@bucket.example/run", "password": "***", "n": 3,
        "list": ["s3://***@bucket.example/run", None], "key": {"lr": 0.1},
    }  # fmt: skip


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


def test_a_stream_hides_what_comes_in_pieces() -> None:
    target = io.StringIO()
    stream = RedactingStream(target)
    for piece in ("at s3://me:pass", "word@host\nand pass", "word=x"):
        stream.write(piece)
    stream.close()
    assert target.getvalue() == "at s3://***@host\nand password=***"


@pytest.mark.cluster
@pytest.mark.parametrize("executor", ["virtual", "cluster"])
def test_a_study_whose_trainings_tell_everything(
    tmp_path: Path, cluster: RayCluster, executor: str
) -> None:
    """The same failure over and over ends the cell, and has an exit code of its own."""
    out = tmp_path / "study"
    words: list[object] = [
        "--executor", executor, "--strategies", "random/fifo", "--benchmark", "leaking",
        "--benchmark-file", LEAKING, "--benchmark-option", "faults=none", "--seeds", 1,
        "--budget", 0.05, "--max-same-failures", 2, "--workers-per-trial", 1, "--out", out,
        "--address", cluster.address, "--goal", f"see whether {URL} is hidden",
    ]  # fmt: skip
    if executor == "cluster":
        words += ["--storage", f"file://{tmp_path}/storage"]
    done = subprocess.run(
        [sys.executable, "-m", "harness", "run", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "MY_SERVICE_TOKEN": TOKEN, "PYTHONPATH": str(Path.cwd())},
    )
    told = done.stdout + done.stderr
    assert done.returncode == SAME_FAILURE_EXIT_CODE, told
    assert "ALERT: random/fifo seed 0 was ended early" in told
    assert "RuntimeError: no access to s3://***@bucket.example/run" in told
    cell = read_cell(out / "cells" / "random-fifo--seed-0")
    assert_accounted(cell)
    assert cell.record.status == "failed"
    assert cell.record.reason.startswith("the same failure 2 times in a row: RuntimeError: no acc")
    assert len(ends(cell, "failed")) == 2
    assert cell.record.held_device_seconds < cell.record.budget_device_seconds
    files = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert out / "report.html" in files
    assert any(b"no access to s3://***@bucket.example" in content for content in files.values())
    for secret in (PASSWORD, TOKEN):
        assert secret not in told
        assert [path for path, content in files.items() if secret.encode() in content] == []
