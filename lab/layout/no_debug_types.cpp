// In place of debug_types.cpp where elfutils' libdw is missing.
#include "lab/layout/debug_types.hpp"

namespace lab::layout {

struct debug_types::implementation {
    std::vector<std::string> notes;
};

debug_types::debug_types(const std::string&) {
#if defined(_WIN32)
    throw unreadable{"debug information is read with libdw, which is not there for this system"};
#else
    throw unreadable{
        "this cairn was built without libdw, which reads debug information: install Debian's "
        "libdw-dev and build it again"};
#endif
}
debug_types::~debug_types() = default;

std::size_t debug_types::count() const { return 0; }
std::string debug_types::name(std::size_t) const { return {}; }
std::vector<std::size_t> debug_types::find(std::string_view) const { return {}; }
type_layout debug_types::read(std::size_t) const { return {}; }
type_layout debug_types::measure(std::size_t) const { return {}; }
type_layout debug_types::inside(const member&) const { return {}; }
const std::vector<std::string>& debug_types::notes() const { return m_->notes; }

}  // namespace lab::layout
