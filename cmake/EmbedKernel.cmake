# Run at build time by cmake -P: flattens one kernel text and writes it as a byte array.
#
#   INPUT              kernels/<stem>.cl
#   INCLUDE_DIRECTORY  where "x.clh" is found
#   OUTPUT_DIRECTORY   receives <stem>.cl (the flattened text) and <stem>.c
#
# Each file is taken in once, at the first #include "..." that names it, even where that stands
# under an #if: includes belong at the top of a text. #line marks keep the compiler's messages true
# to the files as written.
cmake_minimum_required(VERSION 3.20)

# Appends the flattened text of `path` to the global property `flat`.
function(flatten path)
    get_property(visited GLOBAL PROPERTY visited)
    get_filename_component(name ${path} NAME)
    if(name IN_LIST visited)
        return()
    endif()
    set_property(GLOBAL APPEND PROPERTY visited ${name})
    if(NOT EXISTS ${path})
        message(FATAL_ERROR "${INPUT}: included file ${name} does not exist")
    endif()

    file(READ ${path} rest)
    if(NOT rest MATCHES "\n$")
        string(APPEND rest "\n")
    endif()
    set_property(GLOBAL APPEND_STRING PROPERTY flat "#line 1 \"${name}\"\n")
    set(line 1)
    while(rest MATCHES "(^|\n)([ \t]*#[ \t]*include[ \t]*\"([^\"\n]+)\"[^\n]*\n)")
        set(directive "${CMAKE_MATCH_2}")
        set(included "${CMAKE_MATCH_3}")
        string(FIND "${rest}" "${directive}" begin)
        string(SUBSTRING "${rest}" 0 ${begin} before)
        string(LENGTH "${directive}" length)
        math(EXPR end "${begin} + ${length}")
        string(SUBSTRING "${rest}" ${end} -1 rest)

        string(REGEX REPLACE "[^\n]+" "" newlines "${before}")
        string(LENGTH "${newlines}" newline_count)
        math(EXPR line "${line} + ${newline_count} + 1")

        set_property(GLOBAL APPEND_STRING PROPERTY flat "${before}")
        flatten(${INCLUDE_DIRECTORY}/${included})
        set_property(GLOBAL APPEND_STRING PROPERTY flat "#line ${line} \"${name}\"\n")
    endwhile()
    set_property(GLOBAL APPEND_STRING PROPERTY flat "${rest}")
endfunction()

get_filename_component(stem ${INPUT} NAME_WE)
flatten(${INPUT})
get_property(flat GLOBAL PROPERTY flat)
set(flat_file ${OUTPUT_DIRECTORY}/${stem}.cl)
file(WRITE ${flat_file} "${flat}")

file(READ ${flat_file} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT_DIRECTORY}/${stem}.c
"// Generated from kernels/${stem}.cl.
#include \"kernels.h\"

static const unsigned char text[] = {
    ${bytes}
};
const struct cbk_rt_source cbk_kernel_${stem} = {\"${stem}\", text, sizeof text};
")
