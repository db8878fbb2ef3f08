"""C trees as the model's statements: expressions, places, calls, loops, and what is refused."""
