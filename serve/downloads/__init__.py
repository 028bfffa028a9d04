"""Downloads through signed links: tables and source archives."""
