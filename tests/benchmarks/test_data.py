"""FashionMNIST's files: found, verified, split."""

from __future__ import annotations

import gzip
import shutil
from collections import Counter
from collections.abc import Callable
from http.client import IncompleteRead
from pathlib import Path

import pytest
import torch

from benchmarks.fashion_mnist import data
from harness.contract import Dataset, HarnessError, UsageError

IMAGES = f"{data.TRAIN_IMAGES}.gz"


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    try:
        return data.find(data.DEBIAN_DIR)
    except UsageError as error:
        pytest.skip(str(error))


@pytest.fixture
def copy(dataset: Dataset, tmp_path: Path) -> Path:
    assert dataset.path is not None
    for name in data.SHA256:
        packed = dataset.path / f"{name}.gz"
        if packed.exists():
            shutil.copy(packed, tmp_path)
        else:
            (tmp_path / f"{name}.gz").write_bytes(
                gzip.compress((dataset.path / name).read_bytes(), 1)
            )
    return tmp_path


def test_the_split(dataset: Dataset) -> None:
    splits = data.load(dataset, data_seed=0)
    sizes = [len(s.labels) for s in (splits.train, splits.validation, splits.test)]
    assert sizes == [50_000, 10_000, 10_000]
    labelled = torch.cat([splits.train.labels, splits.validation.labels])
    assert torch.bincount(labelled).tolist() == [6_000] * 10
    assert torch.bincount(splits.test.labels).tolist() == [1_000] * 10
    # FashionMNIST repeats a few images within its training set, so images are counted, not a set.
    everything = Counter(image.numpy().tobytes() for image in splits.train.images)
    everything.update(image.numpy().tobytes() for image in splits.validation.images)
    content = data._read_verified(data.DEBIAN_DIR, data.TRAIN_IMAGES)
    whole = Counter(image.numpy().tobytes() for image in data._images(content))
    assert everything == whole, "the split must be disjoint and complete"
    again, other = data.load(dataset, data_seed=0), data.load(dataset, data_seed=1)
    assert torch.equal(splits.validation.images, again.validation.images)
    assert not torch.equal(splits.validation.images, other.validation.images)
    assert torch.equal(splits.test.images, other.test.images)


def test_plain_files_torchvisions_folder_and_gz_are_the_same_data(
    dataset: Dataset, copy: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("root")
    raw = root / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    for name in data.SHA256:
        (raw / name).write_bytes(gzip.decompress((copy / f"{name}.gz").read_bytes()))
    assert data.find(root).sha256 == data.find(copy).sha256 == dataset.sha256


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100_000])


def flip(path: Path) -> None:
    content = bytearray(gzip.decompress(path.read_bytes()))
    content[5_000] ^= 1
    path.write_bytes(gzip.compress(bytes(content), 1))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, "is damaged"),
        (flip, "is damaged: the SHA-256 of its content is"),
        (lambda path: path.write_bytes(b"<html>404</html>"), "is damaged"),
        (lambda path: path.write_bytes(b""), "is damaged"),
        (lambda path: path.unlink(), "there is no"),
    ],
)
def test_damaged_data_is_named(copy: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(copy / IMAGES)
    with pytest.raises(UsageError, match=message) as caught:
        data.find(copy)
    assert IMAGES in str(caught.value)
    for way in ("apt-get install", "torchvision.datasets", "copy the four"):
        assert way in str(caught.value)


def test_an_empty_folder_and_a_file_for_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no {IMAGES}.*apt-get install"):
        data.find(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=rf"{IMAGES} cannot be read \(Not a directory\)"):
        data.find(tmp_path / "file")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError("no route to host\nand more"), "no route to host"),
        (EOFError(), "EOFError"),
        (IncompleteRead(b""), "IncompleteRead(0 bytes read)"),
    ],
)
def test_a_download_that_fails_says_why_and_leaves_nothing(
    error: Exception, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: str, download: bool) -> None:
        Path(folder, "half").touch()
        raise error

    monkeypatch.setattr("torchvision.datasets.FashionMNIST", fail)
    with pytest.raises(data._NotHereError) as caught:
        data._download(tmp_path)
    assert str(caught.value) == reason
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_works_one_error_names_all_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(root: Path) -> None:
        raise data._NotHereError("no route to host")

    monkeypatch.setattr(data, "TORCHVISION_ROOT", tmp_path / "data")
    monkeypatch.setattr(data, "DEBIAN_DIR", tmp_path / "debian")
    monkeypatch.setattr(data, "_download", offline)
    with pytest.raises(UsageError) as caught:
        data.find(None)
    for way in ("torchvision's folder", "no route to host", "apt-get install", "--data-dir"):
        assert way in str(caught.value)


def test_a_node_without_the_data_says_so(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"cannot be read on node .*every node needs the data"):
        data.load(Dataset(tmp_path, "", ""), 0)
    with pytest.raises(HarnessError, match="no path"):
        data.load(Dataset(None, "", ""), 0)
