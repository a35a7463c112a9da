#include "base/hash.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

// Open addressing, linear probing, power-of-two capacity, tombstones, at most 3/4 used.
struct hash_slot {
    const char *key; // NULL: free; DELETED: tombstone
    void *value;
    uint64_t code;
};

static const char DELETED[] = "";

uint64_t hash_bytes(const void *data, size_t n) {
    const unsigned char *p = data;
    uint64_t h = 14695981039346656037ULL;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * 1099511628211ULL;
    }
    return h ^ (h >> 32);
}

void hash_done(struct hash *h) {
    mem_free(h->slots);
    *h = (struct hash)HASH_INIT;
}

static struct hash_slot *find(const struct hash *h, const char *key, uint64_t code) {
    for (size_t i = code & (h->cap - 1);; i = (i + 1) & (h->cap - 1)) {
        struct hash_slot *s = &h->slots[i];
        if (s->key == NULL) {
            return NULL;
        }
        if (s->key != DELETED && s->code == code && strcmp(s->key, key) == 0) {
            return s;
        }
    }
}

static void insert_new(struct hash *h, struct hash_slot slot) {
    size_t i = slot.code & (h->cap - 1);
    while (h->slots[i].key != NULL) {
        i = (i + 1) & (h->cap - 1);
    }
    h->slots[i] = slot;
    h->count++;
    h->used++;
}

static void grow(struct hash *h) {
    struct hash old = *h;
    size_t cap = 16;
    while (cap < (old.count + 1) * 2) {
        cap *= 2;
    }
    *h = (struct hash){.slots = mem_zalloc(cap * sizeof *h->slots), .cap = cap};
    for (size_t i = 0; i < old.cap; i++) {
        if (old.slots[i].key != NULL && old.slots[i].key != DELETED) {
            insert_new(h, old.slots[i]);
        }
    }
    mem_free(old.slots);
}

void *hash_get(const struct hash *h, const char *key) {
    if (h->count == 0) {
        return NULL;
    }
    struct hash_slot *s = find(h, key, hash_bytes(key, strlen(key)));
    return s != NULL ? s->value : NULL;
}

void *hash_put(struct hash *h, const char *key, void *value) {
    assert(value != NULL);
    uint64_t code = hash_bytes(key, strlen(key));
    struct hash_slot *s = h->cap != 0 ? find(h, key, code) : NULL;
    if (s != NULL) {
        void *old = s->value;
        s->key = key;
        s->value = value;
        return old;
    }
    if ((h->used + 1) * 4 > h->cap * 3) {
        grow(h);
    }
    insert_new(h, (struct hash_slot){.key = key, .value = value, .code = code});
    return NULL;
}

void *hash_remove(struct hash *h, const char *key) {
    struct hash_slot *s = h->count != 0 ? find(h, key, hash_bytes(key, strlen(key))) : NULL;
    if (s == NULL) {
        return NULL;
    }
    void *old = s->value;
    *s = (struct hash_slot){.key = DELETED};
    h->count--;
    return old;
}

void *hash_next(const struct hash *h, size_t *at) {
    while (*at < h->cap) {
        const struct hash_slot *s = &h->slots[(*at)++];
        if (s->key != NULL && s->key != DELETED) {
            return s->value;
        }
    }
    return NULL;
}
