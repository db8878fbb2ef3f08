"""Parts of the source's variables that a region cannot change: read once before it, by names of their own."""
