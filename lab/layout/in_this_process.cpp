// In place of in_child.cpp where the system has no forks. (Nor has it libdw, which would need it.)
#include "lab/layout/in_child.hpp"

namespace lab::layout {

child_end run_in_child(const std::function<int()>& work, unsigned) { return {work(), {}}; }

}  // namespace lab::layout
