"""What names mean: types, scopes, constants, what is live, what functions change."""
