"""Requests of the lab to brokers and controllers."""
