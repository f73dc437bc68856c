// tests/support/death_words.hpp - what a death test looks for where a regular expression would need "or"
// or the end of a line: GoogleTest's own, which it uses on Windows, have neither.
//
//      EXPECT_DEATH(slots.deallocate(p), in_this_order({"a slot is freed once", "pool 'enemies'"}));
//      EXPECT_DEATH(h.deallocate(p), one_of({"a block is freed once", "a block that waits"}));
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

/// Matches a text that has all `parts` in it, one behind the other.
class in_this_order {
public:
    using is_gtest_matcher = void;

    explicit in_this_order(std::vector<std::string> parts) : parts_{std::move(parts)} {}

    bool MatchAndExplain(const std::string& text, std::ostream* why) const {
        std::size_t from = 0;
        for (const std::string& part : parts_) {
            const std::size_t at = text.find(part, from);
            if (at == std::string::npos) {
                if (why != nullptr) { *why << "there is no \"" << part << '"'; }
                return false;
            }
            from = at + part.size();
        }
        return true;
    }
    void DescribeTo(std::ostream* to) const {
        const char* between = "has";
        for (const std::string& part : parts_) {
            *to << between << " \"" << part << '"';
            between = " and then";
        }
    }
    void DescribeNegationTo(std::ostream* to) const {
        *to << "is no text that ";
        DescribeTo(to);
    }

private:
    std::vector<std::string> parts_;
};

/// Matches a text that has at least one of `parts` in it.
class one_of {
public:
    using is_gtest_matcher = void;

    explicit one_of(std::vector<std::string> parts) : parts_{std::move(parts)} {}

    bool MatchAndExplain(const std::string& text, std::ostream*) const {
        for (const std::string& part : parts_) {
            if (text.find(part) != std::string::npos) { return true; }
        }
        return false;
    }
    void DescribeTo(std::ostream* to) const {
        const char* between = "has";
        for (const std::string& part : parts_) {
            *to << between << " \"" << part << '"';
            between = " or";
        }
    }
    void DescribeNegationTo(std::ostream* to) const {
        *to << "is no text that ";
        DescribeTo(to);
    }

private:
    std::vector<std::string> parts_;
};
