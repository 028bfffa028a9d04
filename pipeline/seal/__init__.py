"""Reading a seal: what an engine hands over once, when a run is finished.

Nothing is trusted that was not checked: the manifest keeps its types before anything else is opened, a path
stays inside the seal before it is followed, and bytes match their digest before they are decoded.
"""

from pipeline.seal.manifest import KindEntry
from pipeline.seal.seal import Seal

__all__ = ["KindEntry", "Seal"]
