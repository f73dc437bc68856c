// The same as JSON: docs/guides/layout-of-your-structs.md names the fields.
#include <nlohmann/json.hpp>

#include "lab/layout/report.hpp"

namespace lab::layout {

namespace {

using json = nlohmann::ordered_json;

json as_json(const member& m) {
    json j;
    j["name"] = m.name;
    j["declaration"] = m.declaration;
    j["kind"] = m.what == role::base           ? "base"
                : m.what == role::virtual_base ? "virtual base"
                : m.what == role::vtable       ? "vtable"
                                               : "data";
    if (m.what != role::virtual_base) j["offset"] = m.offset;
    if (m.size_is_known) j["size"] = m.size;
    if (m.alignment != 0) j["alignment"] = m.alignment;
    if (m.is_bit_field()) {
        j["bit_offset"] = m.bit_offset;
        j["bit_size"] = m.bit_size;
    }
    for (const member& inner : m.inside) j["inside"].push_back(as_json(inner));
    return j;
}

json members_of(const type_layout& t) {
    json j = json::array();
    for (const member& m : t.members) j.push_back(as_json(m));
    return j;
}

json as_json(const usage& u, std::uint64_t line_size) {
    return {{"used", u.used_size},
            {"lines", u.touched_lines},
            {"share", u.share(line_size)},
            {"lines_in_array", u.lines_in_array},
            {"used_of_line", u.used_of_line}};
}

json as_json(const type_report& r, std::uint64_t line_size) {
    json j;
    j["name"] = r.type.name;
    j["keyword"] = r.type.keyword;
    j["place"] = r.type.place;
    j["size"] = r.type.size;
    if (r.type.alignment != 0) j["alignment"] = r.type.alignment;
    j["lines"] = r.found.line_count;
    j["member_size"] = r.found.member_size;
    j["members"] = members_of(r.type);
    j["holes"] = json::array();
    for (const gap& g : r.found.holes)
        j["holes"].push_back({{"offset", g.offset}, {"size", g.size}});
    j["padding"] = r.found.padding.size;
    j["unused_bits"] = r.found.unused_bits;
    j["wasted"] = r.found.wasted();
    j["places_unknown"] = r.type.has_unknown_places;
    j["straddling"] = json::array();
    for (const member* const m : r.found.straddling) j["straddling"].push_back(m->name);
    j["loops"] = json::array();
    for (const loop& l : r.loops) {
        json costs = as_json(l.costs, line_size);
        costs["members"] = l.names;
        j["loops"].push_back(std::move(costs));
    }
    json& order = j["order"];
    if (!r.order.why_not.empty()) {
        order["why_not"] = r.order.why_not;
    } else {
        order["is_better"] = r.order.is_better;
        order["size"] = r.order.type.size;
        order["straddling"] = look_at(r.order.type, line_size).straddling.size();
        order["members"] = members_of(r.order.type);
        order["loops"] = json::array();
        for (const usage& u : r.costs_then) order["loops"].push_back(as_json(u, line_size));
    }
    if (!r.loops.empty())
        j["columns"] = {{"row", r.as_columns.row},
                        {"line", r.as_columns.line},
                        {"remarks", r.as_columns.remarks}};
    return j;
}

}  // namespace

std::string as_json(const program_report& report) {
    json j;
    j["schema"] = 1;
    j["binary"] = report.path;
    j["line_size"] = report.line_size;
    j["type_count"] = report.type_count;
    j["types"] = json::array();
    for (const type_report& t : report.types) j["types"].push_back(as_json(t, report.line_size));
    for (const summary_row& r : report.rows) {
        j["types"].push_back({{"name", r.name},
                              {"size", r.size},
                              {"wasted", r.wasted},
                              {"hole_size", r.hole_size},
                              {"padding", r.padding},
                              {"lines", r.lines},
                              {"straddling", r.straddling}});
    }
    j["left_out"] = report.rows_left_out;
    j["notes"] = report.notes;
    // Names of types are whatever bytes the file has.
    return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lab::layout
