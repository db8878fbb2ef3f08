"""Every diagnostic's id, title and explanation, for `polygpu explain ID`; a file for each range of ids.

PG0xx  reading, preprocessing and parsing      PG3xx  memory, decisions, mapping
PG1xx  regions: what they may contain          PG8xx  devices
"""

from polygpu.support.catalogue.contents import CONTENTS
from polygpu.support.catalogue.devices import DEVICES
from polygpu.support.catalogue.entry import Entry
from polygpu.support.catalogue.mapping import MAPPING
from polygpu.support.catalogue.reading import READING
from polygpu.support.catalogue.regions import REGIONS

__all__ = ["CATALOGUE", "Entry"]

CATALOGUE: dict[str, Entry] = READING | REGIONS | CONTENTS | MAPPING | DEVICES
