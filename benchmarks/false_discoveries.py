"""Realised share of false discoveries among 10,000 simulated alphas, of which 500 have an edge.

    uv run just bench-false-discoveries [--catalogues 10] [--common 0.3]

Prints one JSON document: for each level of the q-values, the mean, minimum and maximum realised share over the catalogues. With
`--common` all alphas share a factor: Benjamini-Hochberg then controls the rate at best on average, Benjamini-Yekutieli always.
"""

from __future__ import annotations

import json

import click

from datasets.figures.false_discoveries import benjamini_hochberg, benjamini_yekutieli
from tests.support.catalogues import draw_catalogue, share_of_false_discoveries

LEVELS = (0.01, 0.05, 0.1, 0.2)
METHODS = {"benjamini_hochberg": benjamini_hochberg, "benjamini_yekutieli": benjamini_yekutieli}


@click.command()
@click.option("--catalogues", default=10, help="Number of simulated catalogues, with seeds from 0.")
@click.option("--sessions", default=1260, help="Sessions of each alpha.")
@click.option("--common", default=0.0, help="Correlation with a common factor.")
def main(catalogues: int, sessions: int, common: float) -> None:
    """Print the realised shares of false discoveries as JSON."""
    shares: dict[str, dict[float, list[float]]] = {name: {level: [] for level in LEVELS} for name in METHODS}
    for seed in range(catalogues):
        drawn = draw_catalogue(seed, noise=9_500, real=500, sessions=sessions, common=common)
        for name, method in METHODS.items():
            for level in LEVELS:
                shares[name][level].append(share_of_false_discoveries(drawn, level, method))
    summary = {
        name: {
            str(level): {"mean": sum(x) / len(x), "least": min(x), "most": max(x)}
            for level, x in by_level.items()
        }
        for name, by_level in shares.items()
    }
    click.echo(
        json.dumps({"catalogues": catalogues, "sessions": sessions, "common": common, "shares": summary})
    )


if __name__ == "__main__":
    main()
