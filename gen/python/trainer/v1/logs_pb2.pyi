from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf import wrappers_pb2 as _wrappers_pb2
from trainer.v1 import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LogsRequest(_message.Message):
    __slots__ = ("job", "role", "index", "container", "attempt", "previous", "follow", "tail_lines", "since", "resume_token", "limit_bytes")
    JOB_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    TAIL_LINES_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LIMIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.JobRef
    role: str
    index: _wrappers_pb2.Int32Value
    container: str
    attempt: int
    previous: bool
    follow: bool
    tail_lines: _wrappers_pb2.Int64Value
    since: _timestamp_pb2.Timestamp
    resume_token: str
    limit_bytes: int
    def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ..., role: _Optional[str] = ..., index: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ..., container: _Optional[str] = ..., attempt: _Optional[int] = ..., previous: bool = ..., follow: bool = ..., tail_lines: _Optional[_Union[_wrappers_pb2.Int64Value, _Mapping]] = ..., since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., resume_token: _Optional[str] = ..., limit_bytes: _Optional[int] = ...) -> None: ...

class LogsResponse(_message.Message):
    __slots__ = ("chunk", "attempt", "gap", "heartbeat", "resume_token")
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    chunk: LogChunk
    attempt: LogAttempt
    gap: LogGap
    heartbeat: LogHeartbeat
    resume_token: str
    def __init__(self, chunk: _Optional[_Union[LogChunk, _Mapping]] = ..., attempt: _Optional[_Union[LogAttempt, _Mapping]] = ..., gap: _Optional[_Union[LogGap, _Mapping]] = ..., heartbeat: _Optional[_Union[LogHeartbeat, _Mapping]] = ..., resume_token: _Optional[str] = ...) -> None: ...

