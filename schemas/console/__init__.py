"""What commands share: their group, safe output of untrusted text, tables on a terminal."""
