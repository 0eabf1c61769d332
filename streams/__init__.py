"""How facts arrive: clients, the sources, probes, files, the Spark job."""
