#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(hash, small) {
    struct hash h = HASH_INIT;
    int one = 1;
    int two = 2;
    cr_expect_null(hash_get(&h, "a"));
    cr_expect_null(hash_remove(&h, "a"));
    cr_expect_null(hash_put(&h, "a", &one));
    cr_expect_eq(hash_put(&h, "a", &two), &one);
    cr_expect_eq(h.count, 1);
    cr_expect_null(hash_put(&h, "", &one)); // the empty key is a key
    cr_expect_eq(hash_get(&h, ""), &one);
    cr_expect_eq(hash_get(&h, "a"), &two);
    cr_expect_eq(hash_remove(&h, "a"), &two);
    cr_expect_null(hash_get(&h, "a"));
    cr_expect_eq(hash_remove(&h, ""), &one);
    cr_expect_eq(h.count, 0);
    hash_done(&h);
    hash_done(&h);
    cr_expect_null(hash_get(&h, "a"));
}

enum { KEYS = 4096, STEPS = 400000 };

// A long random walk against a plain array that knows the truth.
Test(hash, many_inserts_and_removes) {
    static char keys[KEYS][12];
    static bool there[KEYS];
    struct hash h = HASH_INIT;
    size_t count = 0;
    uint64_t random = 88172645463325252ULL;
    for (size_t i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "key%zu", i);
    }
    for (size_t step = 0; step < STEPS; step++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        size_t i = random % KEYS;
        cr_assert_eq(hash_get(&h, keys[i]), there[i] ? keys[i] : NULL);
        if (random >> 63 != 0) {
            cr_assert_eq(hash_put(&h, keys[i], keys[i]), there[i] ? keys[i] : NULL);
            count += !there[i];
            there[i] = true;
        } else {
            cr_assert_eq(hash_remove(&h, keys[i]), there[i] ? keys[i] : NULL);
            count -= there[i];
            there[i] = false;
        }
        cr_assert_eq(h.count, count);
    }
    cr_expect_leq(h.cap, 4 * KEYS, "removed places are used again: %zu", h.cap);
    size_t walked = 0;
    const char *key;
    for (size_t at = 0; (key = hash_next(&h, &at)) != NULL; walked++) {
        cr_expect_eq(hash_remove(&h, key), key); // the current entry may go
    }
    cr_expect_eq(walked, count);
    cr_expect_eq(h.count, 0);
    hash_done(&h);
}

Test(hash, same_size_for_ever) { // put and remove in turns must not fill the table with deleted places
    struct hash h = HASH_INIT;
    char key[20];
    for (int i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "k%d", i);
        cr_assert_null(hash_put(&h, key, key));
        cr_assert_eq(hash_remove(&h, key), key);
    }
    cr_expect_leq(h.cap, 32);
    cr_expect_null(hash_get(&h, "absent"));
    hash_done(&h);
}

struct item {
    int n;
    struct list link;
};

static int sum(const struct list *head) { // the digits in order
    int s = 0;
    LIST_EACH (node, head) {
        s = s * 10 + CONTAINER_OF(node, struct item, link)->n;
    }
    return s;
}

Test(list, everything) {
    struct list a = LIST_INIT(a);
    struct list b = LIST_INIT(b);
    struct item items[6];
    cr_expect(list_empty(&a));
    cr_expect_null(list_pop(&a));
    for (int i = 0; i < 6; i++) {
        items[i].n = i + 1;
        list_init(&items[i].link);
        cr_expect(!list_linked(&items[i].link));
        list_remove(&items[i].link); // harmless
        list_push(i < 3 ? &a : &b, &items[i].link);
        cr_expect(list_linked(&items[i].link));
    }
    cr_expect_eq(sum(&a), 123);
    list_splice(&a, &b);
    cr_expect_eq(sum(&a), 123456);
    cr_expect(list_empty(&b));
    list_splice(&a, &b);
    cr_expect_eq(sum(&a), 123456);
    list_splice(&b, &a);
    cr_expect_eq(sum(&b), 123456);
    list_remove(&items[2].link);
    list_push_front(&b, &items[2].link);
    cr_expect_eq(sum(&b), 312456);
    cr_expect_eq(list_pop(&b), &items[2].link);
    cr_expect(!list_linked(&items[2].link));
    LIST_EACH (node, &b) {
        if (CONTAINER_OF(node, struct item, link)->n % 2 == 0) {
            list_remove(node);
        }
    }
    cr_expect_eq(sum(&b), 15);
    struct list zero = {NULL, NULL};
    cr_expect(!list_linked(&zero));
}
