"""Normal forms: C trees to simpler C trees that mean the same, before a region is read.

New nodes have the coordinates of what they stand for. Trees are never changed in place: the parts that no
form changes are the nodes of the file.
"""
