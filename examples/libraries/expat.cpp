// How does Expat get its memory from cairn?
#include <cairn/adapt/expat.hpp>
#include <cstdio>

int main() {
    // [use]
    XML_Parser const parser = cairn::new_xml_parser();  // nullptr: no memory
    const XML_Status status = XML_Parse(parser, "<a>text</a>", 11, 1);
    XML_ParserFree(parser);
    // [/use]
    std::printf("parsed: %s\n", status == XML_STATUS_OK ? "yes" : "no");
    return status == XML_STATUS_OK ? 0 : 1;
}
