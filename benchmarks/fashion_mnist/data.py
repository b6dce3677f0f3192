"""The four files of FashionMNIST: found, verified, and read into tensors."""

from __future__ import annotations

import gzip
import hashlib
import io
import socket
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from harness.contract import Dataset, HarnessError, UsageError

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"

SHA256 = {
    TRAIN_IMAGES: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    TRAIN_LABELS: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    TEST_IMAGES: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    TEST_LABELS: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
"""Of each file's content once decompressed: Debian compresses the same content anew, so that the
hashes of the compressed files differ from place to place."""

VALIDATION_IMAGES = 10_000

TORCHVISION_ROOT = Path("data")
TORCHVISION_RAW = Path("FashionMNIST", "raw")
DEBIAN_DIR = Path("/usr/share/datasets/fashion-mnist")
DOWNLOAD_TIMEOUT_S = 10.0

WAYS = (
    "Ways to get it: apt-get install dataset-fashion-mnist (Debian, Ubuntu); or, with internet, "
    "torchvision.datasets.FashionMNIST('data', download=True); or copy the four *-ubyte.gz files "
    "to a folder and give it with --data-dir."
)


@dataclass(frozen=True)
class Split:
    """``images``: uint8, (n, 28, 28). ``labels``: int64, (n,), from 0 to 9."""

    images: Tensor
    labels: Tensor


@dataclass(frozen=True)
class Splits:
    """50,000 to train on, 10,000 to choose by, and 10,000 that no searcher ever sees."""

    train: Split
    validation: Split
    test: Split


class _NotHereError(Exception):
    """A place lacks the files, or holds damaged ones; the message says which and how."""


def find(data_dir: Path | None) -> Dataset:
    """Find and verify the data: ``data_dir`` if given, or else torchvision's folder, Debian's
    package, and torchvision's download, in this order.

    Raises:
        UsageError: nowhere, or the files are damaged; it names every place tried and why not.
    """
    if data_dir is not None:
        try:
            return _at(data_dir, f"--data-dir {data_dir}")
        except _NotHereError as error:
            raise UsageError(f"--data-dir {data_dir}: {error}. {WAYS}") from None
    found = find_on_disk()
    if not isinstance(found, list):
        return found
    reasons = found
    try:
        _download(TORCHVISION_ROOT)
        return _at(TORCHVISION_ROOT, "torchvision's download")
    except _NotHereError as error:
        reasons.append(f"torchvision's download: {error}")
    tried = "\n".join(f"  {reason}" for reason in reasons)
    raise UsageError(f"FashionMNIST was not found:\n{tried}\n{WAYS}")


def find_on_disk() -> Dataset | list[str]:
    """The data in one of the places where it usually lies, verified, or why it is in none."""
    reasons = []
    for place, source in (
        (TORCHVISION_ROOT, "torchvision's folder"),
        (DEBIAN_DIR, "Debian's dataset-fashion-mnist"),
    ):
        try:
            return _at(place, source)
        except _NotHereError as error:
            reasons.append(f"{source} ({place}): {error}")
    return reasons


def load(dataset: Dataset, data_seed: int) -> Splits:
    """Read the verified files; ``data_seed`` draws which training images are for validation.

    Raises:
        HarnessError: the files are not there (on this node), or not what they were when found.
    """
    if dataset.path is None:
        raise HarnessError("FashionMNIST is read from files, and this dataset has no path")
    try:
        content = {name: _read_verified(dataset.path, name) for name in SHA256}
    except _NotHereError as error:
        raise HarnessError(
            f"FashionMNIST cannot be read on node {socket.gethostname()}: {error}; "
            "every node needs the data in the same place"
        ) from None
    labelled = Split(_images(content[TRAIN_IMAGES]), _labels(content[TRAIN_LABELS]))
    order = torch.randperm(len(labelled.labels), generator=torch.Generator().manual_seed(data_seed))
    chosen, rest = order[:VALIDATION_IMAGES], order[VALIDATION_IMAGES:]
    return Splits(
        train=Split(labelled.images[rest], labelled.labels[rest]),
        validation=Split(labelled.images[chosen], labelled.labels[chosen]),
        test=Split(_images(content[TEST_IMAGES]), _labels(content[TEST_LABELS])),
    )


def _at(place: Path, source: str) -> Dataset:
    """The data in a folder, or in torchvision's folder below it."""
    below = place / TORCHVISION_RAW
    folder = below if below.is_dir() else place
    digest = hashlib.sha256()
    for name in SHA256:
        digest.update(_read_verified(folder, name))
    return Dataset(path=folder.resolve(), source=source, sha256=digest.hexdigest())


def _read_verified(folder: Path, name: str) -> bytes:
    """A file's content, decompressed, if it is the right one."""
    plain, packed = folder / name, folder / f"{name}.gz"
    path = plain if plain.is_file() else packed
    try:
        content = path.read_bytes()
        if path == packed:
            content = gzip.decompress(content)
    except FileNotFoundError:
        raise _NotHereError(f"there is no {packed.name}") from None
    except OSError as error:
        # gzip's own BadGzipFile is one, without an errno.
        raise _NotHereError(
            f"{path.name} is damaged ({error})"
            if error.errno is None
            else f"{path.name} cannot be read ({error.strerror})"
        ) from None
    except (EOFError, zlib.error) as error:
        raise _NotHereError(f"{path.name} is damaged ({error})") from None
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[name]:
        raise _NotHereError(
            f"{path.name} is damaged: the SHA-256 of its content is {found[:16]}…, "
            f"not {SHA256[name][:16]}…"
        )
    return content


def _images(content: bytes) -> Tensor:
    # An IDX file: magic number, n, rows, columns (4 bytes each), then the pixels row by row.
    return torch.from_numpy(np.frombuffer(content, np.uint8, offset=16).copy()).view(-1, 28, 28)


def _labels(content: bytes) -> Tensor:
    # An IDX file: magic number, n (4 bytes each), then the labels.
    return torch.from_numpy(np.frombuffer(content, np.uint8, offset=8).astype(np.int64))


def _download(root: Path) -> None:
    """Have torchvision download the data into ``root``; only a whole download leaves anything."""
    from torchvision.datasets import FashionMNIST

    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root) as folder, _quiet(), _timeout():
            FashionMNIST(folder, download=True)
            target = root / TORCHVISION_RAW
            target.parent.mkdir(parents=True, exist_ok=True)
            Path(folder, TORCHVISION_RAW).replace(target)
    except (OSError, RuntimeError, EOFError, HTTPException) as error:
        # Not every one of these has a text.
        message = str(error) or type(error).__name__
        raise _NotHereError(message.splitlines()[0]) from None


@contextmanager
def _timeout() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(DOWNLOAD_TIMEOUT_S)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


@contextmanager
def _quiet() -> Iterator[None]:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        yield
