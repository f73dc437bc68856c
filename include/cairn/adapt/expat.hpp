// cairn/adapt/expat.hpp - a parser of Expat in a memory that the program names.
//
//      cairn::heap<>& text_memory() noexcept;            // how to write it: adapt/hooks.hpp
//      XML_Parser const parser = cairn::new_xml_parser<text_memory>();
//      XML_ParserFree(parser);
//
// When the memory refuses, XML_Parse() returns XML_STATUS_ERROR with XML_ERROR_NO_MEMORY.
//
// Memory:  Expat's functions have no context, so all parsers with the same `Memory` share it. An
//          arena is wrong: Expat grows its buffers again and again. The default is a heap<> for
//          one thread; a program that parses on several names one for any thread.
// Threads: those of the memory. A parser is used by one thread at a time.
#pragma once

#include <cairn/adapt/hooks.hpp>
#include <cairn/adapt/inside/library_memory.hpp>
#include <cairn/alloc/heap.hpp>

#include <expat.h>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// As XML_ParserCreate(), or, with a `separator`, as XML_ParserCreateNS().
/// Returns: nullptr when the memory refuses.
template <auto& Memory>
[[nodiscard]] XML_Parser new_xml_parser(const XML_Char* encoding = nullptr,
                                        const XML_Char* separator = nullptr) noexcept {
    using in = hooks<Memory>;
    const XML_Memory_Handling_Suite functions{in::malloc, in::realloc, in::free};
    return XML_ParserCreate_MM(encoding, &functions, separator);
}
/// The same with a heap<> that never ends, for one thread.
[[nodiscard]] inline XML_Parser new_xml_parser(const XML_Char* encoding = nullptr,
                                               const XML_Char* separator = nullptr) noexcept {
    return new_xml_parser<detail::never_ended<heap<>, XML_ParserStruct>>(encoding, separator);
}

}}  // namespace cairn::CAIRN_FLAVOUR
