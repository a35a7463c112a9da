from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf import wrappers_pb2 as _wrappers_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RestartPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESTART_POLICY_UNSPECIFIED: _ClassVar[RestartPolicy]
    NEVER: _ClassVar[RestartPolicy]
    ON_FAILURE: _ClassVar[RestartPolicy]
    ALWAYS: _ClassVar[RestartPolicy]
    EXIT_CODE: _ClassVar[RestartPolicy]

class CleanPods(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLEAN_PODS_UNSPECIFIED: _ClassVar[CleanPods]
    RUNNING: _ClassVar[CleanPods]
    ALL: _ClassVar[CleanPods]
    NONE: _ClassVar[CleanPods]
RESTART_POLICY_UNSPECIFIED: RestartPolicy
NEVER: RestartPolicy
ON_FAILURE: RestartPolicy
ALWAYS: RestartPolicy
EXIT_CODE: RestartPolicy
CLEAN_PODS_UNSPECIFIED: CleanPods
RUNNING: CleanPods
ALL: CleanPods
NONE: CleanPods

class JobSpec(_message.Message):
    __slots__ = ("name", "name_prefix", "namespace", "runtime", "backend", "target", "labels", "annotations", "roles", "elastic", "run_policy", "depends_on", "group", "params", "metrics", "manifest")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    ELASTIC_FIELD_NUMBER: _ClassVar[int]
    RUN_POLICY_FIELD_NUMBER: _ClassVar[int]
    DEPENDS_ON_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    name: str
    name_prefix: str
    namespace: str
    runtime: str
    backend: str
    target: str
    labels: _containers.ScalarMap[str, str]
    annotations: _containers.ScalarMap[str, str]
    roles: _containers.RepeatedCompositeFieldContainer[Role]
    elastic: ElasticPolicy
    run_policy: RunPolicy
    depends_on: _containers.RepeatedCompositeFieldContainer[Dependency]
    group: str
    params: _struct_pb2.Struct
    metrics: MetricsSpec
    manifest: str
    def __init__(self, name: _Optional[str] = ..., name_prefix: _Optional[str] = ..., namespace: _Optional[str] = ..., runtime: _Optional[str] = ..., backend: _Optional[str] = ..., target: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., annotations: _Optional[_Mapping[str, str]] = ..., roles: _Optional[_Iterable[_Union[Role, _Mapping]]] = ..., elastic: _Optional[_Union[ElasticPolicy, _Mapping]] = ..., run_policy: _Optional[_Union[RunPolicy, _Mapping]] = ..., depends_on: _Optional[_Iterable[_Union[Dependency, _Mapping]]] = ..., group: _Optional[str] = ..., params: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metrics: _Optional[_Union[MetricsSpec, _Mapping]] = ..., manifest: _Optional[str] = ...) -> None: ...

class Role(_message.Message):
    __slots__ = ("name", "replicas", "image", "command", "args", "env", "working_dir", "resources", "volumes", "volume_mounts", "shm_size", "node_selector", "tolerations", "affinity", "service_account", "image_pull_secrets", "init_containers", "ports", "restart_policy", "pod_overlay", "pod_labels", "pod_annotations", "host_network")
    class NodeSelectorEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class PodLabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class PodAnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    WORKING_DIR_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    VOLUMES_FIELD_NUMBER: _ClassVar[int]
    VOLUME_MOUNTS_FIELD_NUMBER: _ClassVar[int]
    SHM_SIZE_FIELD_NUMBER: _ClassVar[int]
    NODE_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    TOLERATIONS_FIELD_NUMBER: _ClassVar[int]
    AFFINITY_FIELD_NUMBER: _ClassVar[int]
    SERVICE_ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_PULL_SECRETS_FIELD_NUMBER: _ClassVar[int]
    INIT_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    RESTART_POLICY_FIELD_NUMBER: _ClassVar[int]
    POD_OVERLAY_FIELD_NUMBER: _ClassVar[int]
    POD_LABELS_FIELD_NUMBER: _ClassVar[int]
    POD_ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    HOST_NETWORK_FIELD_NUMBER: _ClassVar[int]
    name: str
    replicas: _wrappers_pb2.Int32Value
    image: str
    command: _containers.RepeatedScalarFieldContainer[str]
    args: _containers.RepeatedScalarFieldContainer[str]
    env: _containers.RepeatedCompositeFieldContainer[EnvVar]
    working_dir: str
    resources: Resources
    volumes: _containers.RepeatedCompositeFieldContainer[Volume]
    volume_mounts: _containers.RepeatedCompositeFieldContainer[VolumeMount]
    shm_size: str
    node_selector: _containers.ScalarMap[str, str]
    tolerations: _containers.RepeatedCompositeFieldContainer[Toleration]
    affinity: _struct_pb2.Struct
    service_account: str
    image_pull_secrets: _containers.RepeatedScalarFieldContainer[str]
    init_containers: _containers.RepeatedCompositeFieldContainer[Container]
    ports: _containers.RepeatedCompositeFieldContainer[Port]
    restart_policy: RestartPolicy
    pod_overlay: _struct_pb2.Struct
    pod_labels: _containers.ScalarMap[str, str]
    pod_annotations: _containers.ScalarMap[str, str]
    host_network: bool
    def __init__(self, name: _Optional[str] = ..., replicas: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ..., image: _Optional[str] = ..., command: _Optional[_Iterable[str]] = ..., args: _Optional[_Iterable[str]] = ..., env: _Optional[_Iterable[_Union[EnvVar, _Mapping]]] = ..., working_dir: _Optional[str] = ..., resources: _Optional[_Union[Resources, _Mapping]] = ..., volumes: _Optional[_Iterable[_Union[Volume, _Mapping]]] = ..., volume_mounts: _Optional[_Iterable[_Union[VolumeMount, _Mapping]]] = ..., shm_size: _Optional[str] = ..., node_selector: _Optional[_Mapping[str, str]] = ..., tolerations: _Optional[_Iterable[_Union[Toleration, _Mapping]]] = ..., affinity: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., service_account: _Optional[str] = ..., image_pull_secrets: _Optional[_Iterable[str]] = ..., init_containers: _Optional[_Iterable[_Union[Container, _Mapping]]] = ..., ports: _Optional[_Iterable[_Union[Port, _Mapping]]] = ..., restart_policy: _Optional[_Union[RestartPolicy, str]] = ..., pod_overlay: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., pod_labels: _Optional[_Mapping[str, str]] = ..., pod_annotations: _Optional[_Mapping[str, str]] = ..., host_network: bool = ...) -> None: ...

class EnvVar(_message.Message):
    __slots__ = ("name", "value", "value_from")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FROM_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    value_from: EnvSource
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., value_from: _Optional[_Union[EnvSource, _Mapping]] = ...) -> None: ...

