"""Files below the state directory: the audit store, the journals, locks, source status.

The audit store (`store`) holds the job's results in one SQLite file, one transaction a batch. A
journal holds facts that cannot be read again at their source, until a batch has taken them in.
Every SQLite file is opened by `sqlite`; `files` locks files and replaces them durably.

    StateDirInUse    another process follows with the directory (`claim`)
    UnsafeStateDir   another user owns the directory, or can write to it or replace it (`directory`)
    FactUnreadable   a stored fact cannot be decoded (`fact_codec`)
    JournalError     a journal cannot be opened, written or read (`journal`)
    StoreError       the store cannot be opened, written or read (`store`)
    `-- StoreNotMade   it is just being created
"""
