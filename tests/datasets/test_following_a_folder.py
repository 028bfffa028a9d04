"""Following a local folder by its modification time, without listing it on every refresh."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from datasets.catalogue.live import Catalogue
from datasets.layout import CATALOG, INDEX, pointer_path
from datasets.pointer import Pointer
from datasets.publication.pointers import compare_and_swap
from datasets.storage import open_storage
from schemas.errors import StorageUnavailable
from tests.support.pointers import synthetic_pointer
from tests.support.waiting import eventually

ALPHAS = 5
HOUR = 3600.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    storage = open_storage(tmp_path)
    for number in range(ALPHAS):
        storage.put(pointer_path(synthetic_pointer(number).alpha_id), synthetic_pointer(number).encode())
    age(tmp_path)
    return tmp_path


def age(root: Path) -> None:
    """Set the folder's modification time to a minute ago."""
    then = time.time() - 60
    os.utime(root / CATALOG, (then, then))


def publish(root: Path, pointer: Pointer) -> None:
    compare_and_swap(open_storage(root), pointer.alpha_id, lambda _: pointer)


def test_a_refresh_without_changes_lists_no_pointers(folder: Path) -> None:
    catalogue = Catalogue(open_storage(folder), HOUR)
    assert catalogue.refresh()
    status = (folder / CATALOG).stat()
    publish(folder, replace(synthetic_pointer(1), name="Published again"))
    # Without a trace in the folder's status, only listing it again would tell.
    os.utime(folder / CATALOG, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not catalogue.refresh()


def test_a_publication_is_seen_by_the_next_refresh(folder: Path) -> None:
    catalogue = Catalogue(open_storage(folder), HOUR)
    catalogue.refresh()
    publish(folder, replace(synthetic_pointer(1), name="Published again"))
    assert catalogue.refresh()
    assert {pointer.name for pointer in catalogue.listing.pointers} >= {"Published again"}
    assert not (folder / INDEX).exists(), "a folder needs no index"


def test_two_publications_within_one_clock_tick_are_both_seen(folder: Path) -> None:
    catalogue = Catalogue(open_storage(folder), HOUR)
    publish(folder, replace(synthetic_pointer(1), name="The first"))
    status = (folder / CATALOG).stat()
    assert catalogue.refresh()
    publish(folder, replace(synthetic_pointer(2), name="The second"))
    os.utime(folder / CATALOG, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert catalogue.refresh()
    assert {pointer.name for pointer in catalogue.listing.pointers} >= {"The first", "The second"}


def test_a_pointer_written_in_place_is_seen_by_the_next_full_listing(folder: Path) -> None:
    catalogue = Catalogue(open_storage(folder), 0.2)
    catalogue.refresh()
    path = folder / pointer_path(synthetic_pointer(1).alpha_id)
    path.write_bytes(replace(synthetic_pointer(1), name="By hand").encode())
    age(folder)
    eventually(catalogue.refresh)
    assert {pointer.name for pointer in catalogue.listing.pointers} >= {"By hand"}


def test_a_removed_folder_is_noticed_by_the_next_refresh(folder: Path) -> None:
    catalogue = Catalogue(open_storage(folder), HOUR)
    catalogue.refresh()
    shutil.rmtree(folder / CATALOG)
    with pytest.raises(StorageUnavailable, match="lists no alpha, but listed"):
        catalogue.refresh()
    assert len(catalogue.listing.pointers) == ALPHAS
