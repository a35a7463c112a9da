#include "base/arena.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

Test(arena, aligned_zeroed_apart) {
    struct arena a;
    arena_init(&a, 0);
    char *before = NULL;
    for (size_t i = 0; i < 2000; i++) {
        size_t size = i % 37;
        char *p = arena_alloc(&a, size);
        cr_assert_eq((uintptr_t)p % alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++) {
            cr_assert_eq(p[k], 0);
        }
        memset(p, 0xff, size);
        cr_assert(size == 0 || p != before);
        before = size == 0 ? before : p;
    }
    arena_done(&a);
    cr_expect_eq(a.used, 0);
    cr_expect_null(a.head);
    memset(arena_alloc(&a, 1000000), 1, 1000000); // larger than a block; and usable again
    arena_done(&a);
}

Test(arena, limit) {
    struct arena a;
    arena_init(&a, 1000);
    cr_expect_null(arena_try_alloc(&a, 1001));
    cr_expect_not_null(arena_try_alloc(&a, 500));
    cr_expect_null(arena_try_alloc(&a, 500), "500 takes 512 of 1000");
    cr_expect_not_null(arena_try_alloc(&a, 480));
    cr_expect_leq(a.used, 1000);
    cr_expect_null(arena_try_alloc(&a, 100));
    cr_expect_null(arena_try_alloc(&a, SIZE_MAX));
    arena_done(&a);
    cr_expect_not_null(arena_try_alloc(&a, 900), "the limit is for what is held");
    cr_expect_null(arena_try_alloc(&a, 900));
    arena_done(&a);
}

Test(arena, passing_the_limit_blindly_aborts, .signal = SIGABRT) {
    struct arena a;
    arena_init(&a, 16);
    (void)arena_alloc(&a, 17);
}

Test(arena, texts) {
    struct arena a;
    arena_init(&a, 0);
    cr_expect_str_eq(arena_strdup(&a, "abc"), "abc");
    cr_expect_null(arena_strdup(&a, NULL));
    char *s = arena_strndup(&a, "a\0bcd", 4);
    cr_expect(memcmp(s, "a\0bc", 5) == 0);
    cr_expect_str_eq(arena_strndup(&a, NULL, 0), "");
    char *long_one = arena_printf(&a, "%0*d|%s", 5000, 7, "end");
    cr_expect_eq(strlen(long_one), 5004);
    cr_expect_str_eq(long_one + 4999, "7|end");
    arena_done(&a);
}

Test(mem, helpers) {
    CLEANUP(mem_free_ptr) char *s = mem_strndup("abcdef", 3);
    cr_expect_str_eq(s, "abc");
    CLEANUP(mem_free_ptr) char *t = mem_strndup("ab", 30);
    cr_expect_str_eq(t, "ab");
    cr_expect_null(mem_strdup(NULL));
    CLEANUP(mem_free_ptr) char *p = mem_printf("%d-%s", 7, "x");
    cr_expect_str_eq(p, "7-x");
    char *from = p;
    char *moved = TAKE(p);
    cr_expect_null(p);
    cr_expect_eq(moved, from);
    mem_free(moved);
    int *zeros = mem_zalloc(0);
    cr_expect_not_null(zeros);
    mem_free(zeros);
    int *grown = mem_realloc_array(NULL, 4, sizeof(int));
    grown[3] = 9;
    grown = mem_realloc_array(grown, 1000, sizeof(int));
    cr_expect_eq(grown[3], 9);
    mem_free(grown);
}

Test(mem, overflow_of_an_array_aborts, .signal = SIGABRT) {
    mem_free(mem_realloc_array(NULL, SIZE_MAX / 2, 4));
}
