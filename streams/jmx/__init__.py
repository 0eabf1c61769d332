"""Polls the JMX numbers that operators already collect.

    poller -> exporters: each node's jmx_exporter      -> http -> exposition -> beans
           `> prometheus: the server that scrapes them -> http ----------------> beans

A number that is absent from a node's metrics, or not recognised there, is unknown; it is never
zero.
"""
