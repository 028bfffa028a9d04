"""Reads a run by the official client of Delta Sharing, in an environment without this project: prints one JSON object."""

import json
import sys

import delta_sharing
import pandas as pd


def digest(frame: pd.DataFrame) -> dict[str, object]:
    """Return a digest of a frame's rows, independent of index and of text and time types."""
    sums = {name: float(frame[name].sum()) for name in frame.columns if frame[name].dtype.kind in "fi"}
    return {"rows": len(frame), "columns": sorted(frame.columns), "sums": sums}


profile, share = sys.argv[1:]
client = delta_sharing.SharingClient(profile)
tables = client.list_all_tables()
address = f"{profile}#{share}.run"
decisions = delta_sharing.load_as_pandas(f"{address}.decisions")
portfolio = delta_sharing.load_as_pandas(f"{address}.portfolio")
answer = {
    "shares": [x.name for x in client.list_shares()],
    "tables": sorted({x.name for x in tables if x.share == share}),
    "decisions": digest(decisions),
    "books": sorted(portfolio["book"].unique()),
    "portfolio": digest(portfolio),
    "limited": len(delta_sharing.load_as_pandas(f"{address}.decisions", limit=7)),
    "version": delta_sharing.get_table_version(f"{address}.decisions"),
    "dates": [str(min(decisions["date"])), str(max(decisions["date"]))],
}
pinned = delta_sharing.load_as_pandas(f"{address}.decisions", version=answer["version"])
answer["pinned"] = digest(pinned) == answer["decisions"]
sys.stdout.write(json.dumps(answer))
