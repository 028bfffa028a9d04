"""Where the data of a snapshot come from: audit, source archives, weekly digests, and verification of files."""
