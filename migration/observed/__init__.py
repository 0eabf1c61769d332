"""Facts from the other sources: ZooKeeper, log directories, JMX, probes."""
