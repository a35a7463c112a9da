// The program of an isolated plugin: everything is in plugin/.
#include "plugin/plugin.h"

int main(int argc, char **argv) {
    return plugin_host_main(argc, argv);
}
