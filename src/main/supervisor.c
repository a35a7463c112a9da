// The supervisor's program: everything is in local/.
#include "local/local.h"

int main(int argc, char **argv) {
    return local_supervisor_main(argc, argv);
}
