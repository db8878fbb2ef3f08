"""PG8xx: devices and their files."""

from __future__ import annotations

from polygpu.support.catalogue.entry import Entry

DEVICES = {
    "PG801": Entry(
        "there is no such device",
        "`polygpu devices` lists the known ones; a path to a TOML file names any other.",
    ),
    "PG802": Entry(
        "the device file cannot be read", "It does not exist, may not be read, or is not valid TOML."
    ),
    "PG803": Entry(
        "the device file does not describe a device",
        "A value is missing, has the wrong type or is not known: the tables [limits] and [costs] need every\n"
        "value that `polygpu devices NAME` shows, each bare or as a table of value, unit, source and\n"
        "confidence. Warps have 32 threads. Lanes of a request, bytes of a bank's word, of the narrowest\n"
        "and widest access and of the alignment are powers of two; a transaction moves 32, 64 or 128 bytes;\n"
        "there are 64 banks at most.",
    ),
}
