"""Plans moves of replicas between the log directories of a broker, and verifies them (KIP-113).

Pure: `streams.probe.brokers` collects the brokers' answers. Unknown never permits a move.
"""
