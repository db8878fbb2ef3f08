"""C files to scops: preprocess, parse, find regions, lift them. Nothing else knows pycparser."""

from polygpu.frontend.lift import lift
from polygpu.frontend.options import FrontendOptions, Lifted

__all__ = ["FrontendOptions", "Lifted", "lift"]
