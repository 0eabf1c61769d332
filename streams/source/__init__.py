"""The Spark data source `kraft_metadata`: a metadata log, live or from files, as rows."""
