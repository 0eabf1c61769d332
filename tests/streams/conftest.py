"""kafka-python warns of its own use of importlib when first imported; no test is about that."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import streams.kafka.connection  # noqa: F401
