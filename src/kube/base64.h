// Base64 as kubeconfigs and HTTP have it: with padding, line breaks and blanks allowed on the way in.
#ifndef KUBE_BASE64_H
#define KUBE_BASE64_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

void kube_base64_add(struct str *out, const void *data, size_t n);
// Appends what text stands for. false: it is not base64, and out may have got a part of it.
bool kube_base64_decode(const char *text, struct str *out) MUST_CHECK;

#endif
