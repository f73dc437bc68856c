// The page that report/ bundles lies in the binary; the run's JSON is put where it says /*run*/.
#include <string_view>

#include "lab/output/output.hpp"

// Empty when there was no node or npm when the lab was built.
extern "C" const char cairn_page_begin[];
extern "C" const char cairn_page_end[];
asm(R"(
.pushsection .rodata
.global cairn_page_begin
.global cairn_page_end
cairn_page_begin:
.incbin ")" CAIRN_LAB_PAGE R"("
cairn_page_end:
.byte 0
.popsection
)");

namespace lab {

bool has_page() { return cairn_page_end - cairn_page_begin > 1000; }

std::string as_page(const run_result& run) {
    if (!has_page()) return as_html(run);
    const std::string_view page{cairn_page_begin,
                                static_cast<std::size_t>(cairn_page_end - cairn_page_begin)};
    constexpr std::string_view mark = "/*run*/";
    const std::size_t at = page.find(mark);
    std::string s{page.substr(0, at)};
    for (const char c : as_json(run, true)) {  // "</script" and "<!--" would end the element
        if (c == '<') {
            s += "\\u003c";
        } else {
            s += c;
        }
    }
    s += page.substr(at + mark.size());
    return s;
}

}  // namespace lab
