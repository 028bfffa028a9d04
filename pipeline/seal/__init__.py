"""Reading of seals.

A seal is untrusted input: the manifest is validated before other files are opened, a path is checked
before it is followed, and bytes are compared with their digest before they are decoded.
"""

from pipeline.seal.seal import Seal

__all__ = ["Seal"]
