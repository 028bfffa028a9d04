"""The fast path: plain requests are answered as soon as they are read, in one write."""

from __future__ import annotations

from typing import Any

from serve.http.protocol.connection import Connection
from serve.http.request import SCOPE


class FastConnection(Connection):
    """A connection that answers requests at once which need none of what the server prepares.

    For every request the server makes a task, an event and a message for each part of the answer. A page that lies in
    memory is made before any of that is needed; here it is made while the request is read, and written at once. Whatever
    else comes (other methods, bodies, connections to be closed, answers that have to be waited for) is the server's.
    """

    def answer(self) -> None:
        """Answer a request if that can be done at once."""
        if not self._is_plain():
            super().answer()
            return
        scope: Any = self.scope
        scope["method"] = "GET"
        scope["raw_path"], _, scope["query_string"] = self.url.partition(b"?")
        response = self.app.begin(scope)
        if response is None:
            super().answer()
            return
        self.complete(response, scope[SCOPE].id)

    def _is_plain(self) -> bool:
        """Whether a request is a GET without a body on a connection that stays open."""
        parser = self.parser
        return (
            self.plain
            and self.body_left == 0
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and not self.expect_100_continue
        )
