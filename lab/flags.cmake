# The flags of the lab: as a user who cares would build, and stated in every report.
include(CheckCXXSourceRuns)
set(CMAKE_REQUIRED_FLAGS "-march=x86-64-v3")
check_cxx_source_runs("int main() {
    return __builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"bmi2\") &&
           __builtin_cpu_supports(\"fma\") ? 0 : 1; }" CAIRN_LAB_X86_64_V3)
unset(CMAKE_REQUIRED_FLAGS)
set(lab_flags -O3 -DNDEBUG)
if(CAIRN_LAB_X86_64_V3)
    list(APPEND lab_flags -march=x86-64-v3)
endif()
