#include "lab/harness/message.hpp"

#include <nlohmann/json.hpp>

namespace lab {

void to_json(nlohmann::json& j, const series& s) { j = {s.name, s.x_label, s.y_label, s.points}; }

void from_json(const nlohmann::json& j, series& s) {
    j.at(0).get_to(s.name);
    j.at(1).get_to(s.x_label);
    j.at(2).get_to(s.y_label);
    j.at(3).get_to(s.points);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(outcome, elapsed_ns, operations, checksum, has_value, value,
                                   extras, plots)
NLOHMANN_JSON_SERIALIZE_ENUM(message::kind, {{message::kind::cut, "cut"},
                                             {message::kind::ready, "ready"},
                                             {message::kind::sample, "sample"},
                                             {message::kind::failed, "failed"},
                                             {message::kind::no_library, "no library"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(message, is, why, result)

outcome outcome_of(const sample& s, double elapsed_ns) {
    return {elapsed_ns, s.operations(), s.checksum(), s.has_value(),
            s.value(),  s.extras(),     s.plots()};
}

message_bytes bytes_of(const message& m) { return nlohmann::json::to_cbor(nlohmann::json(m)); }

message message_of(const message_bytes& bytes) {
    try {
        return nlohmann::json::from_cbor(bytes).get<message>();
    } catch (const nlohmann::json::exception& x) {
        return {.why = std::string{"its message is cut: "} + x.what()};
    }
}

}  // namespace lab
