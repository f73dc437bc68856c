// lab/command/report_file.hpp - where a report may go, and how it gets there.
//
//      regular file, or none yet   FILE.part is written, then renamed over FILE: a reader never sees half a report
//      symbolic link               the same for what it points to; the link stays
//      device, pipe, terminal      written into, once, at the end; never replaced
#pragma once

#include <string>

namespace lab {

class report_file {
public:
    report_file() = default;  ///< no report was asked for
    explicit report_file(std::string path);

    /// Could it be written now? Changes nothing and waits for nobody.
    /// Returns: "" where it could, otherwise why not.
    [[nodiscard]] std::string obstacle() const;

    /// Returns: "" when all of it is written, otherwise why not (a regular file is then as it was).
    [[nodiscard]] std::string write(const std::string& text) const;

    /// A partial report makes sense: a later one takes its place.
    [[nodiscard]] bool replaceable() const { return replaceable_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] explicit operator bool() const { return !path_.empty(); }

    /// Two reports would end in one file.
    [[nodiscard]] bool same_as(const report_file& other) const {
        return replaceable_ && other.replaceable_ && target_ == other.target_;
    }

private:
    std::string path_;    ///< as the user wrote it
    std::string target_;  ///< the replaced file: absolute, without symbolic links
    bool replaceable_ = false;
};

}  // namespace lab
