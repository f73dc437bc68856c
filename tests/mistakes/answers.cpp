// What may be refused is said in the result: a program that does not look at it is warned.
struct enemy {
    float hp;
    float mass;
};
#pragma GCC diagnostic error "-Wunused-result"

//= mistake: a row that may not have been appended
//= says: ignoring return value
void f(cairn::table<enemy>& t) { t.push_back({}); }

//= mistake: a row that may not have been made
//= says: ignoring return value
void f(cairn::table<enemy>& t) { t.emplace_back(1.0f, 2.0f); }

//= mistake: an element that may not have been appended
//= says: ignoring return value
void f(cairn::builder<int>& list) { list.push_back(1); }

//= mistake: an element that may not have been made
//= says: ignoring return value
void f(cairn::builder<int>& list) { list.emplace_back(1); }

//= mistake: room that may not be there, in a table
//= says: ignoring return value
void f(cairn::table<enemy>& t) { t.reserve(100); }

//= mistake: room that may not be there, in a slot map
//= says: ignoring return value
void f(cairn::slot_map<enemy>& m) { m.reserve(100); }

//= mistake: room that may not be there, in a stable slot map
//= says: ignoring return value
void f(cairn::stable_slot_map<enemy>& m) { m.reserve(100); }

//= mistake: room that may not be there, in an array
//= says: ignoring return value
void f(cairn::packed_array<enemy>& a) { a.reserve(100); }

//= mistake: room that may not be there, in a pool
//= says: ignoring return value
void f(cairn::pool& p) { p.reserve(100); }

//= mistake: a message that may not have been sent
//= says: ignoring return value
void f(cairn::message_queue<int>& q) { q.try_push(1); }

//= mistake: memory that goes to no owner
//= says: ignoring return value
void f(cairn::heap<>& h) { h.allocate(100); }
