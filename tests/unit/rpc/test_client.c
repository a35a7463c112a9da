#include "server_thread.h"

#include <criterion/criterion.h>

static const char check[] = "/grpc.health.v1.Health/Check", watch[] = "/grpc.health.v1.Health/Watch";
static const char info[] = "/trainer.v1.TrainerService/GetServerInfo";

Test(client, calls_over_both_sides) {
    struct server_thread t = {0};
    cr_assert(server_start(&t));
    const char *const addresses[] = {t.address, t.tcp};
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        CLEANUP(str_done) struct str out = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct rpc_client *c = rpc_client_new(addresses[i], i == 1 ? TOKEN : NULL);
        for (int k = 0; k < 50; k++) {
            cr_assert(rpc_client_call(c, check, NULL, 0, 10000, &out, &err), "%s", err.message);
            cr_assert(out.len == 2 && memcmp(out.data, "\x08\x01", 2) == 0, "SERVING");
        }
        rpc_client_free(c);
    }
    server_stop(&t, true);
}

Test(client, errors_have_their_details) {
    static const struct {
        const char *method, *request;
        bool tcp;
        const char *token;
        enum err_code code;
        const char *says;
    } cases[] = {
        {"/a.B/C", "", false, NULL, ERR_UNIMPLEMENTED, "/a.B/C"},
        {"/trainer.v1.TrainerService/SubmitBatch", "", false, NULL, ERR_UNIMPLEMENTED, "SubmitBatch"},
        {check, "\n\003abc", false, NULL, ERR_NOT_FOUND, "abc"},
        {info, "", true, NULL, ERR_UNAUTHENTICATED, "STATE_DIR/token"},
        {info, "", true, "another", ERR_UNAUTHENTICATED, "not the server's"},
        {info, "", true, "", ERR_UNAUTHENTICATED, "not the server's"},
    };
    struct server_thread t = {0};
    cr_assert(server_start(&t));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(str_done) struct str out = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct rpc_client *c = rpc_client_new(cases[i].tcp ? t.tcp : t.address, cases[i].token);
        cr_assert(!rpc_client_call(c, cases[i].method, cases[i].request, strlen(cases[i].request), 10000, &out, &err));
        cr_assert_eq(err.code, cases[i].code, "case %zu: %s", i, err.message);
        cr_assert_not_null(err.reason, "it came with details");
        cr_assert_neq(err.reason[0], '\0');
        cr_assert_not_null(strstr(err.message, cases[i].says), "%s", err.message);
        rpc_client_free(c);
    }
    server_stop(&t, true);
}

Test(client, nobody_there) {
    static const char *const addresses[] = {"unix:/nonexistent/socket", "127.0.0.1:1"};
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        CLEANUP(str_done) struct str out = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct rpc_client *c = rpc_client_new(addresses[i], NULL);
        cr_assert(!rpc_client_call(c, check, NULL, 0, 10000, &out, &err));
        cr_assert_eq(err.code, ERR_UNAVAILABLE);
        cr_assert_str_eq(err.reason, "NO_SERVER");
        cr_assert(str_starts(err.message, "no trainerd at "), "%s", err.message);
        cr_assert(str_ends(err.message, addresses[i]), "%s", err.message);
        rpc_client_free(c);
    }
}

Test(client, bad_token) {
    CLEANUP(str_done) struct str out = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct rpc_client *c = rpc_client_new("127.0.0.1:1", "a\nb");
    cr_assert(!rpc_client_call(c, check, NULL, 0, 1000, &out, &err));
    cr_assert_str_eq(err.reason, "BAD_TOKEN");
    rpc_client_free(c);
}

Test(client, deadline) {
    struct server_thread t = {0};
    CLEANUP(str_done) struct str out = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_assert(server_start(&t));
    struct rpc_client *c = rpc_client_new(t.address, NULL);
    cr_assert(!rpc_client_call(c, watch, NULL, 0, 100, &out, &err), "a stream does not end");
    cr_assert_eq(err.code, ERR_DEADLINE, "%s", err.message);
    rpc_client_free(c);
    server_stop(&t, true);
}

Test(client, streams) {
    struct server_thread t = {0};
    CLEANUP(str_done) struct str out = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct rpc_stream *s = NULL;
    struct rpc_stream *closed_early = NULL;
    cr_assert(server_start(&t));
    struct rpc_client *c = rpc_client_new(t.address, NULL);
    cr_assert(rpc_client_open(c, watch, NULL, 0, &s, &err));
    cr_assert(rpc_client_open(c, watch, NULL, 0, &closed_early, &err));
    cr_assert_eq(rpc_stream_next(s, 10000, &out, &err), STREAM_MESSAGE);
    cr_assert(memcmp(out.data, "\x08\x01", 2) == 0, "SERVING");
    cr_assert_eq(rpc_stream_next(s, 50, &out, &err), STREAM_TIMEOUT);
    cr_assert_eq(rpc_stream_next(s, 0, &out, &err), STREAM_TIMEOUT);
    rpc_stream_close(closed_early);
    t.orderly = true;
    loop_post(t.loop, &t.stop);
    cr_assert_eq(rpc_stream_next(s, 10000, &out, &err), STREAM_MESSAGE);
    cr_assert(memcmp(out.data, "\x08\x02", 2) == 0, "NOT_SERVING");
    cr_assert_eq(rpc_stream_next(s, 10000, &out, &err), STREAM_ERROR);
    cr_assert_eq(err.code, ERR_UNAVAILABLE);
    cr_assert_str_eq(err.reason, "SHUTTING_DOWN");
    rpc_stream_close(s);
    rpc_client_free(c);
    t.server = NULL; // it has been told to stop
    server_stop(&t, true);
}

Test(client, a_stream_that_ends_well) {
    static const char reflect[] = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    struct server_thread t = {0};
    CLEANUP(str_done) struct str out = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct rpc_stream *s = NULL;
    cr_assert(server_start(&t));
    struct rpc_client *c = rpc_client_new(t.address, NULL);
    cr_assert(rpc_client_open(c, reflect, "\x3a\x01*", 3, &s, &err)); // list_services
    cr_assert_eq(rpc_stream_next(s, 10000, &out, &err), STREAM_MESSAGE);
    cr_assert_not_null(memmem(out.data, out.len, "trainer.v1.TrainerService", 25));
    cr_assert_eq(rpc_stream_next(s, 10000, &out, &err), STREAM_END);
    cr_assert_eq(rpc_stream_next(s, 10000, &out, &err), STREAM_END, "and again");
    rpc_stream_close(s);
    rpc_client_free(c);
    server_stop(&t, true);
}
