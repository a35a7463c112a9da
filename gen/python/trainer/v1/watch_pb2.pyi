from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf import wrappers_pb2 as _wrappers_pb2
from trainer.v1 import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobSelector(_message.Message):
    __slots__ = ("namespace", "label_selector", "group", "runtime", "uids", "states", "name_contains")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    UIDS_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    NAME_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    label_selector: str
    group: str
    runtime: str
    uids: _containers.RepeatedScalarFieldContainer[str]
    states: _containers.RepeatedScalarFieldContainer[_job_pb2.Job.State]
    name_contains: str
    def __init__(self, namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., group: _Optional[str] = ..., runtime: _Optional[str] = ..., uids: _Optional[_Iterable[str]] = ..., states: _Optional[_Iterable[_Union[_job_pb2.Job.State, str]]] = ..., name_contains: _Optional[str] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("selector", "resume_token", "resync", "until_terminal", "heartbeat_seconds", "skip_snapshot", "full")
    SELECTOR_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RESYNC_FIELD_NUMBER: _ClassVar[int]
    UNTIL_TERMINAL_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    SKIP_SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    selector: JobSelector
    resume_token: str
    resync: bool
    until_terminal: bool
    heartbeat_seconds: _wrappers_pb2.Int32Value
    skip_snapshot: bool
    full: bool
    def __init__(self, selector: _Optional[_Union[JobSelector, _Mapping]] = ..., resume_token: _Optional[str] = ..., resync: bool = ..., until_terminal: bool = ..., heartbeat_seconds: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ..., skip_snapshot: bool = ..., full: bool = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("snapshot", "snapshot_end", "transition", "deleted", "heartbeat", "resync", "submitted", "resume_token")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_END_FIELD_NUMBER: _ClassVar[int]
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    RESYNC_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    snapshot: _job_pb2.Job
    snapshot_end: SnapshotEnd
    transition: _job_pb2.Transition
    deleted: JobDeleted
    heartbeat: Heartbeat
    resync: Resync
    submitted: Submitted
    resume_token: str
    def __init__(self, snapshot: _Optional[_Union[_job_pb2.Job, _Mapping]] = ..., snapshot_end: _Optional[_Union[SnapshotEnd, _Mapping]] = ..., transition: _Optional[_Union[_job_pb2.Transition, _Mapping]] = ..., deleted: _Optional[_Union[JobDeleted, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., resync: _Optional[_Union[Resync, _Mapping]] = ..., submitted: _Optional[_Union[Submitted, _Mapping]] = ..., resume_token: _Optional[str] = ...) -> None: ...

class SnapshotEnd(_message.Message):
    __slots__ = ("sequence", "jobs")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    jobs: int
    def __init__(self, sequence: _Optional[int] = ..., jobs: _Optional[int] = ...) -> None: ...

class JobDeleted(_message.Message):
    __slots__ = ("uid", "name", "namespace", "sequence", "job_sequence")
    UID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    JOB_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    uid: str
    name: str
    namespace: str
    sequence: int
    job_sequence: int
    def __init__(self, uid: _Optional[str] = ..., name: _Optional[str] = ..., namespace: _Optional[str] = ..., sequence: _Optional[int] = ..., job_sequence: _Optional[int] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("position", "server_time")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    SERVER_TIME_FIELD_NUMBER: _ClassVar[int]
    position: int
    server_time: _timestamp_pb2.Timestamp
    def __init__(self, position: _Optional[int] = ..., server_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Resync(_message.Message):
    __slots__ = ("message", "oldest_sequence")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OLDEST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    message: str
    oldest_sequence: int
    def __init__(self, message: _Optional[str] = ..., oldest_sequence: _Optional[int] = ...) -> None: ...

class Submitted(_message.Message):
    __slots__ = ("job", "duplicate", "warnings")
    JOB_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    duplicate: bool
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ..., duplicate: bool = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...
