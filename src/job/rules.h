// The rules of a spec that a table of shapes cannot say. Private to job/.
#ifndef JOB_RULES_H
#define JOB_RULES_H

#include "job/shape.h"

void rules_names(const struct json *spec, struct shape_path *path, struct err *err);
void rules_roles(const struct json *spec, struct shape_path *path, struct err *err);
void rules_policies(const struct json *spec, struct shape_path *path, struct err *err);
void rules_role(const struct json *role, struct shape_path *path, struct err *err);

// Adds a violation at path + field.
void rules_at(struct shape_path *path, struct err *err, const char *field, const char *fmt, ...) PRINTF_LIKE(4, 5);

#endif
