"""One file per migration; each upgrades both databases and is never edited after its first use."""
