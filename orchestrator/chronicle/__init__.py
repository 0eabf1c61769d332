"""What stood, from its beginning to its end: hazards, and sources that were not seen.

`kraftgate run` keeps it in the audit trail of every cluster that it follows. What stands now can be
judged from the store at any time; what stood an hour ago cannot, and the report asks for it.
"""
