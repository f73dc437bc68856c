// Sentences of cairn/adapt/expat.hpp, with the real Expat.
#include <cairn/adapt/expat.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/refusals.hpp"

using namespace cairn;

namespace {

failing<heap<>> memory;

std::string document() {
    std::string text = "<!DOCTYPE d [<!ENTITY e 'an entity'>]><d xmlns:n='urn:n'>";
    for (int i = 0; i < 200; ++i) {
        text += "<n:item number='" + std::to_string(i) + "' name" + std::to_string(i % 40) +
                "='v'>&e; text</n:item>";
    }
    return text + "</d>";
}

template <auto& Memory>
outcome run(const std::string& text, const char* separator) {
    XML_Parser const parser = new_xml_parser<Memory>(nullptr, separator);
    if (parser == nullptr) { return outcome::refused; }
    int count = 0;
    XML_SetUserData(parser, &count);
    XML_SetElementHandler(
        parser, [](void* n, const XML_Char*, const XML_Char**) { ++*static_cast<int*>(n); },
        [](void*, const XML_Char*) {});
    XML_Status status = XML_STATUS_OK;
    for (std::size_t at = 0; at < text.size() && status == XML_STATUS_OK; at += 500) {
        const std::size_t size = std::min<std::size_t>(500, text.size() - at);
        status =
            XML_Parse(parser, text.data() + at, static_cast<int>(size), at + size == text.size());
    }
    if (status != XML_STATUS_OK) {
        // Expat 2.5 reports one refusal with namespaces as a prefix that was not bound.
        const XML_Error error = XML_GetErrorCode(parser);
        EXPECT_TRUE(error == XML_ERROR_NO_MEMORY ||
                    (separator != nullptr && error == XML_ERROR_UNBOUND_PREFIX))
            << XML_ErrorString(error);
    }
    XML_ParserFree(parser);
    if (status == XML_STATUS_OK) { EXPECT_EQ(count, 201); }
    return status == XML_STATUS_OK ? outcome::done : outcome::refused;
}

}  // namespace

TEST(expat, reports_each_refusal) {
    const std::string text = document();
    run_with_refusals(memory, [&] { return run<memory>(text, nullptr); });
    run_with_refusals(memory, [&] { return run<memory>(text, "|"); });
}

TEST(expat, has_a_memory_of_its_own_by_default) {
    XML_Parser const parser = new_xml_parser();
    auto& own = detail::never_ended<heap<>, XML_ParserStruct>();
    EXPECT_TRUE(own.owns(parser));
    XML_ParserFree(parser);
}
