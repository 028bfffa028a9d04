"""One benchmark in memory."""

from __future__ import annotations

from dataclasses import dataclass

from datasets.figures.series import Dates, Floats


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The prices of one symbol, ascending by day. Requests share the arrays.

    Attributes
    ----------
    symbol
        In upper case.
    name
        Readable; says so when the prices are simulated.
    simulated
        Whether the prices are invented.
    dates
        Days, each once.
    close
        Not adjusted; finite and positive.
    adjusted
        Adjusted close; NaN where it is not known.
    """

    symbol: str
    name: str
    simulated: bool
    dates: Dates
    close: Floats
    adjusted: Floats

    @property
    def source(self) -> str:
        """``meta.source`` of answers from this benchmark."""
        return "simulated market data" if self.simulated else "market data"
