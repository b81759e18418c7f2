# Embeds the kernel texts.
#
#   cubeback_embed_kernels(<out variable>)
#
# For each kernels/<stem>.cl makes, in <build>/kernels, the flattened text <stem>.cl and <stem>.c
# with the bytes of that text; and kernels.h, which declares all of them as cbk_kernel_<stem>.
# Sets the variable to the list of generated sources.
function(cubeback_embed_kernels out_sources)
    set(kernels_directory ${PROJECT_SOURCE_DIR}/kernels)
    set(generated_directory ${PROJECT_BINARY_DIR}/kernels)
    set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedKernel.cmake)
    file(GLOB texts CONFIGURE_DEPENDS ${kernels_directory}/*.cl)
    file(GLOB headers CONFIGURE_DEPENDS ${kernels_directory}/include/*.clh)

    set(declarations "")
    set(generated ${generated_directory}/kernels.h)
    foreach(text IN LISTS texts)
        get_filename_component(stem ${text} NAME_WE)
        string(APPEND declarations "extern const struct cbk_rt_source cbk_kernel_${stem};\n")
        set(output ${generated_directory}/${stem}.c)
        add_custom_command(
            OUTPUT ${output} ${generated_directory}/${stem}.cl
            COMMAND ${CMAKE_COMMAND}
                    -D INPUT=${text} -D INCLUDE_DIRECTORY=${kernels_directory}/include
                    -D OUTPUT_DIRECTORY=${generated_directory} -P ${script}
            DEPENDS ${text} ${headers} ${script}
            COMMENT "Embedding kernels/${stem}.cl" VERBATIM)
        list(APPEND generated ${output})
    endforeach()

    file(CONFIGURE OUTPUT ${generated_directory}/kernels.h @ONLY CONTENT
"// Generated from kernels/*.cl.
#ifndef CUBEBACK_KERNELS_H
#define CUBEBACK_KERNELS_H

#include \"runtime.h\"

@declarations@
#endif
")
    set(${out_sources} ${generated} PARENT_SCOPE)
endfunction()
