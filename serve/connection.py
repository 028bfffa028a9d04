"""A caller's connection: plain requests are answered as soon as they are read, in one write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from serve.held.bodies import JOINED_BYTES
from serve.shell import Shell

if TYPE_CHECKING:
    from serve.response import Response

_WITH_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})


class Connection(HttpToolsProtocol):
    """The server's own protocol, but for requests that need none of what it prepares.

    For every request the server makes a task, an event and a message for each part of the answer. A page that lies in
    memory is made before any of that is needed; here it is made while the request is read, and written at once. Whatever
    else comes (other methods, bodies, a second request before the first is answered, callers who read slowly, answers
    that have to be waited for) goes the server's way from where it is.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._shell = self.app if isinstance(self.app, Shell) else None
        self._answered = False

    def on_headers_complete(self) -> None:
        """Answer a request if that can be done at once."""
        shell = self._shell
        if shell is None or not self._is_plain():
            super().on_headers_complete()
            return
        scope: Any = self.scope
        scope["method"] = "GET"
        scope["raw_path"], _, scope["query_string"] = self.url.partition(b"?")
        answer = shell.at_once(scope)
        if answer is None:
            super().on_headers_complete()
            return
        self._answered = True
        self._write(answer.response, answer.trace.request_id)
        shell.answered(scope, answer)
        self.on_response_complete()

    def on_message_complete(self) -> None:
        """Note the end of a request."""
        if self._answered:
            self._answered = False
        else:
            super().on_message_complete()

    def _is_plain(self) -> bool:
        """Tell whether a request is a GET without a body on a connection that stays open and has nothing to wait for."""
        parser = self.parser
        return (
            parser.get_method() == b"GET"
            and self.url.startswith(b"/")
            and b"#" not in self.url
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and not self.expect_100_continue
            and self.limit_concurrency is None
            and not self.root_path
            and not self.flow.write_paused
            and (self.cycle is None or self.cycle.response_complete)
            and not any(name in _WITH_BODY for name, _ in self.headers)
        )

    def _write(self, response: Response, request_id: str) -> None:
        lines = "".join([f"{name}: {value}\r\n" for name, value in response.fields(request_id)])
        head = [STATUS_LINE[response.status]]
        for name, value in self.server_state.default_headers:
            head += (name, b": ", value, b"\r\n")
        head += (lines.encode("latin-1"), b"\r\n")
        if response.size <= JOINED_BYTES:
            self.transport.write(b"".join((*head, *response.body)))
        else:
            self.transport.writelines((b"".join(head), *response.body))
