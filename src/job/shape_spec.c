// JobSpec as a table. Bounds are those that proto/trainer/v1/job.proto states.
#include "job/shape.h"

#define SECONDS_MAX INT64_C(8589934592) /* 272 years: fits nanoseconds */
#define STRING_MAX 131072               /* the kernel's bound of one argument or variable */
#define END                                                                                                            \
    { .name = 0 }

static const char *const restart_names[] = {"NEVER", "ON_FAILURE", "ALWAYS", "EXIT_CODE", NULL};
static const char *const clean_names[] = {"RUNNING", "ALL", "NONE", NULL};
static const char *const on_names[] = {"SUCCEEDED", "FAILED", "TERMINAL", NULL};

static const struct shape key_ref[] = {{.name = "name", .kind = SHAPE_TEXT, .max = 253},
                                       {.name = "key", .kind = SHAPE_TEXT, .max = 253},
                                       {.name = "optional", .kind = SHAPE_BOOL},
                                       END};

static const struct shape env_source[] = {{.name = "secret", .kind = SHAPE_OBJECT, .fields = key_ref},
                                          {.name = "config_map", .kind = SHAPE_OBJECT, .fields = key_ref},
                                          {.name = "field_path", .kind = SHAPE_TEXT, .max = 253},
                                          END};

static const struct shape env[] = {{.name = "name", .kind = SHAPE_TEXT, .max = 256},
                                   {.name = "value", .kind = SHAPE_TEXT, .max = STRING_MAX - 258},
                                   {.name = "value_from", .kind = SHAPE_OBJECT, .fields = env_source},
                                   END};

const struct shape shape_resources[] = {{.name = "cpu", .kind = SHAPE_CPU},
                                        {.name = "memory", .kind = SHAPE_WHOLE},
                                        {.name = "ephemeral_storage", .kind = SHAPE_WHOLE},
                                        {.name = "gpu", .kind = SHAPE_INT, .max = 1024},
                                        {.name = "gpu_resource", .kind = SHAPE_TEXT, .max = 317},
                                        {.name = "extended", .kind = SHAPE_MAP, .max = 64, .items = 64},
                                        {.name = "requests", .kind = SHAPE_MAP, .max = 64, .items = 64},
                                        END};

static const struct shape claim[] = {
    {.name = "claim_name", .kind = SHAPE_TEXT, .max = 253}, {.name = "read_only", .kind = SHAPE_BOOL}, END};
static const struct shape empty_dir[] = {
    {.name = "medium", .kind = SHAPE_TEXT, .max = 64}, {.name = "size_limit", .kind = SHAPE_WHOLE}, END};

static const struct shape volume[] = {{.name = "name", .kind = SHAPE_TEXT, .max = 63},
                                      {.name = "persistent_volume_claim", .kind = SHAPE_OBJECT, .fields = claim},
                                      {.name = "empty_dir", .kind = SHAPE_OBJECT, .fields = empty_dir},
                                      {.name = "config_map", .kind = SHAPE_TEXT, .max = 253},
                                      {.name = "secret", .kind = SHAPE_TEXT, .max = 253},
                                      {.name = "host_path", .kind = SHAPE_TEXT, .max = 4096},
                                      {.name = "raw", .kind = SHAPE_RAW},
                                      END};

static const struct shape mount[] = {{.name = "name", .kind = SHAPE_TEXT, .max = 63},
                                     {.name = "mount_path", .kind = SHAPE_TEXT, .max = 4096},
                                     {.name = "sub_path", .kind = SHAPE_TEXT, .max = 4096},
                                     {.name = "read_only", .kind = SHAPE_BOOL},
                                     END};

static const struct shape toleration[] = {
    {.name = "key", .kind = SHAPE_TEXT, .max = 317},
    {.name = "operator", .kind = SHAPE_TEXT, .max = 16},
    {.name = "value", .kind = SHAPE_TEXT, .max = 63},
    {.name = "effect", .kind = SHAPE_TEXT, .max = 32},
    {.name = "toleration_seconds", .kind = SHAPE_INT, .min = INT64_MIN, .max = INT64_MAX},
    END};

static const struct shape container[] = {{.name = "name", .kind = SHAPE_TEXT, .max = 63},
                                         {.name = "image", .kind = SHAPE_TEXT, .max = 1024},
                                         {.name = "command", .kind = SHAPE_TEXTS, .max = STRING_MAX - 1},
                                         {.name = "args", .kind = SHAPE_TEXTS, .max = STRING_MAX - 1, .items = 10000},
                                         {.name = "env", .kind = SHAPE_LIST, .fields = env, .items = 4096},
                                         {.name = "working_dir", .kind = SHAPE_TEXT, .max = 4096},
                                         {.name = "resources", .kind = SHAPE_OBJECT, .fields = shape_resources},
                                         {.name = "volume_mounts", .kind = SHAPE_LIST, .fields = mount},
                                         END};

static const struct shape port[] = {
    {.name = "name", .kind = SHAPE_TEXT, .max = 15}, {.name = "port", .kind = SHAPE_INT, .min = 1, .max = 65535}, END};

