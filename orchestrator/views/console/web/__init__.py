"""The HTTP server of the console: routes, guard, queries, actions."""
