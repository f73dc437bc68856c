# What `cmake --install` puts where: the library, its headers, the CMake package and the pkg-config
# file. Both of the latter carry the value of CAIRN_ASSERTS that the library was built with, so that
# it and its users always agree.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(cairn_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cairn)
install(TARGETS cairn EXPORT cairn-targets FILE_SET HEADERS)
install(EXPORT cairn-targets NAMESPACE cairn:: DESTINATION ${cairn_package_dir})
configure_package_config_file(
    cmake/cairn-config.cmake.in cairn-config.cmake INSTALL_DESTINATION ${cairn_package_dir})
write_basic_package_version_file(cairn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cairn-config.cmake
              ${PROJECT_BINARY_DIR}/cairn-config-version.cmake
        DESTINATION ${cairn_package_dir})

# The prefix is found from where the file lies, so the installed folder may be moved.
file(RELATIVE_PATH cairn_prefix_from_pc
     /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(cairn_shared_definition)
set(cairn_threads_public " -pthread")   # static: its users link the thread library
if(BUILD_SHARED_LIBS)
    set(cairn_shared_definition " -DCAIRN_SHARED=1")
    set(cairn_threads_public)
endif()
configure_file(cmake/cairn.pc.in ${PROJECT_BINARY_DIR}/cairn.pc.configured @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/pkgconfig/$<CONFIG>/cairn.pc
     INPUT ${PROJECT_BINARY_DIR}/cairn.pc.configured)
install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/$<CONFIG>/cairn.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
