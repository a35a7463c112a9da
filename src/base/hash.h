// Intrusive-free hash map from text to pointer. Keys are borrowed: they must live as long as the entry.
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash {
    struct hash_slot *slots;
    size_t cap, count, used; // used counts deleted places too
};

#define HASH_INIT                                                                                                      \
    { 0 }

void hash_done(struct hash *h);                        // frees the table, not keys or values
void *hash_get(const struct hash *h, const char *key); // NULL when absent
// Returns the value that was there before, or NULL. value must not be NULL.
void *hash_put(struct hash *h, const char *key, void *value);
void *hash_remove(struct hash *h, const char *key); // the removed value or NULL
// Walk: `size_t at = 0; while ((v = hash_next(&h, &at)) != NULL)`. Removing the current entry is allowed.
void *hash_next(const struct hash *h, size_t *at);

uint64_t hash_bytes(const void *data, size_t n); // FNV-1a, not for security

#endif
