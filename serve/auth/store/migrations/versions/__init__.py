"""One file a step; each runs up and down on both databases and is never edited once it was used."""
