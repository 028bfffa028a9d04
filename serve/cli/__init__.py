"""The commands, each in a module of its own that is imported when the command is asked for."""
