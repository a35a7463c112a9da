from google.protobuf import wrappers_pb2 as _wrappers_pb2
from trainer.v1 import job_pb2 as _job_pb2
from trainer.v1 import logs_pb2 as _logs_pb2
from trainer.v1 import runtime_pb2 as _runtime_pb2
from trainer.v1 import watch_pb2 as _watch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SubmitRequest(_message.Message):
    __slots__ = ("spec", "request_id", "validate_only")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    spec: _job_pb2.JobSpec
    request_id: str
    validate_only: bool
    def __init__(self, spec: _Optional[_Union[_job_pb2.JobSpec, _Mapping]] = ..., request_id: _Optional[str] = ..., validate_only: bool = ...) -> None: ...

class SubmitResponse(_message.Message):
    __slots__ = ("job", "duplicate", "warnings")
    JOB_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    duplicate: bool
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ..., duplicate: bool = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class SubmitBatchRequest(_message.Message):
    __slots__ = ("items", "group")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[SubmitRequest]
    group: GroupSpec
    def __init__(self, items: _Optional[_Iterable[_Union[SubmitRequest, _Mapping]]] = ..., group: _Optional[_Union[GroupSpec, _Mapping]] = ...) -> None: ...

class GroupSpec(_message.Message):
    __slots__ = ("name", "max_parallel")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAX_PARALLEL_FIELD_NUMBER: _ClassVar[int]
    name: str
    max_parallel: int
    def __init__(self, name: _Optional[str] = ..., max_parallel: _Optional[int] = ...) -> None: ...

class SubmitBatchResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SubmitResult]
    def __init__(self, results: _Optional[_Iterable[_Union[SubmitResult, _Mapping]]] = ...) -> None: ...

class SubmitResult(_message.Message):
    __slots__ = ("ok", "error")
    OK_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ok: SubmitResponse
    error: Error
    def __init__(self, ok: _Optional[_Union[SubmitResponse, _Mapping]] = ..., error: _Optional[_Union[Error, _Mapping]] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("code", "reason", "message", "violations")
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    code: int
    reason: str
    message: str
    violations: _containers.RepeatedCompositeFieldContainer[FieldViolation]
    def __init__(self, code: _Optional[int] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., violations: _Optional[_Iterable[_Union[FieldViolation, _Mapping]]] = ...) -> None: ...

class FieldViolation(_message.Message):
    __slots__ = ("field", "description")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    field: str
    description: str
    def __init__(self, field: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class SubmitAndWatchRequest(_message.Message):
    __slots__ = ("submit", "until_terminal", "heartbeat_seconds")
    SUBMIT_FIELD_NUMBER: _ClassVar[int]
    UNTIL_TERMINAL_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    submit: SubmitRequest
    until_terminal: _wrappers_pb2.BoolValue
    heartbeat_seconds: _wrappers_pb2.Int32Value
    def __init__(self, submit: _Optional[_Union[SubmitRequest, _Mapping]] = ..., until_terminal: _Optional[_Union[_wrappers_pb2.BoolValue, _Mapping]] = ..., heartbeat_seconds: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ...) -> None: ...

class RenderRequest(_message.Message):
    __slots__ = ("spec", "target")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    spec: _job_pb2.JobSpec
    target: str
    def __init__(self, spec: _Optional[_Union[_job_pb2.JobSpec, _Mapping]] = ..., target: _Optional[str] = ...) -> None: ...

class RenderResponse(_message.Message):
    __slots__ = ("rendered", "warnings")
    RENDERED_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    rendered: _containers.RepeatedCompositeFieldContainer[Rendered]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, rendered: _Optional[_Iterable[_Union[Rendered, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class Rendered(_message.Message):
    __slots__ = ("target", "kind", "json", "error", "chosen")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CHOSEN_FIELD_NUMBER: _ClassVar[int]
    target: str
    kind: str
    json: str
    error: str
    chosen: bool
    def __init__(self, target: _Optional[str] = ..., kind: _Optional[str] = ..., json: _Optional[str] = ..., error: _Optional[str] = ..., chosen: bool = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("job", "full")
    JOB_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.JobRef
    full: bool
    def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ..., full: bool = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("selector", "page_size", "page_token", "full")
    SELECTOR_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    selector: _watch_pb2.JobSelector
    page_size: int
    page_token: str
    full: bool
    def __init__(self, selector: _Optional[_Union[_watch_pb2.JobSelector, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., full: bool = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token", "total", "sequence", "errors")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[_job_pb2.Job]
    next_page_token: str
    total: int
    sequence: int
    errors: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, jobs: _Optional[_Iterable[_Union[_job_pb2.Job, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total: _Optional[int] = ..., sequence: _Optional[int] = ..., errors: _Optional[_Iterable[str]] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("job", "reason", "grace_seconds", "early_stopped")
    JOB_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    GRACE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    EARLY_STOPPED_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.JobRef
    reason: str
    grace_seconds: _wrappers_pb2.Int32Value
    early_stopped: bool
    def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ..., reason: _Optional[str] = ..., grace_seconds: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ..., early_stopped: bool = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("job", "force")
    JOB_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.JobRef
    force: bool
    def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ..., force: bool = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("uid",)
    UID_FIELD_NUMBER: _ClassVar[int]
    uid: str
    def __init__(self, uid: _Optional[str] = ...) -> None: ...

class SuspendRequest(_message.Message):
    __slots__ = ("job", "reason")
    JOB_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.JobRef
    reason: str
    def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class ResumeRequest(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.JobRef
    def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ...) -> None: ...

class ScaleRequest(_message.Message):
    __slots__ = ("job", "role", "replicas")
    JOB_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.JobRef
    role: str
    replicas: int
    def __init__(self, job: _Optional[_Union[_job_pb2.JobRef, _Mapping]] = ..., role: _Optional[str] = ..., replicas: _Optional[int] = ...) -> None: ...
