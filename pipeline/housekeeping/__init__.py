"""Looking after a datasets root: what is in it, whether it is intact, what may go, and the way back."""
