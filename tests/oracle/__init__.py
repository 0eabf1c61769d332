"""An independent oracle for `kraftgate replay`: it reads what Kafka's own tool prints."""
