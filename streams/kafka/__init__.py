"""The Kafka client: one connection with its requests, for brokers and controllers.

    connection   TCP, TLS, SASL, version negotiation, time limits; `ask` and `send`
    framing      frames, bounded and checked by schema before a library decodes them
    messages     the controllers' requests and replies, and every version that is used
    node         all requests to one broker or controller; `broker_values` are its replies

`errors` draws the tree of typed errors: each has the endpoint and what failed, and never a secret.
"""