class LogChunk(_message.Message):
    __slots__ = ("role", "index", "rank", "attempt", "container", "data", "offset", "time")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    role: str
    index: int
    rank: int
    attempt: int
    container: str
    data: bytes
    offset: int
    time: _timestamp_pb2.Timestamp
    def __init__(self, role: _Optional[str] = ..., index: _Optional[int] = ..., rank: _Optional[int] = ..., attempt: _Optional[int] = ..., container: _Optional[str] = ..., data: _Optional[bytes] = ..., offset: _Optional[int] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class LogAttempt(_message.Message):
    __slots__ = ("role", "index", "rank", "attempt")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    role: str
    index: int
    rank: int
    attempt: int
    def __init__(self, role: _Optional[str] = ..., index: _Optional[int] = ..., rank: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class LogGap(_message.Message):
    __slots__ = ("role", "index", "rank", "attempt", "from_offset", "to_offset", "message")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FROM_OFFSET_FIELD_NUMBER: _ClassVar[int]
    TO_OFFSET_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    role: str
    index: int
    rank: int
    attempt: int
    from_offset: int
    to_offset: int
    message: str
    def __init__(self, role: _Optional[str] = ..., index: _Optional[int] = ..., rank: _Optional[int] = ..., attempt: _Optional[int] = ..., from_offset: _Optional[int] = ..., to_offset: _Optional[int] = ..., message: _Optional[str] = ...) -> None: ...

class LogHeartbeat(_message.Message):
    __slots__ = ("server_time",)
    SERVER_TIME_FIELD_NUMBER: _ClassVar[int]
    server_time: _timestamp_pb2.Timestamp
    def __init__(self, server_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class EventsRequest(_message.Message):
    __slots__ = ("job", "limit")
    JOB_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.JobRef
    limit: int
    def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class EventsResponse(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[ClusterEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[ClusterEvent, _Mapping]]] = ...) -> None: ...

class ClusterEvent(_message.Message):
    __slots__ = ("first_time", "last_time", "count", "type", "reason", "message", "object", "source")
    FIRST_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    first_time: _timestamp_pb2.Timestamp
    last_time: _timestamp_pb2.Timestamp
    count: int
    type: str
    reason: str
    message: str
    object: str
    source: str
    def __init__(self, first_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., count: _Optional[int] = ..., type: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., object: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class MetricPoint(_message.Message):
    __slots__ = ("step", "time", "name", "value")
    STEP_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    step: int
    time: _timestamp_pb2.Timestamp
    name: str
    value: float
    def __init__(self, step: _Optional[int] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., name: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class ReportMetricsRequest(_message.Message):
    __slots__ = ("job", "points", "progress_percent", "remaining_seconds")
    JOB_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_PERCENT_FIELD_NUMBER: _ClassVar[int]
    REMAINING_SECONDS_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.JobRef
    points: _containers.RepeatedCompositeFieldContainer[MetricPoint]
    progress_percent: _wrappers_pb2.Int32Value
    remaining_seconds: _wrappers_pb2.Int64Value
    def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ..., points: _Optional[_Iterable[_Union[MetricPoint, _Mapping]]] = ..., progress_percent: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ..., remaining_seconds: _Optional[_Union[_wrappers_pb2.Int64Value, _Mapping]] = ...) -> None: ...

class ReportMetricsResponse(_message.Message):
    __slots__ = ("stored",)
    STORED_FIELD_NUMBER: _ClassVar[int]
    stored: int
    def __init__(self, stored: _Optional[int] = ...) -> None: ...

class QueryMetricsRequest(_message.Message):
    __slots__ = ("scope", "names", "kind", "limit")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[QueryMetricsRequest.Kind]
        LAST: _ClassVar[QueryMetricsRequest.Kind]
        MIN: _ClassVar[QueryMetricsRequest.Kind]
        MAX: _ClassVar[QueryMetricsRequest.Kind]
        SERIES: _ClassVar[QueryMetricsRequest.Kind]
    KIND_UNSPECIFIED: QueryMetricsRequest.Kind
    LAST: QueryMetricsRequest.Kind
    MIN: QueryMetricsRequest.Kind
    MAX: QueryMetricsRequest.Kind
    SERIES: QueryMetricsRequest.Kind
    class Scope(_message.Message):
        __slots__ = ("job", "group", "namespace")
        JOB_FIELD_NUMBER: _ClassVar[int]
        GROUP_FIELD_NUMBER: _ClassVar[int]
        NAMESPACE_FIELD_NUMBER: _ClassVar[int]
        job: _job_pb2.JobRef
        group: str
        namespace: str
        def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ..., group: _Optional[str] = ..., namespace: _Optional[str] = ...) -> None: ...
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    scope: QueryMetricsRequest.Scope
    names: _containers.RepeatedScalarFieldContainer[str]
    kind: QueryMetricsRequest.Kind
    limit: int
    def __init__(self, scope: _Optional[_Union[QueryMetricsRequest.Scope, _Mapping]] = ..., names: _Optional[_Iterable[str]] = ..., kind: _Optional[_Union[QueryMetricsRequest.Kind, str]] = ..., limit: _Optional[int] = ...) -> None: ...

class QueryMetricsResponse(_message.Message):
    __slots__ = ("series",)
    SERIES_FIELD_NUMBER: _ClassVar[int]
    series: _containers.RepeatedCompositeFieldContainer[MetricSeries]
    def __init__(self, series: _Optional[_Iterable[_Union[MetricSeries, _Mapping]]] = ...) -> None: ...

class MetricSeries(_message.Message):
    __slots__ = ("uid", "name", "points", "truncated")
    UID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    uid: str
    name: str
    points: _containers.RepeatedCompositeFieldContainer[MetricPoint]
    truncated: bool
    def __init__(self, uid: _Optional[str] = ..., name: _Optional[str] = ..., points: _Optional[_Iterable[_Union[MetricPoint, _Mapping]]] = ..., truncated: bool = ...) -> None: ...
