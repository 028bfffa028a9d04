"""Files by signed links: tables and source archives."""
