"""Seals of backtests: double-entry books, and the folder that the pipeline reads.

>>> ledger = Ledger.from_weights(weights, prices, Costs(impact=0.001), Calendar("America/New_York", "09:30", "16:00"))
>>> writer = SealWriter("seals/Test_mine", alpha_id="Test_mine", engine=("mine", "1"), started_at=started)
>>> writer.add_ledger(ledger).write()
"""

from alpha_results_seal.calendar import Calendar
from alpha_results_seal.costs import Costs
from alpha_results_seal.errors import SealError, SealRefused
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.writer import SealWriter

__all__ = ["Calendar", "Costs", "Ledger", "SealError", "SealRefused", "SealWriter"]
