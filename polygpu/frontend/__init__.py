"""C files to scops: preprocess, parse, find regions, lift them. Nothing else knows pycparser."""

from polygpu.frontend.options import FrontendOptions, HostScope, Kept, Lifted
from polygpu.frontend.regions.lift import lift

__all__ = ["FrontendOptions", "HostScope", "Kept", "Lifted", "lift"]
