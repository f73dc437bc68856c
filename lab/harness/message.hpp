// lab/harness/message.hpp - what a contender's process says to the lab: CBOR (RFC 8949).
//
//      {"is": "sample", "why": "", "result": {"elapsed_ns": 81.5, "operations": 64, ...}}
//      {"is": "failed", "why": "one sentence", "result": {...}}
//
// A message with a field less, or one that ends early, is no message: a figure that is missing must
// not be read as 0.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lab/harness/sample.hpp"

namespace lab {

/// What one sample said.
struct outcome {
    double elapsed_ns = 0;  ///< timer overhead already subtracted
    std::uint64_t operations = 0;
    std::uint64_t checksum = 0;
    bool has_value = false;
    double value = 0;
    std::vector<std::pair<std::string, double>> extras;
    std::vector<series> plots;
};
[[nodiscard]] outcome outcome_of(const sample& s, double elapsed_ns);

struct message {
    enum class kind { ready, sample, failed, no_library, cut } is = kind::cut;
    std::string why;  ///< of a failure
    outcome result;   ///< of a sample
};

using message_bytes = std::vector<std::uint8_t>;
[[nodiscard]] message_bytes bytes_of(const message& m);

/// Returns: what `bytes` say; kind::cut, and why, where they are not one whole message.
[[nodiscard]] message message_of(const message_bytes& bytes);

}  // namespace lab
