# cairn::testing: what tests of broken promises need (<cairn/testing/expect_broken_promise.hpp>). A static library
# of its own, so that programs do not carry it. In a subproject it is built when something links it.
set(cairn_exclude_testing EXCLUDE_FROM_ALL)
if(CAIRN_INSTALL)
    set(cairn_exclude_testing)
endif()
add_library(cairn_testing STATIC ${cairn_exclude_testing}
            testing/src/aside.cpp testing/src/expect_broken_promise.cpp)
add_library(cairn::testing ALIAS cairn_testing)
target_sources(cairn_testing PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/testing/include
               FILES ${PROJECT_SOURCE_DIR}/testing/include/cairn/testing/expect_broken_promise.hpp)
target_link_libraries(cairn_testing PUBLIC cairn PRIVATE $<BUILD_INTERFACE:cairn_options>)
set_target_properties(cairn_testing PROPERTIES EXPORT_NAME testing POSITION_INDEPENDENT_CODE ON)
if(is_multi_config)
    set_target_properties(cairn_testing PROPERTIES DEBUG_POSTFIX d)
endif()
