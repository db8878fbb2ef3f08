"""Arrays that stay on the device between calls of regions: what the host does meanwhile."""
