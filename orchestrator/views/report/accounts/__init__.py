"""The parts of the report, folded from the gathered facts."""
