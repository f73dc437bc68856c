// lab/layout/debug_file.hpp - a program's debug information, wherever it lies: in the file itself, in
// one of its own (by build id or .gnu_debuglink), in .dwo files, in what dwz has put aside.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <functional>
#include <string>
#include <vector>

namespace lab::layout {

class debug_file {
public:
    /// Throws unreadable.
    explicit debug_file(const std::string& path);
    ~debug_file();
    debug_file(const debug_file&) = delete;
    debug_file& operator=(const debug_file&) = delete;

    /// visit(the unit's entry) for each unit that has types.
    using visitor = std::function<void(const Dwarf_Die&)>;
    void for_each_unit(const visitor& visit);

    /// What is missing or makes no sense, one sentence each; complete after for_each_unit.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

private:
    void visit_all(Dwarf* part, const visitor& visit);

    std::string path_;
    Dwfl* session_ = nullptr;
    int file_ = -1;           // open while plain_ is used
    Dwarf* plain_ = nullptr;  // without libdwfl
    std::vector<Dwarf*> parts_;
    std::vector<Dwarf*> visited_;
    std::size_t split_away_ = 0;
    bool is_broken_ = false;
    std::vector<std::string> notes_;
};

}  // namespace lab::layout
