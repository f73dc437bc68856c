// Sentences of cairn/adapt/zlib.hpp, with the real zlib.
#include <cairn/adapt/zlib.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <string>

#include "support/refusals.hpp"

using namespace cairn;

namespace {

/// Packs a text and unpacks it again.
template <class A>
outcome run(A& memory) {
    std::string text;
    for (int i = 0; i < 500; ++i) { text += "line " + std::to_string(i * 7919) + "\n"; }
    std::string packed(compressBound(text.size()), '\0');
    std::string unpacked(text.size(), '\0');

    z_stream out{};
    set_zlib_memory(out, memory);
    if (deflateInit(&out, 6) != Z_OK) { return outcome::refused; }
    out.next_in = reinterpret_cast<Bytef*>(text.data());
    out.avail_in = static_cast<uInt>(text.size());
    out.next_out = reinterpret_cast<Bytef*>(packed.data());
    out.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(deflate(&out, Z_FINISH), Z_STREAM_END);
    deflateEnd(&out);

    z_stream in{};
    set_zlib_memory(in, memory);
    if (inflateInit(&in) != Z_OK) { return outcome::refused; }
    in.next_in = reinterpret_cast<Bytef*>(packed.data());
    in.avail_in = static_cast<uInt>(out.total_out);
    in.next_out = reinterpret_cast<Bytef*>(unpacked.data());
    in.avail_out = static_cast<uInt>(unpacked.size());
    const int end = inflate(&in, Z_FINISH);
    inflateEnd(&in);
    if (end == Z_MEM_ERROR) { return outcome::refused; }
    EXPECT_EQ(end, Z_STREAM_END);
    EXPECT_EQ(unpacked, text);
    return outcome::done;
}

}  // namespace

TEST(zlib, reports_each_refusal) {
    failing<heap<>> memory;
    run_with_refusals(memory, [&] { return run(memory); });
}

TEST(zlib, takes_an_arena) {
    growing_arena memory;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(run(memory), outcome::done);
        memory.reset();
    }
}
