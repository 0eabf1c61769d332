"""`Lab`: the cluster's processes, data, members, layout and rollback."""
