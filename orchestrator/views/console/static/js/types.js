/** The shapes of /api/schema. Made by tests/browser/typedefs.py; do not edit. */

/** @typedef {"restart"|"migrate"|"finalize"} Action */

/**
 * @typedef {object} Beat
 * @property {number} at_ms
 * @property {number|null} looked_ms
 */

/**
 * @typedef {object} BrokerRow
 * @property {number} id
 * @property {string|null} host
 * @property {string|null} rack
 * @property {Mode} mode
 * @property {boolean} registered
 * @property {number|null} epoch
 * @property {boolean|null} fenced
 * @property {boolean|null} shutting_down
 * @property {boolean} held
 * @property {boolean} stalled
 * @property {Early|null} unfenced_early
 * @property {Record<string, number>|null} replicas
 * @property {number|null} pending
 * @property {number|null} total
 * @property {number|null} under_replicated
 * @property {number|null} rate_per_second
 * @property {Eta|null} eta
 * @property {string|null} no_eta
 * @property {number|null} last_progress_ms
 * @property {number|null} registered_ms
 * @property {number|null} registered_offset
 * @property {number|null} unfenced_ms
 * @property {number|null} unfenced_offset
 * @property {number|null} complete_ms
 * @property {number|null} complete_offset
 * @property {number} urgency
 */

/**
 * @typedef {object} Bucket
 * @property {number} at_ms
 * @property {"metadata"|"zookeeper"|"disks"|"jmx"|"decisions"} lane
 * @property {number} count
 * @property {Record<string, number>} kinds
 */

/**
 * @typedef {object} Cell
 * @property {string|null} path
 * @property {string|null} directory
 * @property {"online"|"offline"|"unknown"} state
 * @property {number|null} assigned
 * @property {number|null} pending
 * @property {number|null} offline
 * @property {number|null} on_disk
 */

/**
 * @typedef {object} Change
 * @property {number} at_ms
 * @property {readonly (ClusterChange)[]} clusters
 */

/**
 * @typedef {object} CheckpointTold
 * @property {string} id
 * @property {string} title
 * @property {string} explain
 * @property {Stage} stage
 * @property {string|null} how
 * @property {number|null} entered_ms
 * @property {number|null} ended_ms
 * @property {"broker"|"controller"|null} for_each
 * @property {readonly (Instance)[]} instances
 * @property {boolean} irreversible
 * @property {boolean} destructive
 * @property {number} people
 * @property {string|null} step
 * @property {readonly (string)[]} needs
 * @property {readonly (string)[]} opens_when
 */

/**
 * @typedef {object} ClusterChange
 * @property {string} name
 * @property {Head|null} [head]
 * @property {readonly (Source)[]} [sources]
 * @property {WalkState|null} [walk]
 * @property {readonly (CheckpointTold)[]} [checkpoints]
 * @property {readonly (WaitTold)[]} [waits]
 * @property {readonly (HazardTold)[]} [hazards]
 * @property {readonly (BrokerRow)[]} [brokers]
 * @property {readonly (number)[]} [brokers_gone]
 * @property {readonly (Disks)[]} [disks]
 * @property {readonly (number)[]} [disks_gone]
 * @property {readonly (EventTold)[]} [events]
 * @property {boolean} [events_missed]
 */

/**
 * @typedef {object} ClusterState
 * @property {string} name
 * @property {boolean} walkable
 * @property {Head} head
 * @property {readonly (Source)[]} sources
 * @property {WalkState|null} walk
 * @property {readonly (CheckpointTold)[]} checkpoints
 * @property {readonly (WaitTold)[]} waits
 * @property {readonly (HazardTold)[]} hazards
 * @property {readonly (BrokerRow)[]} brokers
 * @property {readonly (Disks)[]} disks
 * @property {readonly (EventTold)[]} events
 */

/**
 * @typedef {object} Decision
 * @property {string} id
 * @property {number} at_ms
 * @property {string} checkpoint
 * @property {string} kind
 * @property {string|null} by
 * @property {string|null} reason
 * @property {string} text
 * @property {string} hash
 */

/**
 * @typedef {object} Disks
 * @property {number} broker
 * @property {number|null} told_ms
 * @property {string|null} silent
 * @property {number|null} silent_since_ms
 * @property {number|null} pending_elsewhere
 * @property {readonly (Cell)[]} cells
 */