static const struct shape role[] = {{.name = "name", .kind = SHAPE_TEXT, .max = 63},
                                    {.name = "replicas", .kind = SHAPE_INT, .max = 10000},
                                    {.name = "image", .kind = SHAPE_TEXT, .max = 1024},
                                    {.name = "command", .kind = SHAPE_TEXTS, .max = STRING_MAX - 1},
                                    {.name = "args", .kind = SHAPE_TEXTS, .max = STRING_MAX - 1, .items = 10000},
                                    {.name = "env", .kind = SHAPE_LIST, .fields = env, .items = 4096},
                                    {.name = "working_dir", .kind = SHAPE_TEXT, .max = 4096},
                                    {.name = "resources", .kind = SHAPE_OBJECT, .fields = shape_resources},
                                    {.name = "volumes", .kind = SHAPE_LIST, .fields = volume, .items = 64},
                                    {.name = "volume_mounts", .kind = SHAPE_LIST, .fields = mount, .items = 64},
                                    {.name = "shm_size", .kind = SHAPE_WHOLE},
                                    {.name = "node_selector", .kind = SHAPE_MAP, .max = 63, .items = 64},
                                    {.name = "tolerations", .kind = SHAPE_LIST, .fields = toleration, .items = 64},
                                    {.name = "affinity", .kind = SHAPE_RAW},
                                    {.name = "service_account", .kind = SHAPE_TEXT, .max = 253},
                                    {.name = "image_pull_secrets", .kind = SHAPE_TEXTS, .max = 253, .items = 64},
                                    {.name = "init_containers", .kind = SHAPE_LIST, .fields = container, .items = 16},
                                    {.name = "ports", .kind = SHAPE_LIST, .fields = port, .items = 64},
                                    {.name = "restart_policy", .kind = SHAPE_ENUM, .values = restart_names},
                                    {.name = "pod_overlay", .kind = SHAPE_RAW},
                                    {.name = "pod_labels", .kind = SHAPE_MAP, .max = 63, .items = 64},
                                    {.name = "pod_annotations", .kind = SHAPE_MAP, .max = 262144, .items = 64},
                                    {.name = "host_network", .kind = SHAPE_BOOL},
                                    END};

static const struct shape elastic[] = {{.name = "min", .kind = SHAPE_INT, .min = 1, .max = 10000},
                                       {.name = "max", .kind = SHAPE_INT, .min = 1, .max = 10000},
                                       {.name = "max_restarts", .kind = SHAPE_INT, .max = 1000},
                                       {.name = "rendezvous_backend", .kind = SHAPE_TEXT, .max = 64},
                                       {.name = "rendezvous_conf", .kind = SHAPE_MAP, .max = 256, .items = 64},
                                       {.name = "nproc_per_node", .kind = SHAPE_INT, .min = 1, .max = 1024},
                                       END};

static const struct shape run_policy[] = {
    {.name = "active_deadline", .kind = SHAPE_DURATION, .min = 1, .max = SECONDS_MAX},
    {.name = "ttl_after_finished", .kind = SHAPE_DURATION, .max = SECONDS_MAX},
    {.name = "backoff_limit", .kind = SHAPE_INT, .max = 1000},
    {.name = "clean_pods", .kind = SHAPE_ENUM, .values = clean_names},
    {.name = "suspend", .kind = SHAPE_BOOL},
    {.name = "queue", .kind = SHAPE_TEXT, .max = 253},
    {.name = "priority_class", .kind = SHAPE_TEXT, .max = 253},
    {.name = "gang", .kind = SHAPE_BOOL},
    {.name = "min_available", .kind = SHAPE_INT, .max = 10000},
    {.name = "start_deadline", .kind = SHAPE_DURATION, .min = 1, .max = SECONDS_MAX},
    END};

static const struct shape dependency[] = {
    {.name = "job", .kind = SHAPE_TEXT, .max = 63}, {.name = "on", .kind = SHAPE_ENUM, .values = on_names}, END};

static const struct shape metrics[] = {{.name = "log_pattern", .kind = SHAPE_TEXT, .max = 1024},
                                       {.name = "file", .kind = SHAPE_TEXT, .max = 4096},
                                       {.name = "names", .kind = SHAPE_TEXTS, .max = 128},
                                       END};

const struct shape shape_spec[] = {{.name = "name", .kind = SHAPE_TEXT, .max = 253},
                                   {.name = "name_prefix", .kind = SHAPE_TEXT, .max = 253},
                                   {.name = "namespace", .kind = SHAPE_TEXT, .max = 253},
                                   {.name = "runtime", .kind = SHAPE_TEXT, .max = 253},
                                   {.name = "backend", .kind = SHAPE_TEXT, .max = 253},
                                   {.name = "target", .kind = SHAPE_TEXT, .max = 253},
                                   {.name = "labels", .kind = SHAPE_MAP, .max = 4096, .items = 64},
                                   {.name = "annotations", .kind = SHAPE_MAP, .max = 262144, .items = 1000},
                                   {.name = "roles", .kind = SHAPE_LIST, .fields = role, .items = 64},
                                   {.name = "elastic", .kind = SHAPE_OBJECT, .fields = elastic},
                                   {.name = "run_policy", .kind = SHAPE_OBJECT, .fields = run_policy},
                                   {.name = "depends_on", .kind = SHAPE_LIST, .fields = dependency, .items = 32},
                                   {.name = "group", .kind = SHAPE_TEXT, .max = 253},
                                   {.name = "params", .kind = SHAPE_RAW},
                                   {.name = "metrics", .kind = SHAPE_OBJECT, .fields = metrics},
                                   {.name = "manifest", .kind = SHAPE_TEXT, .max = 1048576},
                                   END};
