// Resume tokens of logs: what was written is read, anything else is refused.
#include "base/id.h"
#include "base/mem.h"
#include "local/logtoken.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct log_scope scope = {.uid = "abc", .role = NULL, .index = -1};

Test(logtoken, round_trips) {
    static const size_t counts[] = {0, 1, 2, 100, LOG_TOKEN_PLACES_MAX};
    for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
        struct log_token token = {.attempt = 7, .count = counts[k]};
        token.places = mem_zalloc((counts[k] + 1) * sizeof *token.places);
        for (size_t i = 0; i < counts[k]; i++) {
            token.places[i] = (struct log_place){
                .rank = (uint32_t)(i * 9), .offset = i == 0 ? 0 : UINT64_C(1) << (i % 62), .announced = i % 2 == 0};
        }
        CLEANUP(str_done) struct str text = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct log_token got;
        log_token_write(&token, &scope, &text);
        cr_assert_eq(strlen(text.data), text.len);
        cr_assert_leq(text.len, LOG_TOKEN_TEXT_MAX);
        cr_assert(log_token_read(text.data, &scope, &got, &err));
        cr_assert_eq(got.attempt, 7);
        cr_assert_eq(got.count, counts[k]);
        for (size_t i = 0; i < got.count; i++) {
            cr_assert_eq(got.places[i].rank, token.places[i].rank);
            cr_assert_eq(got.places[i].offset, token.places[i].offset);
            cr_assert_eq(got.places[i].announced, token.places[i].announced);
        }
        log_token_done(&got);
        log_token_done(&token);
    }
}

Test(logtoken, more_places_than_a_token_holds_give_none) {
    struct log_token token = {.attempt = 1, .count = LOG_TOKEN_PLACES_MAX + 1};
    token.places = mem_zalloc(token.count * sizeof *token.places);
    CLEANUP(str_done) struct str text = STR_INIT;
    str_add(&text, "old");
    log_token_write(&token, &scope, &text);
    cr_assert_str_eq(str_text(&text), "");
    log_token_done(&token);
}

Test(logtoken, belongs_to_one_log) {
    struct log_place place = {.rank = 1, .offset = 5};
    const struct log_token token = {.attempt = 1, .places = &place, .count = 1};
    static const struct {
        struct log_scope scope;
        bool fits;
    } table[] = {
        {{"abc", "worker", 2}, true},  {{"abc", "Worker", 2}, true},   {{"abd", "worker", 2}, false},
        {{"abc", "worker", 1}, false}, {{"abc", "worker", -1}, false}, {{"abc", NULL, 2}, false},
        {{"abc", "master", 2}, false},
    };
    CLEANUP(str_done) struct str text = STR_INIT;
    log_token_write(&token, &table[0].scope, &text);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct log_token got;
        bool ok = log_token_read(text.data, &table[i].scope, &got, &err);
        cr_assert_eq(ok, table[i].fits, "%zu", i);
        cr_assert(ok || (err.code == ERR_INVALID && strcmp(err.violations[0].field, "resume_token") == 0));
        log_token_done(&got);
    }
}

Test(logtoken, every_changed_character_is_noticed) {
    struct log_place places[3] = {{.rank = 0, .offset = 1234567}, {.rank = 1, .offset = 1}, {.rank = 70, .offset = 0}};
    const struct log_token token = {.attempt = 300, .places = places, .count = 3};
    CLEANUP(str_done) struct str text = STR_INIT;
    log_token_write(&token, &scope, &text);
    for (size_t i = 0; i < text.len; i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct log_token got;
        char saved = text.data[i];
        text.data[i] = saved == 'A' ? 'B' : 'A';
        bool ok = log_token_read(text.data, &scope, &got, &err);
        // The last character has bits that mean nothing.
        cr_assert(!ok || i == text.len - 1, "%zu", i);
        log_token_done(&got);
        text.data[i] = saved;
    }
    for (size_t n = 0; n < text.len; n++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        CLEANUP(mem_free_ptr) char *cut = mem_strndup(text.data, n);
        struct log_token got;
        cr_assert(!log_token_read(cut, &scope, &got, &err), "%zu", n);
    }
    static const char *const wrong[] = {"", "x", "====", "no token", "\xff\xff\xff\xff", "AAAAAAAAAAAAAAAA"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct log_token got;
        cr_assert(!log_token_read(wrong[i], &scope, &got, &err));
    }
    CLEANUP(mem_free_ptr) char *huge = mem_alloc(LOG_TOKEN_TEXT_MAX + 2);
    memset(huge, 'A', LOG_TOKEN_TEXT_MAX + 1);
    huge[LOG_TOKEN_TEXT_MAX + 1] = '\0';
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct log_token got;
    cr_assert(!log_token_read(huge, &scope, &got, &err));
}
