#include "lab/harness/counts.hpp"

#include <cctype>
#include <cstdlib>

namespace lab {

double number_after(const std::string& text, const std::string& word) {
    std::size_t at = text.find(word);
    if (at == std::string::npos) return -1;
    at = text.find_first_not_of(' ', at + word.size());
    std::string digits;
    for (; at < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[at])) != 0 || text[at] == ',');
         ++at) {
        if (text[at] != ',') digits += text[at];
    }
    return digits.empty() ? -1 : std::strtod(digits.c_str(), nullptr);
}

counts counts_of_report(const std::string& text) {
    return {number_after(text, "I   refs:"), number_after(text, "D1  misses:"),
            number_after(text, "LLd misses:"), number_after(text, "Mispredicts:")};
}

}  // namespace lab
