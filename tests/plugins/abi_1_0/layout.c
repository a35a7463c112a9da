/* The layout that plugins of ABI 1.0 were compiled with, on 64-bit machines. A line that fails says that a released
 * plugin would read or be read at the wrong place. Members are added at the end; these lines never change. */
#include "trainer_plugin.h"

#define AT(type, member, offset) _Static_assert(offsetof(struct type, member) == (offset), #type "." #member)

AT(trainer_host, size, 0);
AT(trainer_host, abi_major, 4);
AT(trainer_host, abi_minor, 6);
AT(trainer_host, log, 8);
AT(trainer_host, fail, 16);
AT(trainer_host, fail_with, 24);
AT(trainer_host, get, 32);
AT(trainer_host, first, 40);
AT(trainer_host, next, 48);
AT(trainer_host, count, 56);
AT(trainer_host, type, 64);
AT(trainer_host, key, 72);
AT(trainer_host, text, 80);
AT(trainer_host, integer, 88);
AT(trainer_host, number, 96);
AT(trainer_host, boolean, 104);
AT(trainer_host, replicas, 112);
AT(trainer_host, begin_object, 120);
AT(trainer_host, end_object, 128);
AT(trainer_host, begin_array, 136);
AT(trainer_host, end_array, 144);
AT(trainer_host, put_key, 152);
AT(trainer_host, put_text, 160);
AT(trainer_host, put_integer, 168);
AT(trainer_host, put_number, 176);
AT(trainer_host, put_boolean, 184);
AT(trainer_host, put_value, 192);
AT(trainer_host, plan_process, 200);
AT(trainer_host, plan_arg, 208);
AT(trainer_host, plan_resources, 216);
AT(trainer_host, plan_env, 224);
AT(trainer_host, plan_env_integer, 232);
AT(trainer_host, plan_env_template, 240);
AT(trainer_host, plan_env_begin, 248);
AT(trainer_host, plan_env_add, 256);
AT(trainer_host, plan_env_end, 264);
AT(trainer_host, plan_process_end, 272);

AT(trainer_role, name, 0);
AT(trainer_role, description, 8);
AT(trainer_role, required, 16);
AT(trainer_role, min_replicas, 20);
AT(trainer_role, max_replicas, 24);
AT(trainer_role, restart, 28);

AT(trainer_target, name, 0);
AT(trainer_target, kind, 8);
AT(trainer_target, name_suffix, 16);

AT(trainer_functions, create, 0);
AT(trainer_functions, destroy, 8);
AT(trainer_functions, validate, 16);
AT(trainer_functions, plan_local, 24);
AT(trainer_functions, render, 32);
AT(trainer_functions, observe, 40);

AT(trainer_plugin, magic, 0);
AT(trainer_plugin, abi_major, 4);
AT(trainer_plugin, abi_minor, 6);
AT(trainer_plugin, size, 8);
AT(trainer_plugin, flags, 12);
AT(trainer_plugin, role_size, 16);
AT(trainer_plugin, target_size, 20);
AT(trainer_plugin, functions_size, 24);
AT(trainer_plugin, reserved_zero, 28);
AT(trainer_plugin, built_with, 32);
AT(trainer_plugin, name, 40);
AT(trainer_plugin, version, 48);
AT(trainer_plugin, description, 56);
AT(trainer_plugin, capabilities, 64);
AT(trainer_plugin, roles, 72);
AT(trainer_plugin, targets, 80);
AT(trainer_plugin, functions, 88);
AT(trainer_plugin, params_schema, 96);
AT(trainer_plugin, reserved_env, 104);
AT(trainer_plugin, main_container, 112);
AT(trainer_plugin, spare, 120);

_Static_assert(TRAINER_ABI_MAJOR == 1, "plugins of 1.0 need a host of major 1");
_Static_assert(TRAINER_PLUGIN_MAGIC == 0x54504c31u, "magic");
_Static_assert(TRAINER_CAP_LOCAL == 1 && TRAINER_CAP_RENDER == 2, "required capabilities");
_Static_assert(TRAINER_CAP_ELASTIC == UINT64_C(1) << 32 && TRAINER_CAP_SCALE == UINT64_C(1) << 33 &&
                   TRAINER_CAP_SUSPEND == UINT64_C(1) << 34,
               "optional capabilities");
_Static_assert(TRAINER_OK == 0 && TRAINER_FAILED == -1, "results");
_Static_assert(TRAINER_RESTART_NEVER == 1 && TRAINER_RESTART_ON_FAILURE == 2 && TRAINER_RESTART_ALWAYS == 3 &&
                   TRAINER_RESTART_EXIT_CODE == 4,
               "restart policies");
_Static_assert(TRAINER_NULL == 0 && TRAINER_BOOL == 1 && TRAINER_NUMBER == 2 && TRAINER_STRING == 3 &&
                   TRAINER_ARRAY == 4 && TRAINER_OBJECT == 5,
               "types");
