"""The first revision: an empty store is created from the declarations of the tables, at the newest revision.

Earlier steps were folded into this one; a store that went through them is at this revision.
"""

from __future__ import annotations

revision = "0003"
down_revision = None
