"""The installed project: its four packages under one name, and the command ``alpha-results``."""
