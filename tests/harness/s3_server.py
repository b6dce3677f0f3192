"""A real S3 server on loopback: moto's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from moto.server import ThreadedMotoServer
from s3fs import S3FileSystem

KEY, SECRET = "AKIATESTKEY", "test-secret-that-is-nowhere"


@contextmanager
def s3_server(*buckets: str) -> Iterator[dict[str, str]]:
    """A server with these buckets; yields the environment with which anyone finds it."""
    # A driver that talked to another server before is kept by its arguments, which are the same.
    S3FileSystem.clear_instance_cache()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        access = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
        client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **access)
        for bucket in buckets:
            client.create_bucket(Bucket=bucket)
        yield {
            # What s3fs reads in this process …
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            # … and what fsspec reads when it is imported, and gives to the workers with the driver.
            "FSSPEC_S3_ENDPOINT_URL": url,
            "FSSPEC_S3_KEY": KEY,
            "FSSPEC_S3_SECRET": SECRET,
        }
    finally:
        server.stop()
