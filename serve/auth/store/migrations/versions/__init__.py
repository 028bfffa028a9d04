"""One file per migration; each runs up and down on both databases and is never edited after its first use."""
