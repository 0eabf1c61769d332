"""Endpoints, TLS and SASL settings, files of secrets."""
