"""The metrics of a run, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.metrics.statistic import SOURCES
from serve.http.answer import Answerer, Single
from serve.http.context import Context
from serve.run_metrics.assemble import Question
from serve.run_metrics.service import encoded_documentation
from serve.run_metrics.window import Window

DOC_CACHE_CONTROL: Final = "public, max-age=86400, immutable"
"""The documentation is the same for everybody until the build changes."""


def metrics(context: Context) -> Single:
    """Return the figures of a run, narrowed to a window where that makes sense."""
    values, snapshot = context.values, context.snapshot
    question = Question(
        may_call=frozenset(x.endpoint for x in SOURCES if context.caller.may_call(x.endpoint)),
        window=Window(values["from"], values["to"]),
        granularity=values["granularity"],
        panel=values["panel"],
        raw=context.raw,
    )
    answer = context.service.metrics.answer(snapshot, question, hurried=context.hurried)
    data: dict[str, Any] = dict(answer.data)
    if values["doc"]:
        data["doc"] = encoded_documentation()
    return Single(
        data,
        source=f"snapshot {snapshot.id}",
        meta={**context.run_meta, "source_alpha_id": snapshot.manifest.source_alpha_id},
        warnings=answer.warnings,
    )


def documentation(_: Context) -> Single:
    """Return the documentation block, which depends on neither the alpha nor the key."""
    return Single(
        encoded_documentation(),
        source="declarations of the build",
        cache_control=DOC_CACHE_CONTROL,
    )


ROUTES: Final[Mapping[str, Answerer]] = {
    "performance.metrics": metrics,
    "performance.metrics.doc": documentation,
}
