"""Build of one seal: check, derive, write, publish."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import polars as pl

from datasets.layout import PROBE
from datasets.manifest import Manifest
from datasets.pointer import Pointer
from datasets.provenance.integrity import check_manifest
from datasets.publication.earlier_seals import with_history
from datasets.publication.pointers import is_current, refuse, served
from datasets.publication.publish import Publication
from datasets.storage import Storage, open_storage
from pipeline.archive.exclusions import DEFAULT_EXCLUDE
from pipeline.archive.package import package
from pipeline.notices.catalogue import catalogue_notices
from pipeline.notices.history import history_notices
from pipeline.notices.outcome import NoticeOutcome, in_declared_order
from pipeline.reconciliation.seal_figures import metrics_reproduced
from pipeline.rule import Finding
from pipeline.rules.checking import check, judge
from pipeline.rules.registry import RULES
from pipeline.rules.report import Report, rule_outcomes
from pipeline.seal import Seal
from pipeline.seal.signature import read_keys
from pipeline.snapshot_builder.build_result import BuildResult, Stages
from pipeline.snapshot_builder.contents import write_datasets
from pipeline.snapshot_builder.write import SnapshotWriter
from schemas.errors import OtherFormat, SealRefused
from schemas.instants import utc_text
from schemas.kinds import KINDS, REQUIRED_KINDS
from schemas.notices.notice import NOTICE
from schemas.plurals import counted
from schemas.version import schema_version


def build_seal(
    address: str,
    root: str | os.PathLike[str],
    *,
    force: bool = False,
    archives: str | None = None,
    exclude: Sequence[str] = DEFAULT_EXCLUDE,
    single_writer: bool = False,
    strict: bool = False,
    seal_keys: str | None = None,
    prices: str | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> BuildResult:
    """Check a seal and publish it as an immutable snapshot.

    Parameters
    ----------
    address
        The seal: a local folder or the URL of a supported store.
    root
        The datasets root to publish under.
    force
        Publish even if a later seal of the alpha is served or its pointer has another format, and rebuild a seal that is
        already served: damaged files are replaced by the same bytes; different bytes make another snapshot.
    archives
        Folder or URL of a supported store to deliver the source archive to; None keeps no archives. A failed delivery does
        not stop publication; the result gives the reason, and the next build tries again.
    exclude
        Patterns of source files to leave out of the archive.
    single_writer
        Whether the caller guarantees that no other command writes to the root.
    strict
        Whether to refuse a seal with warnings.
    seal_keys
        File with the public keys of teams (:func:`pipeline.seal.signature.read_keys`), one of which must have signed the seal;
        None if no signature is required.
    prices
        As in :func:`pipeline.rules.check`.
    on_stage
        Called with the name of each stage as it begins.

    Returns
    -------
    BuildResult
        ``changed`` is False if this seal is already served; then no file is written.

    Raises
    ------
    SealUnreadable
        When there is no seal at the address.
    SealRefused
        When a rule is broken; the served snapshot is unchanged.
    PublicationRefused
        When a later seal of the alpha is served, or this seal was rolled back, and `force` is False; or when the alpha is
        withdrawn.
    OtherFormat
        When the alpha's pointer has another format, and `force` is False.
    """
    stages = Stages(on_stage)
    keys = None if seal_keys is None else read_keys(seal_keys)
    storage = open_storage(root, single_writer=single_writer)
    with stages("open"):
        seal = Seal.open(address)
        current, earlier = _served(storage, seal, force=force)
    # The served snapshot was built with these declarations, so its figures are equal whatever library version wrote it.
    if current is not None and earlier is not None and is_current(current, seal.digest) and not force:
        with stages("archive"):
            archive = package(seal, storage, archives, exclude=exclude)
        return BuildResult(
            seal.alpha_id, current.snapshot, changed=False, seconds=stages.seconds, archive=archive
        )
    storage.require_safe_writers()  # before any work
    with stages("check"):
        report = check(seal, figures=False, keys=keys, prices=prices)
    _require_sound(seal, report.violations, report.warnings if strict else ())
    evidence = report.evidence
    assert evidence is not None  # the seal is sound
    with Publication(storage, seal.alpha_id, earlier) as publication:
        writer = SnapshotWriter(publication)
        written = write_datasets(seal, writer, stages)
        writer.document(PROBE, "probe", evidence.probe.encode())
        report = replace(report, figures=written.figures)
        warning = metrics_reproduced(written.figures)
        if warning is not None:
            warning = replace(warning, file=seal.kinds["metrics"].path)
            report = replace(report, warnings=(*report.warnings, warning))
        _require_sound(seal, (), report.warnings if strict else ())
        with stages("notices"):
            own = judge(seal, evidence, report.coverage, weeks=written.weekly_signal, figures=written.figures)
            compared = catalogue_notices(storage, seal.alpha_id, evidence.probe)
            notices = in_declared_order((*own, *compared))
        manifest = _manifest(seal, writer, report, notices)
        with stages("publish"):
            # A later seal may be served by now; the weeks of a seal that is not published must not be recorded.
            _served(storage, seal, force=force)
            manifest = with_history(
                storage, manifest, written.sealed_weeks, lambda history: history_notices(history).to_dict()
            )
            published = publication.commit(manifest, seal.description(), force=force)
    with stages("archive"):
        archive = package(seal, storage, archives, exclude=exclude)
    return BuildResult(
        seal.alpha_id,
        published.snapshot,
        published.changed,
        len(writer.files) + 1,
        sum(entry.bytes for entry in writer.files) + len(manifest.encode()),
        tuple(warning.to_dict() for warning in report.warnings),
        tuple(dict(notice) for notice in manifest.notices if notice["outcome"] == NOTICE),
        stages.seconds,
        archive,
        _replaced_equal(current, seal) if published.changed else None,
    )


def _replaced_equal(current: Pointer | None, seal: Seal) -> str | None:
    """Return the snapshot that a seal replaces, if it is of another seal with the same `sealed_at`."""
    if current is None or current.seal_digest == seal.digest:
        return None
    return current.snapshot if datetime.fromisoformat(current.sealed_at) == seal.sealed_at else None


def _served(storage: Storage, seal: Seal, *, force: bool) -> tuple[Pointer | None, Manifest | None]:
    """Return the served pointer and manifest before a build; refuse a seal early if it would not be served.

    The pointer is None if there is none, or if it has another format and is to be replaced. The manifest is None if it is not
    the one that the pointer names.
    """
    try:
        current = served(storage, seal.alpha_id)
    except OtherFormat:
        if not force:
            raise
        current = None
    if current is None:
        return None, None
    refuse(current, seal.digest, schema_version(), seal.sealed_at, force=force)
    return current, check_manifest(storage, current)[0]


def _require_sound(seal: Seal, violations: Sequence[Finding], warnings: Sequence[Finding]) -> None:
    broken = [finding.to_dict() for finding in violations]
    broken += [warning.to_dict() | {"strict": True} for warning in warnings]
    if broken:
        raise SealRefused(
            f"{seal.address} breaks {counted(len(broken), 'rule')}; nothing was published", tuple(broken)
        )


def _manifest(
    seal: Seal, writer: SnapshotWriter, report: Report, notices: tuple[NoticeOutcome, ...]
) -> Manifest:
    return Manifest(
        schema_version=schema_version(),
        alpha_id=seal.alpha_id,
        source_alpha_id=seal.source_alpha_id,
        snapshot="",  # computed from these fields at publication
        seal_digest=seal.digest,
        started_at=utc_text(seal.started_at),
        sealed_at=utc_text(seal.sealed_at),
        equity_basis=seal.equity_basis,
        smoothing=dict(seal.smoothing) if seal.smoothing is not None else None,
        engine=dict(seal.engine),
        sealed_by=report.sealed_by,
        kinds=tuple(kind for kind in KINDS if seal.has(kind)),
        missing=tuple(kind for kind in REQUIRED_KINDS if not seal.has(kind)),
        columns=writer.columns,
        files=tuple(writer.files),
        warnings=tuple(warning.to_dict() for warning in report.warnings),
        rules=tuple(RULES),
        built_with={"polars": pl.__version__},
        reconciliation=report.reconciliation,
        checks=rule_outcomes(report, seal.kinds),
        notices=tuple(notice.to_dict() for notice in notices),
    )
