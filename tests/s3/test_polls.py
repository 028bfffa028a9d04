"""Requests of a catalogue refresh over a bucket, counted by the store."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from datasets.catalogue.live import Catalogue
from datasets.layout import pointer_path
from datasets.pointer import Pointer
from datasets.storage import open_storage
from tests.support.bucket import Bucket
from tests.support.pointers import synthetic_pointer
from tests.support.s3_requests import counted_requests

ALPHAS = 30


def publish(bucket: Bucket, pointer: Pointer) -> None:
    bucket.client.put_object(
        Bucket=bucket.name, Key=f"root/{pointer_path(pointer.alpha_id)}", Body=pointer.encode()
    )


def poll(bucket: Bucket, catalogue: Catalogue) -> tuple[bool, Counter[str]]:
    with counted_requests(bucket.server) as requests:
        changed = catalogue.refresh()
    return changed, requests


def test_a_poll_is_one_listing_and_one_read_for_each_pointer_that_changed(bucket: Bucket) -> None:
    for number in range(ALPHAS):
        publish(bucket, synthetic_pointer(number))
    catalogue = Catalogue(open_storage(bucket.url("root")))
    # One read of the missing index, which is tried for this many pointers.
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": ALPHAS + 1})
    for _ in range(2):
        assert poll(bucket, catalogue) == (False, {"LIST": 1})
    publish(bucket, replace(synthetic_pointer(7), name="Published again"))
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": 1})
    assert poll(bucket, catalogue) == (False, {"LIST": 1})
    bucket.client.delete_object(Bucket=bucket.name, Key=f"root/{pointer_path(synthetic_pointer(8).alpha_id)}")
    assert poll(bucket, catalogue) == (True, {"LIST": 1})
    assert len(catalogue.listing.pointers) == ALPHAS - 1
