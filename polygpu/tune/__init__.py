"""The search of good decisions as a command: candidates of each nest, what each takes by the model, the best.

subject ::= nest, its space of choices, sizes    strategy: numbers of choices <-> seconds
evaluation ::= number, decisions, seconds | why it was pruned
"""
