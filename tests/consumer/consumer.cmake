# What the three CMake consumers share: they link cairn::cairn, and nothing but the library came
# with it.
add_executable(consumer ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
target_compile_options(consumer PRIVATE -Werror)
target_link_libraries(consumer PRIVATE cairn::cairn)
# Its tests link cairn::testing.
add_executable(consumer_tests ${CMAKE_CURRENT_LIST_DIR}/../testing/expect_broken_promise_plain.cpp)
target_link_libraries(consumer_tests PRIVATE cairn::testing)

get_target_property(inherited cairn::cairn INTERFACE_COMPILE_OPTIONS)
if(inherited)
    message(FATAL_ERROR "users of cairn::cairn inherit compile options: ${inherited}")
endif()
foreach(unwanted cairn_test_support thread_tests core_words_test)
    if(TARGET ${unwanted})
        message(FATAL_ERROR "cairn brought its target ${unwanted} along")
    endif()
endforeach()
foreach(unwanted CAIRN_TESTS CAIRN_LAB)
    if(DEFINED CACHE{${unwanted}})
        message(FATAL_ERROR "cairn brought its option ${unwanted} along")
    endif()
endforeach()
