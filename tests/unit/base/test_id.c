#include "base/attr.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <string.h>

Test(id, sha256_vectors) {
    CLEANUP(mem_free_ptr) char *million = mem_alloc(1000000);
    memset(million, 'a', 1000000);
    static const char abc[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    const struct {
        const char *text;
        size_t n;
        const char *right;
    } table[] = {
        {NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {abc, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {million, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {million, 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {million, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        uint8_t hash[ID_SHA256_LEN];
        char hex[2 * ID_SHA256_LEN + 1];
        id_sha256(table[i].text, table[i].n, hash);
        id_hex(hash, sizeof hash, hex);
        cr_expect_str_eq(hex, table[i].right, "%zu bytes: %s", table[i].n, hex);
    }
}

Test(id, base64url_vectors) {
    static const struct {
        const char *data;
        size_t n;
        const char *text;
    } table[] = {{"", 0, ""},           {"f", 1, "Zg"},          {"fo", 2, "Zm8"},          {"foo", 3, "Zm9v"},
                 {"foob", 4, "Zm9vYg"}, {"fooba", 5, "Zm9vYmE"}, {"foobar", 6, "Zm9vYmFy"}, {"\xff\xef\xbe", 3, "_---"},
                 {"\0\0\0", 3, "AAAA"}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char text[16];
        char back[8];
        id_base64url(table[i].data, table[i].n, text);
        cr_expect_str_eq(text, table[i].text);
        cr_expect_eq(id_base64url_decode(text, back, sizeof back), (long)table[i].n);
        cr_expect(memcmp(back, table[i].data, table[i].n) == 0);
        cr_expect_eq(id_base64url_decode(text, back, table[i].n), (long)table[i].n);
        cr_expect(table[i].n == 0 || id_base64url_decode(text, back, table[i].n - 1) == -1);
    }
    static const char *const bad[] = {"Z",  "Zg==", "Zm9v Y", "Zm+v",      "Zm/v",
                                      "Zh", "Zm9",  "Zm9vY",  "Zm9vYmF\n", "\xc3\xa9"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char back[16];
        cr_expect_eq(id_base64url_decode(bad[i], back, sizeof back), -1, "%s", bad[i]);
    }
}

Test(id, base64url_round_trips) {
    for (size_t n = 0; n < 300; n++) {
        uint8_t data[300];
        id_random(data, n);
        char *text = mem_alloc(4 * n / 3 + 3); // what the header promises to be enough
        uint8_t back[300];
        id_base64url(data, n, text);
        cr_assert_eq(id_base64url_decode(text, back, sizeof back), (long)n);
        cr_assert(memcmp(data, back, n) == 0);
        mem_free(text);
    }
}

Test(id, uids_sort_by_time_and_differ) {
    char a[ID_UID_LEN + 1];
    char b[ID_UID_LEN + 1];
    char before[13];
    int64_t ms = clock_wall() / CLOCK_MS;
    uint8_t bytes[6];
    for (int i = 0; i < 6; i++) {
        bytes[i] = (uint8_t)(ms >> (8 * (5 - i)));
    }
    id_hex(bytes, sizeof bytes, before);
    id_uid(a);
    cr_expect_eq(strlen(a), ID_UID_LEN);
    cr_expect_eq(strspn(a, "0123456789abcdef"), ID_UID_LEN);
    cr_expect_geq(strncmp(a, before, 12), 0);
    for (int i = 0; i < 1000; i++) {
        id_uid(b);
        cr_assert_leq(strncmp(a, b, 12), 0);
        cr_assert_str_neq(a, b);
        memcpy(a, b, sizeof a);
    }
}

Test(id, suffixes) {
    bool seen[256] = {false};
    for (int i = 0; i < 500; i++) {
        char s[ID_SUFFIX_LEN + 1];
        id_suffix(s);
        cr_assert_eq(strlen(s), ID_SUFFIX_LEN);
        cr_assert_eq(strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789"), ID_SUFFIX_LEN);
        for (int k = 0; k < ID_SUFFIX_LEN; k++) {
            seen[(unsigned char)s[k]] = true;
        }
    }
    int letters = 0;
    for (int i = 0; i < 256; i++) {
        letters += seen[i];
    }
    cr_expect_eq(letters, 36);
}

Test(id, secrets) {
    static const struct {
        const char *a, *b;
        bool same;
    } table[] = {{"abc", "abc", true}, {"", "", true},       {"abc", "abd", false}, {"abc", "ab", false},
                 {"ab", "abc", false}, {"abc", "", false},   {"", "a", false},      {"aa", "a", false},
                 {"a", "aa", false},   {"xbc", "abc", false}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        cr_expect_eq(id_equal_secret(table[i].a, table[i].b), table[i].same, "%s %s", table[i].a, table[i].b);
    }
}
