# The libraries, made of the layers' objects: `cubeback` (shared) and `cubeback_static`; tests and
# tools that look inside use the static one. cubeback::cubeback is the shared one where it is built.

get_property(cubeback_layers GLOBAL PROPERTY CUBEBACK_LAYERS)
set(cubeback_objects "")
foreach(layer IN LISTS cubeback_layers)
    list(APPEND cubeback_objects $<TARGET_OBJECTS:${layer}>)
endforeach()

function(cubeback_library target type)
    add_library(${target} ${type} ${cubeback_objects})
    cubeback_use_compiler(${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME cubeback LINKER_LANGUAGE C)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PRIVATE Threads::Threads)
    if(NOT CUBEBACK_DLOPEN)
        target_link_libraries(${target} PRIVATE OpenCL::OpenCL)
    endif()
    if(CUBEBACK_BLAS)
        target_link_libraries(${target} PRIVATE clblast)
    endif()
    if(UNIX)
        target_link_libraries(${target} PRIVATE m ${CMAKE_DL_LIBS})
    endif()
endfunction()

set(cubeback_library_targets "")
if(CUBEBACK_BUILD_SHARED)
    cubeback_library(cubeback SHARED)
    set_target_properties(cubeback PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    if(UNIX AND NOT APPLE)
        set(map ${PROJECT_SOURCE_DIR}/cmake/cubeback.map)
        target_link_options(cubeback PRIVATE -Wl,--version-script=${map})
        set_property(TARGET cubeback APPEND PROPERTY LINK_DEPENDS ${map})
        if(NOT CUBEBACK_SANITIZE)
            target_link_options(cubeback PRIVATE -Wl,-z,defs)
        endif()
    endif()
    add_library(cubeback::cubeback ALIAS cubeback)
    list(APPEND cubeback_library_targets cubeback)
endif()
if(CUBEBACK_BUILD_STATIC OR CUBEBACK_TESTS OR CUBEBACK_TOOLS OR CUBEBACK_BENCH)
    cubeback_library(cubeback_static STATIC)
    target_compile_definitions(cubeback_static INTERFACE CUBEBACK_STATIC)
    add_library(cubeback::cubeback_static ALIAS cubeback_static)
    if(NOT CUBEBACK_BUILD_SHARED)
        add_library(cubeback::cubeback ALIAS cubeback_static)
        set_target_properties(cubeback_static PROPERTIES EXPORT_NAME cubeback)
    endif()
endif()
if(CUBEBACK_BUILD_STATIC)
    list(APPEND cubeback_library_targets cubeback_static)
endif()
if(NOT cubeback_library_targets)
    message(FATAL_ERROR "CUBEBACK_BUILD_SHARED and CUBEBACK_BUILD_STATIC are both OFF")
endif()

# What tests and tools compile with that look inside the library.
add_library(cubeback_internal INTERFACE)
target_include_directories(cubeback_internal INTERFACE
    ${PROJECT_SOURCE_DIR}/src/core
    ${PROJECT_SOURCE_DIR}/src/reference
    ${PROJECT_SOURCE_DIR}/src/runtime
    ${PROJECT_SOURCE_DIR}/src/opencl
    ${PROJECT_BINARY_DIR}/kernels)
target_link_libraries(cubeback_internal INTERFACE OpenCL::OpenCL Threads::Threads)
