"""The JMX numbers that operators collect already, asked for again and again.

    poller -> exporters: each node's jmx_exporter      -> http -> exposition -> beans
           `> prometheus: the server that scrapes them -> http ----------------> beans

What is not among a node's metrics, or cannot be recognised there, is not known; it is never zero.
"""
