"""The Kafka client for brokers and controllers: one connection and its requests.

    connection   TCP, TLS, SASL, version negotiation, time limits; `ask` and `send`
    framing      frames; checks size and schema before a library decodes a frame
    messages     requests and replies of controllers, and the versions of every API
    node         all requests to one broker or controller; `broker_values` has the replies

`errors` shows the tree of typed errors. Each error names the endpoint and the failure, and never
contains a secret.
"""
