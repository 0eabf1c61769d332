"""Endpoints, TLS and SASL settings, secret files."""
