"""What is true: directory ids, the metadata image, phases, holds. Pure: no I/O, no clock."""
