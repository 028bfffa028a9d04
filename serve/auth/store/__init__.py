"""Where accounts and keys are stored."""
