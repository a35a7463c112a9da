# trainerd_room(NAME USES lower rooms... LIBRARIES foreign libraries...): src/NAME/*.c as one static library.
# Linking says who may be used; tools/check-layers says who may be included.
function(trainerd_room name)
    cmake_parse_arguments(ROOM "" "" "USES;LIBRARIES" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c)
    if(NOT sources)
        file(WRITE ${CMAKE_BINARY_DIR}/empty_${name}.c "typedef int nothing_here_yet;\n")
        set(sources ${CMAKE_BINARY_DIR}/empty_${name}.c)
    endif()
    add_library(room_${name} STATIC ${sources})
    target_include_directories(room_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    list(TRANSFORM ROOM_USES PREPEND room_)
    target_link_libraries(room_${name} PUBLIC ${ROOM_USES} PRIVATE trainerd_build ${ROOM_LIBRARIES})
endfunction()
