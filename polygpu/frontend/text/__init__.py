"""The user's text: preprocessed, cleaned, parsed, with the way back to the source."""
