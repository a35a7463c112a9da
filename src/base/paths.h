// Where things of one user are, for the daemon and its command line alike.
#ifndef BASE_PATHS_H
#define BASE_PATHS_H

#include "base/str.h"

// The default state directory: $TRAINERD_STATE_DIR, $XDG_STATE_HOME/trainerd or ~/.local/state/trainerd; the first that
// is set to an absolute path. In it: trainerd.sock, token, port. Replaces the content of ret.
void paths_state_dir(struct str *ret);

#endif
