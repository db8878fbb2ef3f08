"""From mapped nests to Kernel IR."""
