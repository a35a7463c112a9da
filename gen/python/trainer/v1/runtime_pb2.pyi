from google.protobuf import timestamp_pb2 as _timestamp_pb2
from trainer.v1 import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListRuntimesRequest(_message.Message):
    __slots__ = ("backend",)
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    backend: str
    def __init__(self, backend: _Optional[str] = ...) -> None: ...

class ListRuntimesResponse(_message.Message):
    __slots__ = ("runtimes", "failures")
    RUNTIMES_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    runtimes: _containers.RepeatedCompositeFieldContainer[Runtime]
    failures: _containers.RepeatedCompositeFieldContainer[PluginFailure]
    def __init__(self, runtimes: _Optional[_Iterable[_Union[Runtime, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[PluginFailure, _Mapping]]] = ...) -> None: ...

class GetRuntimeRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class Runtime(_message.Message):
    __slots__ = ("name", "description", "available", "unavailable_reason", "targets", "roles", "params_schema", "capabilities", "name_limit", "reserved_env", "main_container", "plugin")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_REASON_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    PARAMS_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    NAME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    RESERVED_ENV_FIELD_NUMBER: _ClassVar[int]
    MAIN_CONTAINER_FIELD_NUMBER: _ClassVar[int]
    PLUGIN_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    available: bool
    unavailable_reason: str
    targets: _containers.RepeatedCompositeFieldContainer[RuntimeTarget]
    roles: _containers.RepeatedCompositeFieldContainer[RuntimeRole]
    params_schema: str
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    name_limit: int
    reserved_env: _containers.RepeatedScalarFieldContainer[str]
    main_container: str
    plugin: PluginInfo
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., available: bool = ..., unavailable_reason: _Optional[str] = ..., targets: _Optional[_Iterable[_Union[RuntimeTarget, _Mapping]]] = ..., roles: _Optional[_Iterable[_Union[RuntimeRole, _Mapping]]] = ..., params_schema: _Optional[str] = ..., capabilities: _Optional[_Iterable[str]] = ..., name_limit: _Optional[int] = ..., reserved_env: _Optional[_Iterable[str]] = ..., main_container: _Optional[str] = ..., plugin: _Optional[_Union[PluginInfo, _Mapping]] = ...) -> None: ...

class RuntimeTarget(_message.Message):
    __slots__ = ("name", "kind", "available", "unavailable_reason", "backends")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_REASON_FIELD_NUMBER: _ClassVar[int]
    BACKENDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    available: bool
    unavailable_reason: str
    backends: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., available: bool = ..., unavailable_reason: _Optional[str] = ..., backends: _Optional[_Iterable[str]] = ...) -> None: ...

class RuntimeRole(_message.Message):
    __slots__ = ("name", "description", "required", "min_replicas", "max_replicas", "restart_policy")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    MIN_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MAX_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    RESTART_POLICY_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    required: bool
    min_replicas: int
    max_replicas: int
    restart_policy: _job_pb2.RestartPolicy
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., required: bool = ..., min_replicas: _Optional[int] = ..., max_replicas: _Optional[int] = ..., restart_policy: _Optional[_Union[_job_pb2.RestartPolicy, str]] = ...) -> None: ...

class PluginInfo(_message.Message):
    __slots__ = ("file", "version", "abi", "built_with", "isolated")
    FILE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ABI_FIELD_NUMBER: _ClassVar[int]
    BUILT_WITH_FIELD_NUMBER: _ClassVar[int]
    ISOLATED_FIELD_NUMBER: _ClassVar[int]
    file: str
    version: str
    abi: str
    built_with: str
    isolated: bool
    def __init__(self, file: _Optional[str] = ..., version: _Optional[str] = ..., abi: _Optional[str] = ..., built_with: _Optional[str] = ..., isolated: bool = ...) -> None: ...

class PluginFailure(_message.Message):
    __slots__ = ("file", "message")
    FILE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    file: str
    message: str
    def __init__(self, file: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class GetServerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetServerInfoResponse(_message.Message):
    __slots__ = ("version", "epoch", "oldest_sequence", "newest_sequence", "start_time", "server_time", "limits", "backends", "methods", "jobs", "active_jobs", "watchers", "journal_error")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    OLDEST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    NEWEST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    SERVER_TIME_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    BACKENDS_FIELD_NUMBER: _ClassVar[int]
    METHODS_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_JOBS_FIELD_NUMBER: _ClassVar[int]
    WATCHERS_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_ERROR_FIELD_NUMBER: _ClassVar[int]
    version: str
    epoch: str
    oldest_sequence: int
    newest_sequence: int
    start_time: _timestamp_pb2.Timestamp
    server_time: _timestamp_pb2.Timestamp
    limits: _containers.RepeatedCompositeFieldContainer[Limit]
    backends: _containers.RepeatedCompositeFieldContainer[Backend]
    methods: _containers.RepeatedCompositeFieldContainer[Method]
    jobs: int
    active_jobs: int
    watchers: int
    journal_error: str
    def __init__(self, version: _Optional[str] = ..., epoch: _Optional[str] = ..., oldest_sequence: _Optional[int] = ..., newest_sequence: _Optional[int] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., server_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., limits: _Optional[_Iterable[_Union[Limit, _Mapping]]] = ..., backends: _Optional[_Iterable[_Union[Backend, _Mapping]]] = ..., methods: _Optional[_Iterable[_Union[Method, _Mapping]]] = ..., jobs: _Optional[int] = ..., active_jobs: _Optional[int] = ..., watchers: _Optional[int] = ..., journal_error: _Optional[str] = ...) -> None: ...

class Limit(_message.Message):
    __slots__ = ("name", "value", "unit")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: int
    unit: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[int] = ..., unit: _Optional[str] = ...) -> None: ...

class Backend(_message.Message):
    __slots__ = ("name", "kind", "healthy", "message", "cpu_slots_milli", "cpu_slots_used_milli", "gpu_slots", "gpu_slots_used", "queued_jobs", "running_jobs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    HEALTHY_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CPU_SLOTS_MILLI_FIELD_NUMBER: _ClassVar[int]
    CPU_SLOTS_USED_MILLI_FIELD_NUMBER: _ClassVar[int]
    GPU_SLOTS_FIELD_NUMBER: _ClassVar[int]
    GPU_SLOTS_USED_FIELD_NUMBER: _ClassVar[int]
    QUEUED_JOBS_FIELD_NUMBER: _ClassVar[int]
    RUNNING_JOBS_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    healthy: bool
    message: str
    cpu_slots_milli: int
    cpu_slots_used_milli: int
    gpu_slots: int
    gpu_slots_used: int
    queued_jobs: int
    running_jobs: int
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., healthy: bool = ..., message: _Optional[str] = ..., cpu_slots_milli: _Optional[int] = ..., cpu_slots_used_milli: _Optional[int] = ..., gpu_slots: _Optional[int] = ..., gpu_slots_used: _Optional[int] = ..., queued_jobs: _Optional[int] = ..., running_jobs: _Optional[int] = ...) -> None: ...

class Method(_message.Message):
    __slots__ = ("name", "live")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LIVE_FIELD_NUMBER: _ClassVar[int]
    name: str
    live: bool
    def __init__(self, name: _Optional[str] = ..., live: bool = ...) -> None: ...
