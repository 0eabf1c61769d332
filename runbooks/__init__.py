"""Files for operators: runbooks, hooks, alert pages and rules, and the handbook. Not code."""
