#include "http/internal.h"

#include <string.h>

static const char *const names[HTTP_FAILURES] = {
    [HTTP_OK] = "OK",
    [HTTP_INVALID] = "INVALID",
    [HTTP_BUSY] = "BUSY",
    [HTTP_DNS] = "DNS",
    [HTTP_CONNECT] = "CONNECT",
    [HTTP_TLS] = "TLS",
    [HTTP_TIMEOUT] = "TIMEOUT",
    [HTTP_IDLE] = "IDLE",
    [HTTP_RESET] = "RESET",
    [HTTP_PROTOCOL] = "PROTOCOL",
    [HTTP_TOO_LARGE] = "TOO_LARGE",
    [HTTP_CANCELED] = "CANCELED",
};

const char *http_failure_name(enum http_failure failure) {
    return (unsigned)failure < HTTP_FAILURES ? names[failure] : "?";
}

// What is not here broke the connection: HTTP_RESET, or HTTP_CONNECT when nothing had been sent.
static const struct {
    CURLcode code;
    enum http_failure failure;
} meanings[] = {
    {CURLE_OK, HTTP_OK},
    {CURLE_URL_MALFORMAT, HTTP_INVALID},
    {CURLE_COULDNT_RESOLVE_HOST, HTTP_DNS},
    {CURLE_COULDNT_RESOLVE_PROXY, HTTP_DNS},
    {CURLE_COULDNT_CONNECT, HTTP_CONNECT},
    {CURLE_PROXY, HTTP_CONNECT},
    {CURLE_SSL_CONNECT_ERROR, HTTP_TLS},
    {CURLE_SSL_CERTPROBLEM, HTTP_TLS},
    {CURLE_SSL_CIPHER, HTTP_TLS},
    {CURLE_SSL_ISSUER_ERROR, HTTP_TLS},
    {CURLE_SSL_CACERT_BADFILE, HTTP_TLS},
    {CURLE_SSL_CRL_BADFILE, HTTP_TLS},
    {CURLE_SSL_CLIENTCERT, HTTP_TLS},
    {CURLE_SSL_SHUTDOWN_FAILED, HTTP_TLS},
    {CURLE_PEER_FAILED_VERIFICATION, HTTP_TLS},
    {CURLE_OPERATION_TIMEDOUT, HTTP_TIMEOUT},
    {CURLE_UNSUPPORTED_PROTOCOL, HTTP_PROTOCOL}, // an answer without a status line
    {CURLE_WEIRD_SERVER_REPLY, HTTP_PROTOCOL},
    {CURLE_BAD_CONTENT_ENCODING, HTTP_PROTOCOL},
};

enum http_failure http_failure_of(CURLcode code, bool sent, const char *problem) {
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
        if (meanings[i].code == code) {
            return meanings[i].failure;
        }
    }
    // With TLS 1.3 the server's verdict on our certificate comes after our side of the handshake is over, as an alert
    // in place of the answer.
    if (code == CURLE_RECV_ERROR && strstr(problem, " alert ") != NULL) {
        return HTTP_TLS;
    }
    return sent ? HTTP_RESET : HTTP_CONNECT;
}