class EnvSource(_message.Message):
    __slots__ = ("secret", "config_map", "field_path")
    SECRET_FIELD_NUMBER: _ClassVar[int]
    CONFIG_MAP_FIELD_NUMBER: _ClassVar[int]
    FIELD_PATH_FIELD_NUMBER: _ClassVar[int]
    secret: KeyRef
    config_map: KeyRef
    field_path: str
    def __init__(self, secret: _Optional[_Union[KeyRef, _Mapping]] = ..., config_map: _Optional[_Union[KeyRef, _Mapping]] = ..., field_path: _Optional[str] = ...) -> None: ...

class KeyRef(_message.Message):
    __slots__ = ("name", "key", "optional")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPTIONAL_FIELD_NUMBER: _ClassVar[int]
    name: str
    key: str
    optional: bool
    def __init__(self, name: _Optional[str] = ..., key: _Optional[str] = ..., optional: bool = ...) -> None: ...

class Resources(_message.Message):
    __slots__ = ("cpu", "memory", "ephemeral_storage", "gpu", "gpu_resource", "extended", "requests")
    class ExtendedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class RequestsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    EPHEMERAL_STORAGE_FIELD_NUMBER: _ClassVar[int]
    GPU_FIELD_NUMBER: _ClassVar[int]
    GPU_RESOURCE_FIELD_NUMBER: _ClassVar[int]
    EXTENDED_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    cpu: str
    memory: str
    ephemeral_storage: str
    gpu: int
    gpu_resource: str
    extended: _containers.ScalarMap[str, str]
    requests: _containers.ScalarMap[str, str]
    def __init__(self, cpu: _Optional[str] = ..., memory: _Optional[str] = ..., ephemeral_storage: _Optional[str] = ..., gpu: _Optional[int] = ..., gpu_resource: _Optional[str] = ..., extended: _Optional[_Mapping[str, str]] = ..., requests: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Volume(_message.Message):
    __slots__ = ("name", "persistent_volume_claim", "empty_dir", "config_map", "secret", "host_path", "raw")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PERSISTENT_VOLUME_CLAIM_FIELD_NUMBER: _ClassVar[int]
    EMPTY_DIR_FIELD_NUMBER: _ClassVar[int]
    CONFIG_MAP_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    HOST_PATH_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    name: str
    persistent_volume_claim: PersistentVolumeClaimSource
    empty_dir: EmptyDirSource
    config_map: str
    secret: str
    host_path: str
    raw: _struct_pb2.Struct
    def __init__(self, name: _Optional[str] = ..., persistent_volume_claim: _Optional[_Union[PersistentVolumeClaimSource, _Mapping]] = ..., empty_dir: _Optional[_Union[EmptyDirSource, _Mapping]] = ..., config_map: _Optional[str] = ..., secret: _Optional[str] = ..., host_path: _Optional[str] = ..., raw: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class PersistentVolumeClaimSource(_message.Message):
    __slots__ = ("claim_name", "read_only")
    CLAIM_NAME_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    claim_name: str
    read_only: bool
    def __init__(self, claim_name: _Optional[str] = ..., read_only: bool = ...) -> None: ...

class EmptyDirSource(_message.Message):
    __slots__ = ("medium", "size_limit")
    MEDIUM_FIELD_NUMBER: _ClassVar[int]
    SIZE_LIMIT_FIELD_NUMBER: _ClassVar[int]
    medium: str
    size_limit: str
    def __init__(self, medium: _Optional[str] = ..., size_limit: _Optional[str] = ...) -> None: ...

class VolumeMount(_message.Message):
    __slots__ = ("name", "mount_path", "sub_path", "read_only")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MOUNT_PATH_FIELD_NUMBER: _ClassVar[int]
    SUB_PATH_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    name: str
    mount_path: str
    sub_path: str
    read_only: bool
    def __init__(self, name: _Optional[str] = ..., mount_path: _Optional[str] = ..., sub_path: _Optional[str] = ..., read_only: bool = ...) -> None: ...

class Toleration(_message.Message):
    __slots__ = ("key", "operator", "value", "effect", "toleration_seconds")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    TOLERATION_SECONDS_FIELD_NUMBER: _ClassVar[int]
    key: str
    operator: str
    value: str
    effect: str
    toleration_seconds: _wrappers_pb2.Int64Value
    def __init__(self, key: _Optional[str] = ..., operator: _Optional[str] = ..., value: _Optional[str] = ..., effect: _Optional[str] = ..., toleration_seconds: _Optional[_Union[_wrappers_pb2.Int64Value, _Mapping]] = ...) -> None: ...

class Container(_message.Message):
    __slots__ = ("name", "image", "command", "args", "env", "working_dir", "resources", "volume_mounts")
    NAME_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    WORKING_DIR_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    VOLUME_MOUNTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    image: str
    command: _containers.RepeatedScalarFieldContainer[str]
    args: _containers.RepeatedScalarFieldContainer[str]
    env: _containers.RepeatedCompositeFieldContainer[EnvVar]
    working_dir: str
    resources: Resources
    volume_mounts: _containers.RepeatedCompositeFieldContainer[VolumeMount]
    def __init__(self, name: _Optional[str] = ..., image: _Optional[str] = ..., command: _Optional[_Iterable[str]] = ..., args: _Optional[_Iterable[str]] = ..., env: _Optional[_Iterable[_Union[EnvVar, _Mapping]]] = ..., working_dir: _Optional[str] = ..., resources: _Optional[_Union[Resources, _Mapping]] = ..., volume_mounts: _Optional[_Iterable[_Union[VolumeMount, _Mapping]]] = ...) -> None: ...

class Port(_message.Message):
    __slots__ = ("name", "port")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    name: str
    port: int
    def __init__(self, name: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class ElasticPolicy(_message.Message):
    __slots__ = ("min", "max", "max_restarts", "rendezvous_backend", "rendezvous_conf", "nproc_per_node")
    class RendezvousConfEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    MIN_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    MAX_RESTARTS_FIELD_NUMBER: _ClassVar[int]
    RENDEZVOUS_BACKEND_FIELD_NUMBER: _ClassVar[int]
    RENDEZVOUS_CONF_FIELD_NUMBER: _ClassVar[int]
    NPROC_PER_NODE_FIELD_NUMBER: _ClassVar[int]
    min: int
    max: int
    max_restarts: _wrappers_pb2.Int32Value
    rendezvous_backend: str
    rendezvous_conf: _containers.ScalarMap[str, str]
    nproc_per_node: _wrappers_pb2.Int32Value
    def __init__(self, min: _Optional[int] = ..., max: _Optional[int] = ..., max_restarts: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ..., rendezvous_backend: _Optional[str] = ..., rendezvous_conf: _Optional[_Mapping[str, str]] = ..., nproc_per_node: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ...) -> None: ...

class RunPolicy(_message.Message):
    __slots__ = ("active_deadline", "ttl_after_finished", "backoff_limit", "clean_pods", "suspend", "queue", "priority_class", "gang", "min_available", "start_deadline")
    ACTIVE_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    TTL_AFTER_FINISHED_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_LIMIT_FIELD_NUMBER: _ClassVar[int]
    CLEAN_PODS_FIELD_NUMBER: _ClassVar[int]
    SUSPEND_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_CLASS_FIELD_NUMBER: _ClassVar[int]
    GANG_FIELD_NUMBER: _ClassVar[int]
    MIN_AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    START_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    active_deadline: _duration_pb2.Duration
    ttl_after_finished: _duration_pb2.Duration
    backoff_limit: _wrappers_pb2.Int32Value
    clean_pods: CleanPods
    suspend: bool
    queue: str
    priority_class: str
    gang: bool
    min_available: int
    start_deadline: _duration_pb2.Duration
    def __init__(self, active_deadline: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., ttl_after_finished: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., backoff_limit: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ..., clean_pods: _Optional[_Union[CleanPods, str]] = ..., suspend: bool = ..., queue: _Optional[str] = ..., priority_class: _Optional[str] = ..., gang: bool = ..., min_available: _Optional[int] = ..., start_deadline: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Dependency(_message.Message):
    __slots__ = ("job", "on")
    class On(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ON_UNSPECIFIED: _ClassVar[Dependency.On]
        SUCCEEDED: _ClassVar[Dependency.On]
        FAILED: _ClassVar[Dependency.On]
        TERMINAL: _ClassVar[Dependency.On]
    ON_UNSPECIFIED: Dependency.On
    SUCCEEDED: Dependency.On
    FAILED: Dependency.On
    TERMINAL: Dependency.On
    JOB_FIELD_NUMBER: _ClassVar[int]
    ON_FIELD_NUMBER: _ClassVar[int]
    job: str
    on: Dependency.On
    def __init__(self, job: _Optional[str] = ..., on: _Optional[_Union[Dependency.On, str]] = ...) -> None: ...

class MetricsSpec(_message.Message):
    __slots__ = ("log_pattern", "file", "names")
    LOG_PATTERN_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    log_pattern: str
    file: str
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, log_pattern: _Optional[str] = ..., file: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("uid", "name", "namespace", "runtime", "backend", "target", "group", "labels", "annotations", "spec", "status", "request_id", "spec_hash", "external", "create_time", "warnings")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[Job.State]
        PENDING: _ClassVar[Job.State]
        STARTING: _ClassVar[Job.State]
        RUNNING: _ClassVar[Job.State]
        RESTARTING: _ClassVar[Job.State]
        SUSPENDED: _ClassVar[Job.State]
        CANCELING: _ClassVar[Job.State]
        SUCCEEDED: _ClassVar[Job.State]
        FAILED: _ClassVar[Job.State]
        CANCELED: _ClassVar[Job.State]
    STATE_UNSPECIFIED: Job.State
    PENDING: Job.State
    STARTING: Job.State
    RUNNING: Job.State
    RESTARTING: Job.State
    SUSPENDED: Job.State
    CANCELING: Job.State
    SUCCEEDED: Job.State
    FAILED: Job.State
    CANCELED: Job.State
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    UID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_HASH_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    uid: str
    name: str
    namespace: str
    runtime: str
    backend: str
    target: str
    group: str
    labels: _containers.ScalarMap[str, str]
    annotations: _containers.ScalarMap[str, str]
    spec: JobSpec
    status: JobStatus
    request_id: str
    spec_hash: str
    external: bool
    create_time: _timestamp_pb2.Timestamp
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, uid: _Optional[str] = ..., name: _Optional[str] = ..., namespace: _Optional[str] = ..., runtime: _Optional[str] = ..., backend: _Optional[str] = ..., target: _Optional[str] = ..., group: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., annotations: _Optional[_Mapping[str, str]] = ..., spec: _Optional[_Union[JobSpec, _Mapping]] = ..., status: _Optional[_Union[JobStatus, _Mapping]] = ..., request_id: _Optional[str] = ..., spec_hash: _Optional[str] = ..., external: bool = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class JobStatus(_message.Message):
    __slots__ = ("state", "reason", "message", "sequence", "job_sequence", "attempt", "restarts", "exit", "roles", "observe_time", "event_time", "start_time", "end_time", "stale", "inferred")
    class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        REASON_UNSPECIFIED: _ClassVar[JobStatus.Reason]
        ACCEPTED: _ClassVar[JobStatus.Reason]
        HELD: _ClassVar[JobStatus.Reason]
        QUEUED: _ClassVar[JobStatus.Reason]
        GROUP_LIMIT: _ClassVar[JobStatus.Reason]
        UNSCHEDULABLE: _ClassVar[JobStatus.Reason]
        IMAGE_PULL: _ClassVar[JobStatus.Reason]
        QUOTA_EXCEEDED: _ClassVar[JobStatus.Reason]
        OPERATOR_SILENT: _ClassVar[JobStatus.Reason]
        CREATE_FAILED: _ClassVar[JobStatus.Reason]
        INITIALIZING: _ClassVar[JobStatus.Reason]
        ADMISSION: _ClassVar[JobStatus.Reason]
        BACKEND_UNAVAILABLE: _ClassVar[JobStatus.Reason]
        CRASH_LOOP: _ClassVar[JobStatus.Reason]
        STARTED: _ClassVar[JobStatus.Reason]
        ALL_RUNNING: _ClassVar[JobStatus.Reason]
        DEGRADED: _ClassVar[JobStatus.Reason]
        PROCESS_EXITED: _ClassVar[JobStatus.Reason]
        NODE_LOST: _ClassVar[JobStatus.Reason]
        EVICTED: _ClassVar[JobStatus.Reason]
        PREEMPTED: _ClassVar[JobStatus.Reason]
        SUSPENDED_BY_USER: _ClassVar[JobStatus.Reason]
        SUSPENDED_BY_QUEUE: _ClassVar[JobStatus.Reason]
        SUBMITTED_SUSPENDED: _ClassVar[JobStatus.Reason]
        RESUMED: _ClassVar[JobStatus.Reason]
        CANCELED_BY_USER: _ClassVar[JobStatus.Reason]
        EARLY_STOPPED: _ClassVar[JobStatus.Reason]
        DELETED_EXTERNALLY: _ClassVar[JobStatus.Reason]
        COMPLETED: _ClassVar[JobStatus.Reason]
        NONZERO_EXIT: _ClassVar[JobStatus.Reason]
        KILLED_BY_SIGNAL: _ClassVar[JobStatus.Reason]
        SPAWN_FAILED: _ClassVar[JobStatus.Reason]
        BACKOFF_LIMIT_EXCEEDED: _ClassVar[JobStatus.Reason]
        DEADLINE_EXCEEDED: _ClassVar[JobStatus.Reason]
        START_DEADLINE_EXCEEDED: _ClassVar[JobStatus.Reason]
        OUT_OF_MEMORY: _ClassVar[JobStatus.Reason]
        LOST: _ClassVar[JobStatus.Reason]
        DEPENDENCY_FAILED: _ClassVar[JobStatus.Reason]
        VALIDATION_FAILED: _ClassVar[JobStatus.Reason]
        BACKEND_ERROR: _ClassVar[JobStatus.Reason]
    REASON_UNSPECIFIED: JobStatus.Reason
    ACCEPTED: JobStatus.Reason
    HELD: JobStatus.Reason
    QUEUED: JobStatus.Reason
    GROUP_LIMIT: JobStatus.Reason
    UNSCHEDULABLE: JobStatus.Reason
    IMAGE_PULL: JobStatus.Reason
    QUOTA_EXCEEDED: JobStatus.Reason
    OPERATOR_SILENT: JobStatus.Reason
    CREATE_FAILED: JobStatus.Reason
    INITIALIZING: JobStatus.Reason
    ADMISSION: JobStatus.Reason
    BACKEND_UNAVAILABLE: JobStatus.Reason
    CRASH_LOOP: JobStatus.Reason
    STARTED: JobStatus.Reason
    ALL_RUNNING: JobStatus.Reason
    DEGRADED: JobStatus.Reason
    PROCESS_EXITED: JobStatus.Reason
    NODE_LOST: JobStatus.Reason
    EVICTED: JobStatus.Reason
    PREEMPTED: JobStatus.Reason
    SUSPENDED_BY_USER: JobStatus.Reason
    SUSPENDED_BY_QUEUE: JobStatus.Reason
    SUBMITTED_SUSPENDED: JobStatus.Reason
    RESUMED: JobStatus.Reason
    CANCELED_BY_USER: JobStatus.Reason
    EARLY_STOPPED: JobStatus.Reason
    DELETED_EXTERNALLY: JobStatus.Reason
    COMPLETED: JobStatus.Reason
    NONZERO_EXIT: JobStatus.Reason
    KILLED_BY_SIGNAL: JobStatus.Reason
    SPAWN_FAILED: JobStatus.Reason
    BACKOFF_LIMIT_EXCEEDED: JobStatus.Reason
    DEADLINE_EXCEEDED: JobStatus.Reason
    START_DEADLINE_EXCEEDED: JobStatus.Reason
    OUT_OF_MEMORY: JobStatus.Reason
    LOST: JobStatus.Reason
    DEPENDENCY_FAILED: JobStatus.Reason
    VALIDATION_FAILED: JobStatus.Reason
    BACKEND_ERROR: JobStatus.Reason
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    JOB_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    RESTARTS_FIELD_NUMBER: _ClassVar[int]
    EXIT_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_TIME_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    INFERRED_FIELD_NUMBER: _ClassVar[int]
    state: Job.State
    reason: JobStatus.Reason
    message: str
    sequence: int
    job_sequence: int
    attempt: int
    restarts: int
    exit: ExitInfo
    roles: _containers.RepeatedCompositeFieldContainer[RoleStatus]
    observe_time: _timestamp_pb2.Timestamp
    event_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    stale: bool
    inferred: bool
    def __init__(self, state: _Optional[_Union[Job.State, str]] = ..., reason: _Optional[_Union[JobStatus.Reason, str]] = ..., message: _Optional[str] = ..., sequence: _Optional[int] = ..., job_sequence: _Optional[int] = ..., attempt: _Optional[int] = ..., restarts: _Optional[int] = ..., exit: _Optional[_Union[ExitInfo, _Mapping]] = ..., roles: _Optional[_Iterable[_Union[RoleStatus, _Mapping]]] = ..., observe_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., event_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., stale: bool = ..., inferred: bool = ...) -> None: ...

class ExitInfo(_message.Message):
    __slots__ = ("role", "index", "rank", "exit_code", "signal", "signal_name", "node", "message", "attempt")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    role: str
    index: int
    rank: int
    exit_code: int
    signal: int
    signal_name: str
    node: str
    message: str
    attempt: int
    def __init__(self, role: _Optional[str] = ..., index: _Optional[int] = ..., rank: _Optional[int] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., signal_name: _Optional[str] = ..., node: _Optional[str] = ..., message: _Optional[str] = ..., attempt: _Optional[int] = ...) -> None: ...

class RoleStatus(_message.Message):
    __slots__ = ("name", "desired", "pending", "running", "succeeded", "failed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESIRED_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    name: str
    desired: int
    pending: int
    running: int
    succeeded: int
    failed: int
    def __init__(self, name: _Optional[str] = ..., desired: _Optional[int] = ..., pending: _Optional[int] = ..., running: _Optional[int] = ..., succeeded: _Optional[int] = ..., failed: _Optional[int] = ...) -> None: ...

class JobRef(_message.Message):
    __slots__ = ("uid", "namespace", "name")
    UID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    uid: str
    namespace: str
    name: str
    def __init__(self, uid: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class Transition(_message.Message):
    __slots__ = ("uid", "name", "namespace", "sequence", "job_sequence", "to", "status")
    UID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    JOB_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    uid: str
    name: str
    namespace: str
    sequence: int
    job_sequence: int
    to: Job.State
    status: JobStatus
    def __init__(self, uid: _Optional[str] = ..., name: _Optional[str] = ..., namespace: _Optional[str] = ..., sequence: _Optional[int] = ..., job_sequence: _Optional[int] = ..., to: _Optional[_Union[Job.State, str]] = ..., status: _Optional[_Union[JobStatus, _Mapping]] = ..., **kwargs) -> None: ...