/**
 * @typedef {object} Done
 * @property {readonly (string)[]} said
 */

/**
 * @typedef {object} Early
 * @property {number} pending
 * @property {number|null} duration_ms
 * @property {boolean} standing
 */

/**
 * @typedef {object} Eta
 * @property {number} at_ms
 * @property {number|null} [earliest_ms]
 * @property {number|null} [latest_ms]
 * @property {number} made_at_ms
 * @property {string} how
 */

/**
 * @typedef {object} EventPage
 * @property {readonly (EventTold)[]} events
 * @property {string|null} next
 */

/**
 * @typedef {object} EventTold
 * @property {string} id
 * @property {number} at_ms
 * @property {number|null} seen_ms
 * @property {"metadata"|"zookeeper"|"disks"|"jmx"|"decisions"} lane
 * @property {string} kind
 * @property {number|null} broker
 * @property {number|null} offset
 * @property {string|null} checkpoint
 * @property {string|null} by
 * @property {string} text
 */

/**
 * @typedef {object} Failure
 * @property {Problem} error
 */

/**
 * @typedef {object} FindingTold
 * @property {string} condition
 * @property {"satisfied"|"waiting"|"violated"|"unknown"} verdict
 * @property {string} reason
 * @property {readonly (string)[]} evidence
 * @property {number|null} broker
 */

/**
 * @typedef {object} GateEvidence
 * @property {string} checkpoint
 * @property {string|null} title
 * @property {string|null} explain
 * @property {readonly (Judgement)[]} judgements
 * @property {readonly (Decision)[]} decisions
 * @property {boolean} older
 */

/** @typedef {"records_lost"|"zookeeper_wiped"|"replicas_recreated"|"finalized_too_early"|"restart_loses_replicas"|"halted_in_migration"|"stale_migration_znode"|"directory_failed_under_pending"|"replica_not_on_disk"|"content_differs"|"dual_write_stuck"|"assignment_queue_flat"|"directory_ids"|"metadata_version"|"unfenced_early"|"replica_misplaced"|"replica_not_in_metadata"|"future_replica_stuck"|"one_directory_left"|"jmx_contradicts"|"finalize_too_early"} HazardKind */

/**
 * @typedef {object} HazardTold
 * @property {HazardKind} id
 * @property {Severity} severity
 * @property {Action|null} blocks
 * @property {number|null} broker
 * @property {string} text
 * @property {readonly (string)[]} evidence
 * @property {string} way_out
 * @property {number|null} since_ms
 */

/**
 * @typedef {object} Head
 * @property {Phase} phase
 * @property {readonly (PhaseStep)[]} phases
 * @property {number|null} phase_since_ms
 * @property {"current"|"reading"|"stale"|"no_data"|"source_error"|"over"|"finished"} current
 * @property {string} current_text
 * @property {Waiting} waiting
 * @property {Eta|null} eta
 * @property {string|null} no_eta
 * @property {number|null} last_reply_ms
 * @property {number|null} observed_ms
 * @property {number|null} metadata_offset
 * @property {number} behind
 * @property {number|null} active_controller
 * @property {number|null} leader_epoch
 * @property {number|null} metadata_version
 * @property {number} topics
 * @property {number} partitions
 * @property {number|null} under_replicated
 * @property {number|null} leaderless
 * @property {number|null} reassigning
 * @property {Record<string, number>} brokers
 * @property {number} held
 * @property {number} fenced
 * @property {number} unfenced_early
 * @property {Record<string, number>|null} replicas
 * @property {readonly (string)[]} limits
 */

/**
 * @typedef {object} Instance
 * @property {string} id
 * @property {number} of
 * @property {Stage} stage
 * @property {string|null} how
 * @property {number|null} entered_ms
 * @property {number|null} ended_ms
 */

/**
 * @typedef {object} Judgement
 * @property {string} id
 * @property {number} at_ms
 * @property {string} checkpoint
 * @property {"already"|"needs"|"opens_when"} part
 * @property {"satisfied"|"waiting"|"violated"|"unknown"} verdict
 * @property {readonly (FindingTold)[]} findings
 * @property {Record<string, unknown>} facts
 * @property {string} hash
 */

/** @typedef {"zookeeper"|"migrating"|"kraft"} Mode */

