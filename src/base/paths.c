#include "base/paths.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

// Relative values are ignored: two programs in different directories would not mean the same place.
static const char *absolute_env(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] == '/' ? value : NULL;
}

static const char *home(void) {
    const char *dir = absolute_env("HOME");
    if (dir != NULL) {
        return dir;
    }
    const struct passwd *user = getpwuid(geteuid());
    return user != NULL && user->pw_dir != NULL && user->pw_dir[0] == '/' ? user->pw_dir : "/var/lib";
}

void paths_state_dir(struct str *ret) {
    str_clear(ret);
    const char *dir = absolute_env("TRAINERD_STATE_DIR");
    if (dir != NULL) {
        str_add(ret, dir);
        return;
    }
    dir = absolute_env("XDG_STATE_HOME");
    if (dir != NULL) {
        str_printf(ret, "%s/trainerd", dir);
        return;
    }
    str_printf(ret, "%s/.local/state/trainerd", home());
}
