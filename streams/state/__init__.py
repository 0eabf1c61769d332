"""Files below the state directory: the store, the journals, locks, source status.

The store (`store`) holds the results of the job in one SQLite file, one transaction for each
batch. A journal holds facts that cannot be read again from their source, until a batch has
processed them. `sqlite` opens every SQLite file; `files` locks files and replaces them durably.

    StateDirInUse    another process uses the directory (`claim`)
    UnsafeStateDir   another user owns the directory, or can write to it or replace it; or it has
                     other files (`directory`)
    FactUnreadable   a stored fact cannot be decoded (`fact_codec`)
    JournalError     a journal cannot be opened, written or read (`journal`)
    StoreError       the store cannot be opened, written or read (`store`)
    `-- StoreNotMade   another process is creating the store
"""
