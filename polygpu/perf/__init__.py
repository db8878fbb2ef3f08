"""What kernels cost: the rules of chips, instructions, registers, predicted counters and times."""
