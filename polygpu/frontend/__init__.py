"""C files to scops: preprocess, parse, find regions, lift them. Nothing else knows pycparser."""

from polygpu.frontend.options import FrontendOptions, Kept, Lifted
from polygpu.frontend.regions.lift import lift

__all__ = ["FrontendOptions", "Kept", "Lifted", "lift"]
