# Headers, libraries, the CMake package and the pkg-config file. All of it can be moved.
include(CMakePackageConfigHelpers)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/cubeback)

file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/cubeback/*.h)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cubeback)
file(GLOB family_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/cubeback/ops/*.h)
install(FILES ${family_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cubeback/ops)
install(TARGETS ${cubeback_library_targets} EXPORT cubeback_targets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT cubeback_targets NAMESPACE cubeback:: FILE cubebackTargets.cmake
        DESTINATION ${package_directory})

configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/cubebackConfig.cmake.in ${PROJECT_BINARY_DIR}/cubebackConfig.cmake
    INSTALL_DESTINATION ${package_directory}
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cubebackConfigVersion.cmake
    COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cubebackConfig.cmake
              ${PROJECT_BINARY_DIR}/cubebackConfigVersion.cmake
        DESTINATION ${package_directory})

# cubeback.pc finds its prefix from its own place.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(pc_private_libraries "")
if(NOT CUBEBACK_DLOPEN)
    string(APPEND pc_private_libraries " -lOpenCL")
endif()
if(CUBEBACK_BLAS)
    string(APPEND pc_private_libraries " -lclblast")
endif()
string(APPEND pc_private_libraries " -lm -ldl -pthread")
set(pc_libraries "")
set(pc_definitions "")
if(NOT CUBEBACK_BUILD_SHARED)
    # The static library is the only one: plain --libs must be enough.
    set(pc_libraries "${pc_private_libraries}")
    set(pc_private_libraries "")
    set(pc_definitions " -DCUBEBACK_STATIC")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/cubeback.pc.in ${PROJECT_BINARY_DIR}/cubeback.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cubeback.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
