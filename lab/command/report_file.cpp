#include "lab/command/report_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace lab {

namespace fs = std::filesystem;

namespace {

/// What a chain of symbolic links ends at, there or not.
fs::path followed(fs::path p) {
    std::error_code e;
    for (int links = 0; links != 40 && fs::is_symlink(fs::symlink_status(p, e)); ++links) {
        const fs::path to = fs::read_symlink(p, e);
        p = to.is_absolute() ? to : p.parent_path() / to;
    }
    const fs::path whole = fs::weakly_canonical(fs::absolute(p, e), e);
    return e ? p : whole;
}

}  // namespace

report_file::report_file(std::string path) : path_{std::move(path)} {
    if (path_.empty()) return;
    std::error_code e;
    const fs::file_status what = fs::status(path_, e);
    replaceable_ = fs::is_regular_file(what) || what.type() == fs::file_type::not_found;
    target_ = replaceable_ ? followed(path_).string() : path_;
}

std::string report_file::obstacle() const {
    if (!replaceable_) {  // opening a pipe would wait for its reader
        if (fs::is_directory(path_)) return std::strerror(EISDIR);
        return ::access(path_.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
    }
    const bool existed = fs::exists(target_);
    std::ofstream out{target_, std::ios::app};
    if (!out) return std::strerror(errno);
    out.close();
    if (!existed) fs::remove(target_);
    return {};
}

std::string report_file::write(const std::string& text) const {
    const std::string draft = replaceable_ ? target_ + ".part" : target_;
    std::error_code e;
    std::ofstream out{draft, std::ios::binary | std::ios::trunc};
    out << text;
    if (!out.flush()) {
        const std::string why = std::strerror(errno);
        out.close();
        if (replaceable_) fs::remove(draft, e);  // a full disk has no room for half a report
        return why;
    }
    out.close();
    if (replaceable_) fs::rename(draft, target_, e);
    return e ? e.message() : "";
}

}  // namespace lab
