"""Settings of S3 clients: endpoint, region and time limits, from the usual AWS variables.

Credentials are not read here; botocore finds them in the usual places (``AWS_ACCESS_KEY_ID`` and
``AWS_SECRET_ACCESS_KEY``, a shared credentials file, the role of the machine).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from schemas.errors import SettingsError

S3_SCHEMES: Final = ("s3", "s3a")
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_ENDPOINT: Final = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[^\s?#@]*)?")


@dataclass(frozen=True, slots=True)
class S3Settings:
    """Endpoint and region of S3 requests.

    Attributes
    ----------
    endpoint
        Base URL of a store other than Amazon S3; None for botocore's default.
    region
        Region used in signatures; None for botocore's default.
    """

    endpoint: str | None = None
    region: str | None = None

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> S3Settings:
        """Read ``AWS_ENDPOINT_URL_S3`` or ``AWS_ENDPOINT_URL``, and ``AWS_REGION`` or ``AWS_DEFAULT_REGION``.

        Raises
        ------
        SettingsError
            When the endpoint is not a server's address, or contains a user name or a password.
        """
        name = next((name for name in _ENDPOINTS if env.get(name)), None)
        if name is not None and not _ENDPOINT.fullmatch(env[name]):
            raise SettingsError(
                f"{name} is not the address of a store: write http://host:port or https://host:port, without a user name"
            )
        return cls(
            None if name is None else env[name],
            env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or None,
        )

    @property
    def client(self) -> dict[str, Any]:
        """Keyword arguments of a botocore client; empty without settings."""
        arguments = {"endpoint_url": self.endpoint, "region_name": self.region}
        return {name: value for name, value in arguments.items() if value is not None}

    def config(self, *, connect: float, read: float, attempts: int) -> dict[str, Any]:
        """Return the arguments of a botocore ``Config``.

        Parameters
        ----------
        connect, read
            Seconds to wait for a connection, and between two chunks of a response.
        attempts
            Attempts per request, including the first.
        """
        config: dict[str, Any] = {
            "signature_version": "s3v4",
            "connect_timeout": connect,
            "read_timeout": read,
            "retries": {"total_max_attempts": attempts, "mode": "standard"},
        }
        if self.endpoint is not None:
            # Self-hosted stores rarely have a host name per bucket, and older ones reject the checksums that
            # botocore adds by default. Published files have SHA-256 digests in their manifest.
            config["s3"] = {"addressing_style": "path"}
            config["request_checksum_calculation"] = "when_required"
            config["response_checksum_validation"] = "when_required"
        return config
