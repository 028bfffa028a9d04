"""Publication: writing of snapshots, conditional moves of pointers, removal of old snapshots."""
