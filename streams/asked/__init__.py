"""Asks for what conditions rest on and nothing follows: bounded in time, with what preflight has.

Each asker takes where to ask (`Target`) and gives a pure value of
`migration.assessment.conditions`, or an `Unknown` that says why there is none. Nothing is written
anywhere.
"""
