// The compiler extensions that trainerd uses, all of them, and nothing else.
#ifndef BASE_ATTR_H
#define BASE_ATTR_H

#define PRINTF_LIKE(fmt_index, arg_index) __attribute__((format(printf, fmt_index, arg_index)))
#define MUST_CHECK __attribute__((warn_unused_result))
#define NORETURN __attribute__((noreturn))
#define UNUSED __attribute__((unused))

// Declares an owned local: `CLEANUP(err_done) struct err err = ERR_INIT;`. fn takes a pointer to the local.
#define CLEANUP(fn) __attribute__((cleanup(fn)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
