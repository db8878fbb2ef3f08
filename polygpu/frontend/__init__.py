"""C files to scops: preprocessing, parsing, finding regions, lifting them; the only part that knows pycparser."""

from polygpu.frontend.lift import lift
from polygpu.frontend.options import FrontendOptions, Lifted

__all__ = ["FrontendOptions", "Lifted", "lift"]
