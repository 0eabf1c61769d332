"""What is true: directory ids, the metadata image, phases, holds. Pure values and functions, no I/O."""
