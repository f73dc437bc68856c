// In place of compilation.cpp on Windows.
#include <stdexcept>

#include "lab/builds/compilation.hpp"

namespace lab {

std::string why_no_compilation() {
    return "it compiles programs and keeps them open without a name, which this system does not "
           "have";
}

std::string find_compiler(const std::string&) { return {}; }
int open_program(const std::string&) { return -1; }

temporary_folder::temporary_folder() { throw std::runtime_error{why_no_compilation()}; }
temporary_folder::~temporary_folder() = default;
void compile(std::vector<compile_job>&, const temporary_folder&, unsigned, double) {}

running_program::process::~process() = default;
running_program::running_program(int, const std::string&) {
    throw std::runtime_error{why_no_compilation()};
}
running_program::answer running_program::repeat(std::uint64_t) { return {}; }

}  // namespace lab
