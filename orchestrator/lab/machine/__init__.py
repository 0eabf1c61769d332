"""The lab's use of the machine: processes, Java, jars, ports, home directory."""
