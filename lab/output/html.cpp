#include <fmt/format.h>

#include "lab/output/output.hpp"

namespace lab {

// Where node or npm is missing: the words and the tables, without drawings.
std::string as_html(const run_result& run) {
    std::string text;
    for (const char c : as_markdown(run)) {
        switch (c) {
            case '&':
                text += "&amp;";
                break;
            case '<':
                text += "&lt;";
                break;
            default:
                text += c;
        }
    }
    return fmt::format(
        "<!doctype html>\n<html lang=en><meta charset=utf-8>\n<meta name=viewport "
        "content='width=device-width, initial-scale=1'>\n<title>cairn "
        "lab</title>\n<style>:root{{color-scheme:light "
        "dark}}pre{{overflow-x:auto}}</style>\n<h1>cairn lab</h1>\n<pre>\n{}</pre>\n</html>\n",
        text);
}

}  // namespace lab
