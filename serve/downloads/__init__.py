"""Files by signed links: tables, and the archives of sources."""
