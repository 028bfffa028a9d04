"""Every block of code on every page runs as printed while the demo runs, in a folder that is not the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.conftest import shell
from tests.documents.left_out import reason
from tests.documents.pages import MARK, Block, all_pages, blocks, matches, script, steps
from tests.support.ports import free_port


def run_of(page: str) -> list[Block]:
    return [block for block in blocks(page) if reason(block) is None]


PAGES = [page for page in all_pages() if steps(run_of(page))]


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_as_printed(
    readers_environment: dict[str, str], tmp_path: Path, page: str
) -> None:
    parts = steps(run_of(page))
    (tmp_path / "seals").symlink_to(readers_environment["SEALS"])  # for pages with `--from seals`
    text = script(parts).replace("8001", str(free_port()))
    answers = shell(text, tmp_path, readers_environment).split(MARK)
    assert len(answers) == len(parts) + 1
    for part, answer in zip(parts, answers, strict=False):
        if part.printed is not None:
            assert matches(part.printed, answer), (
                f"{page}, line {part.line}: {part.command}\nprints\n{answer}"
            )
