include(CMakeFindDependencyMacro)
find_dependency(cairn 0.1)
include(${CMAKE_CURRENT_LIST_DIR}/engine-targets.cmake)
