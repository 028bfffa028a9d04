"""The project as it is installed: its four packages under one name, and the command ``alpha-results``."""
