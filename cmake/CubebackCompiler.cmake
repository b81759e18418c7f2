# Compiler settings of everything built here: an interface target `cubeback_compiler` that each
# target links privately. Nothing leaks into a project that embeds this one.

add_library(cubeback_compiler INTERFACE)

if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    # In structs and tables here what is left out is zero and means the default.
    target_compile_options(cubeback_compiler INTERFACE
        -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
        $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
        $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
        -ffp-contract=off)
    if(CUBEBACK_WERROR)
        target_compile_options(cubeback_compiler INTERFACE -Werror)
    endif()
endif()

target_compile_definitions(cubeback_compiler INTERFACE
    _POSIX_C_SOURCE=200809L
    _DEFAULT_SOURCE
    $<$<BOOL:${CUBEBACK_ASSERTS}>:CUBEBACK_ASSERTS>)

if(CUBEBACK_SANITIZE)
    set(sanitize_flags -fsanitize=${CUBEBACK_SANITIZE} -fno-omit-frame-pointer)
    if(CUBEBACK_SANITIZE MATCHES "undefined")
        list(APPEND sanitize_flags -fno-sanitize-recover=undefined)
    endif()
    target_compile_options(cubeback_compiler INTERFACE ${sanitize_flags})
    target_link_options(cubeback_compiler INTERFACE ${sanitize_flags})
endif()

if(CUBEBACK_COVERAGE)
    target_compile_options(cubeback_compiler INTERFACE --coverage)
    target_link_options(cubeback_compiler INTERFACE --coverage)
endif()

# Sets the language standard of a target of this project.
function(cubeback_use_compiler target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:cubeback_compiler>)
endfunction()
