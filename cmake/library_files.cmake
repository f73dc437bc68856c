# The files of the library: every header below include/, every source below src/. A source for one system ends in
# _linux, _macos or _windows. The headers are checked one by one in the dev preset.
file(GLOB_RECURSE cairn_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/cairn/*.hpp)
# Adapters need another library's header: installed, and in no list of headers that compile alone.
file(GLOB cairn_adapters CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/cairn/adapt/*.hpp)
list(FILTER cairn_adapters EXCLUDE REGEX "/hooks[.]hpp$")
list(REMOVE_ITEM cairn_headers ${cairn_adapters})
file(GLOB_RECURSE cairn_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp)
if(WIN32)
    list(FILTER cairn_sources EXCLUDE REGEX "_(linux|macos)\\.cpp$")
elseif(APPLE)
    list(FILTER cairn_sources EXCLUDE REGEX "_(linux|windows)\\.cpp$")
else()
    list(FILTER cairn_sources EXCLUDE REGEX "_(macos|windows)\\.cpp$")
endif()
target_sources(cairn
    PRIVATE ${cairn_sources}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${cairn_headers}
    PUBLIC FILE_SET adapters TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${cairn_adapters})
# An adapter is compiled by its test, where its library is installed.
set_target_properties(cairn PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
