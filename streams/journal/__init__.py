"""Facts that cannot be read again where they came from, kept until they have taken effect."""
