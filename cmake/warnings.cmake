# One target carries the warnings, the sanitizers and the feature macro for everything that is ours.
add_library(trainerd_build INTERFACE)
target_compile_definitions(trainerd_build INTERFACE _GNU_SOURCE TRAINERD_VERSION="${PROJECT_VERSION}")
target_compile_options(trainerd_build INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
    -fvisibility=hidden -fno-omit-frame-pointer
    -UNDEBUG) # asserts are for our own mistakes, and cheap: they stay on in release
if(TRAINERD_SANITIZE)
    target_compile_options(trainerd_build INTERFACE -fsanitize=${TRAINERD_SANITIZE} -fno-sanitize-recover=undefined)
    target_link_options(trainerd_build INTERFACE -fsanitize=${TRAINERD_SANITIZE})
endif()
if(TRAINERD_FUZZ)
    target_compile_options(trainerd_build INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TRAINERD_COVERAGE)
    target_compile_options(trainerd_build INTERFACE --coverage)
    target_link_options(trainerd_build INTERFACE --coverage)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    target_compile_options(trainerd_build INTERFACE -D_FORTIFY_SOURCE=2 -fstack-protector-strong)
    target_link_options(trainerd_build INTERFACE -Wl,-z,relro,-z,now)
endif()
