"""The commands `kraftgate lab`: requests to a running lab."""
