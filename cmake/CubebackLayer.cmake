# A layer is an object library with an include path of its own, so that including a header of a
# layer above it fails to build.
#
#   cubeback_layer(<name> SOURCES <glob pattern>... [EXTRA <file>...] [INCLUDES <directory>...])
#
# Makes the target cubeback_<name> of the sources that match in the current directory and the extra
# (generated) ones.
function(cubeback_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 layer "" "" "SOURCES;INCLUDES;EXTRA")
    file(GLOB sources CONFIGURE_DEPENDS ${layer_SOURCES})
    set(target cubeback_${name})
    add_library(${target} OBJECT ${sources} ${layer_EXTRA})
    cubeback_use_compiler(${target})
    set_target_properties(${target} PROPERTIES
        POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    target_compile_definitions(${target} PRIVATE CUBEBACK_BUILDING)
    target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR} ${layer_INCLUDES})
    set_property(GLOBAL APPEND PROPERTY CUBEBACK_LAYERS ${target})
endfunction()