/**
 * @typedef {object} PendingPage
 * @property {number} broker
 * @property {number} total
 * @property {number|null} expected
 * @property {readonly (PendingReplica)[]} replicas
 * @property {string|null} next
 * @property {string|null} note
 */

/**
 * @typedef {object} PendingReplica
 * @property {string} topic
 * @property {number} partition
 * @property {ReplicaState} state
 * @property {string|null} directory
 * @property {string|null} path
 */

/** @typedef {"zookeeper"|"pre-migration"|"copying"|"hybrid"|"dual-write"|"finalized"|"rolled-back"|"kraft"} Phase */

/**
 * @typedef {object} PhaseStep
 * @property {Phase} phase
 * @property {"behind"|"here"|"ahead"} state
 */

/**
 * @typedef {object} Problem
 * @property {string} code
 * @property {string} message
 * @property {string|null} [mend]
 */

/** @typedef {"migrating"|"unassigned"|"assigned"|"offline"|"lost"} ReplicaState */

/**
 * @typedef {object} Say
 * @property {string} who
 * @property {string} reason
 * @property {string|null} [checkpoint]
 * @property {string|null} [confirm]
 */

/**
 * @typedef {object} Session
 * @property {boolean} token_to_read
 * @property {boolean} may_read
 * @property {boolean} insecure
 */

/** @typedef {"info"|"warning"|"critical"} Severity */

/**
 * @typedef {object} Source
 * @property {"metadata_log"|"zookeeper"|"log_dirs"|"jmx"} name
 * @property {boolean} configured
 * @property {boolean} in_use
 * @property {boolean} current
 * @property {string|null} why_not
 * @property {string|null} waiting
 * @property {string|null} error
 * @property {number|null} last_reply_ms
 * @property {string|null} endpoint
 * @property {number|null} unread
 * @property {readonly (string)[]} limits
 */

/** @typedef {"ahead"|"entered"|"running"|"shown"|"asks"|"step done"|"passed"|"skipped"} Stage */

/**
 * @typedef {object} State
 * @property {number} at_ms
 * @property {string} version
 * @property {number} stall_after_ms
 * @property {boolean} insecure
 * @property {readonly (ClusterState)[]} clusters
 */

/**
 * @typedef {object} Timeline
 * @property {number} from_ms
 * @property {number} to_ms
 * @property {number} width_ms
 * @property {number} total
 * @property {Record<string, number>} lanes
 * @property {Record<string, number>} kinds
 * @property {readonly (Bucket)[]} buckets
 */

/**
 * @typedef {object} Unexpected
 * @property {number} at_ms
 * @property {string} text
 */

/** @typedef {"source_error"|"not_running"|"no_controller"|"stale_data"|"catching_up"|"zookeeper_blind"|"broker_stalled"|"broker_held"|"replicas_offline"|"disks_unknown"|"broker_fenced"|"replicas_pending"|"jmx_unknown"|"rolling_back"|"broker_in_zookeeper_mode"|"controllers"|"registrations"|"copy"|"finalize"|"rolled_back"} WaitKind */

/**
 * @typedef {object} WaitTold
 * @property {WaitKind} name
 * @property {string} text
 * @property {number|null} broker
 * @property {number|null} since_ms
 * @property {boolean} needs_person
 */

/**
 * @typedef {object} Waiting
 * @property {string} text
 * @property {"runbook"|"migration"|"nothing"} by
 * @property {WaitKind|null} name
 * @property {number|null} broker
 * @property {number|null} since_ms
 * @property {number} more
 * @property {boolean} needs_person
 */

/**
 * @typedef {object} WalkState
 * @property {string} runbook
 * @property {string|null} checkpoint
 * @property {string|null} title
 * @property {Stage|null} stage
 * @property {string|null} stage_text
 * @property {readonly (string)[]} holds
 * @property {readonly (FindingTold)[]} findings
 * @property {string|null} do
 * @property {string|null} asks
 * @property {string|null} path
 * @property {string|null} paused
 * @property {string|null} outcome
 * @property {boolean} execute
 * @property {number} people
 * @property {readonly (string)[]} approved_by
 * @property {readonly ("approve"|"pause"|"resume"|"abort")[]} can
 * @property {readonly (Unexpected)[]} unexpected
 * @property {number} told_ms
 */

export {};
