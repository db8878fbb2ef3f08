"""What can be wrong with a device name or file, for `polygpu explain`."""

from __future__ import annotations

from polygpu.support.catalogue import Entry

ENTRIES: dict[str, Entry] = {
    "PG801": Entry(
        "the device is not known",
        "--device takes a name or alias that `polygpu devices` lists, or the path of a TOML file: what\n"
        "contains a slash or ends in .toml is a path.",
    ),
    "PG802": Entry(
        "the device file cannot be read",
        "The file does not exist, may not be read, or is not TOML in UTF-8.",
    ),
    "PG803": Entry(
        "the device file does not describe a device",
        "A value is missing, has the wrong type or is not known. The tables [limits] and [costs] need every\n"
        "value that `polygpu devices 8800gtx` shows; each is a plain value, or a table with value, unit,\n"
        "source and confidence.",
    ),
}
