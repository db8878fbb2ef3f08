"""What a call of a region costs on the device and on the host, roughly, and whether offloading it pays."""
