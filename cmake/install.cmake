# What `cmake --install` puts where: the libraries, their headers, the CMake package and the pkg-config
# files. Both of the latter carry the value of CAIRN_ASSERTS that the library was built with, so that
# it and its users always agree.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Two components: what programs load (a shared library, and its printers for gdb), and all the rest.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME cairn_dev)
set(cairn_debuggers_component cairn_dev)
if(BUILD_SHARED_LIBS)
    set(cairn_debuggers_component cairn_runtime)
endif()

set(cairn_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cairn)
install(TARGETS cairn EXPORT cairn-targets FILE_SET HEADERS FILE_SET adapters
        LIBRARY COMPONENT cairn_runtime NAMELINK_COMPONENT cairn_dev)
install(TARGETS cairn_testing EXPORT cairn-targets FILE_SET HEADERS)
install(EXPORT cairn-targets NAMESPACE cairn:: DESTINATION ${cairn_package_dir})
configure_package_config_file(
    cmake/cairn-config.cmake.in cairn-config.cmake INSTALL_DESTINATION ${cairn_package_dir})
write_basic_package_version_file(cairn-config-version.cmake COMPATIBILITY SameMinorVersion)
if(CAIRN_MODULE)   # the source of the module: each user compiles it
    install(TARGETS cairn_module EXPORT cairn-module-targets
            FILE_SET CXX_MODULES DESTINATION ${CMAKE_INSTALL_DATADIR}/cairn/module)
    install(EXPORT cairn-module-targets NAMESPACE cairn:: DESTINATION ${cairn_package_dir} CXX_MODULES_DIRECTORY module)
else()             # ... by hand, then
    install(FILES src/cairn.cppm DESTINATION ${CMAKE_INSTALL_DATADIR}/cairn/module)
endif()
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
foreach(package cairn cairn-testing)
    configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc.configured @ONLY)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/pkgconfig/$<CONFIG>/${package}.pc
         INPUT ${PROJECT_BINARY_DIR}/${package}.pc.configured)
    install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/$<CONFIG>/${package}.pc
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# What debuggers need to show cairn's objects (docs/debugging.md): share/cairn/debuggers. gdb loads a
# script unasked from its own folder, share/gdb/auto-load, for a shared library of the same path;
# CAIRN_NAME_GDB_SCRIPT: also for programs that contain a static one, which then name the script.
option(CAIRN_NAME_GDB_SCRIPT "Programs that link a static cairn tell gdb where its script is" OFF)
set(cairn_debuggers_dir ${CMAKE_INSTALL_DATADIR}/cairn/debuggers)
install(FILES debuggers/cairn_views.py debuggers/cairn_gdb.py debuggers/cairn_lldb.py debuggers/cairn.natvis
        DESTINATION ${cairn_debuggers_dir} COMPONENT ${cairn_debuggers_component})
if(BUILD_SHARED_LIBS)
    set(cairn_auto_load_dir ${CMAKE_INSTALL_DATADIR}/gdb/auto-load/${CMAKE_INSTALL_FULL_LIBDIR})
    set(cairn_auto_load_name libcairn.so.${PROJECT_VERSION}-gdb.py)
elseif(CAIRN_NAME_GDB_SCRIPT)
    set(cairn_auto_load_dir ${CMAKE_INSTALL_DATADIR}/gdb/auto-load/cairn)
    set(cairn_auto_load_name cairn-gdb.py)
    set_property(SOURCE src/core/inside/flavour.cpp APPEND PROPERTY COMPILE_DEFINITIONS
        "CAIRN_GDB_SCRIPT=\"${CMAKE_INSTALL_FULL_DATADIR}/gdb/auto-load/cairn/${cairn_auto_load_name}\"")
endif()
if(cairn_auto_load_dir AND NOT WIN32)
    cmake_path(NORMAL_PATH cairn_auto_load_dir)
    file(RELATIVE_PATH cairn_debuggers_from_auto_load
         /prefix/${cairn_auto_load_dir} /prefix/${cairn_debuggers_dir})
    configure_file(debuggers/auto_load.py.in ${PROJECT_BINARY_DIR}/${cairn_auto_load_name} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${cairn_auto_load_name} DESTINATION ${cairn_auto_load_dir}
            COMPONENT ${cairn_debuggers_component})
endif()
