"""The versions of packages without what `importlib.metadata` imports: email, socket, zipfile, 0.02 s.

islpy asks for its own when it is imported, which nothing needs.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_NAME = "importlib.metadata"


class _Metadata(ModuleType):
    """Stands in for the module until anything else of it is asked for."""

    def version(self, package: str) -> str:
        """That in the name of the folder that pip leaves beside a package."""
        for folder in filter(Path.is_dir, map(Path, sys.path)):
            for found in folder.glob(f"{package}-*.dist-info"):
                return found.stem.removeprefix(f"{package}-")
        return str(self.__getattr__("version")(package))

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(_NAME) is self:
            del sys.modules[_NAME]
        return getattr(import_module(_NAME), name)


def install() -> None:
    sys.modules.setdefault(_NAME, _Metadata(_NAME))
