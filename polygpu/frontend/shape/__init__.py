"""Forms of expressions: affine ones, polynomials, tests in them, the shapes of flattened arrays."""
