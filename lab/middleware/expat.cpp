// A document of 300 KiB with Expat, in pieces of 4 KiB, as they come from a file.
#include <cairn/adapt/expat.hpp>

#include <string>

#include "lab/middleware/run.hpp"

namespace {

std::string document() {
    std::string text = "<!DOCTYPE d [<!ENTITY e 'an entity'>]><d xmlns:n='urn:n'>";
    for (int i = 0; text.size() < 300'000; ++i) {
        const std::string number = std::to_string(i);
        text += "<n:item number='" + number + "' name" + std::to_string(i % 40) + "='value " +
                number + "'><part>&e; and text " + number + "</part></n:item>";
    }
    return text + "</d>";
}

}  // namespace

int main(int count, char** words) {
    const std::string text = document();
    return lab::middleware::run(count, words, [&](bool on_cairn, auto& call) -> std::uint64_t {
        XML_Parser parser = nullptr;
        std::uint64_t sum = 0;
        call([&] {
            parser =
                on_cairn ? cairn::new_xml_parser(nullptr, "|") : XML_ParserCreateNS(nullptr, '|');
            XML_SetUserData(parser, &sum);
            XML_SetElementHandler(
                parser,
                [](void* to, const XML_Char*, const XML_Char** values) {
                    for (; *values != nullptr; ++values) ++*static_cast<std::uint64_t*>(to);
                },
                [](void*, const XML_Char*) {});
            XML_SetCharacterDataHandler(parser, [](void* to, const XML_Char*, int size) {
                *static_cast<std::uint64_t*>(to) += static_cast<std::uint64_t>(size);
            });
        });
        for (std::size_t at = 0; at < text.size(); at += 4096) {
            call([&] {
                const std::size_t size = std::min<std::size_t>(4096, text.size() - at);
                if (XML_Parse(parser, text.data() + at, static_cast<int>(size),
                              at + size == text.size()) != XML_STATUS_OK) {
                    std::abort();
                }
            });
        }
        call([&] { XML_ParserFree(parser); });
        return sum;
    });
}
