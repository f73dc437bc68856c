// lab/families/whole_programs.hpp - programs of Debian packages, each run once under each malloc.
//
// A sample is one process: its user time, and the most memory that it had at once. The malloc is
// preloaded into that process alone. POSIX.
#pragma once

#if !defined(_WIN32)

#    include <sys/resource.h>
#    include <unistd.h>

#    include <fstream>
#    include <stdexcept>
#    include <string>
#    include <string_view>
#    include <vector>

#    include "lab/harness/sample.hpp"
#    include "lab/system/process.hpp"

namespace lab::whole_programs {

struct program {
    const char* name;
    std::vector<std::string> words;  // of its command; the last is a text that it reads as a file
};

inline const program programs[] = {
    {"python3, JSON and regular expressions", {"/usr/bin/python3", R"(
import json, random, re
random.seed(7)
def value(depth):
    if depth == 0: return random.choice([1, 2.5, None, True, 'text' * random.randrange(9)])
    return {str(random.random()): [value(depth - 1) for _ in range(3)] for _ in range(3)}
texts = [json.dumps(value(4), sort_keys=True) for _ in range(20)]
print([len(json.loads(t)) for t in texts], len(re.findall('0[.][0-9]{5,}', texts[0])))
)"}},
    {"sqlite3, a table of 150,000 rows", {"sqlite3", ":memory:", "-init", R"(
create table t(i integer primary key, a text, b real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
    insert into t select i, hex(i * 7919 % 10007) || 'x', i / 7.0 from n;
create index on_a on t(a);
select a, count(*) c, group_concat(i) from t group by a having c > 6 order by c desc, a limit 20;
update t set a = a || i where i % 3 = 0;
select count(distinct a), sum(length(a)) from t;
select json_group_array(json_object('i', i, 'a', a)) from t where i < 20000;
)"}},
    {"lua5.4, trees and strings", {"lua5.4", R"(
local function tree(d) if d == 0 then return {} end return {tree(d - 1), tree(d - 1)} end
local function count(t) return t[1] and 1 + count(t[1]) + count(t[2]) or 1 end
for round = 1, 6 do
    for d = 4, 15, 2 do print(d, count(tree(d))) end
    local words = {}
    for i = 1, 60000 do local k = 'key' .. i % 5003; words[k] = (words[k] or '') .. i % 10 end
end
)"}},
    {"gcc, a C++ file", {"g++", "-std=c++20", "-O1", "-S", "-o", "/dev/null", "-x", "c++", R"(
#include <algorithm>
#include <map>
#include <string>
#include <vector>
std::map<std::string, std::vector<int>> table;
void sort() { for (auto& [name, list] : table) std::sort(list.begin(), list.end()); }
)"}},
    {"ghostscript, a page",
     {"gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=ppmraw", "-r100", "-sOutputFile=/dev/null",
      R"(%!PS
/Helvetica findfont 24 scalefont setfont
0 1 40 { /i exch def i 12 mul dup 20 add moveto (cairn ) show i 10 string cvs show
  gsave i 40 div 0.3 0.7 setrgbcolor i 9 mul 600 i 9 mul sub 80 0 360 arc stroke grestore } for
/fib { dup 2 lt { pop 1 } { dup 1 sub fib exch 2 sub fib add } ifelse } def
20 fib 10 string cvs show showpage
)"}},
};

/// A file with `text`, until this object ends.
class temporary_file {
public:
    explicit temporary_file(std::string_view text) {
        const int file = ::mkstemp(name_.data());
        if (file < 0) throw std::runtime_error{"no temporary file can be made"};
        ::close(file);
        std::ofstream{name_} << text;
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() { ::unlink(name_.c_str()); }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    std::string name_ = "/tmp/cairn-lab-XXXXXX";
};

/// `program` is a name to look for, or a path.
inline bool is_here(const std::string& program) {
    return ::access(program.c_str(), X_OK) == 0 || is_on_path(program);
}

/// False when the program does not end with 0. Python's own allocator is not in the way.
inline bool runs_to_its_end(const std::vector<std::string>& program,
                            const std::string& malloc_path) {
    std::vector<std::string> words{"sh", "-c",
                                   R"(LD_PRELOAD="$0" PYTHONMALLOC=malloc "$@" </dev/null )"
                                   R"(>/dev/null 2>&1 && echo ended)",
                                   malloc_path};
    words.insert(words.end(), program.begin(), program.end());
    return output_of(words) == "ended\n";
}

/// What a run of the program used, with the shell's millisecond. Throws when it does not end with 0.
/// A copy of this process runs it: the peak of a process's children never falls again.
inline rusage used_by(const std::vector<std::string>& program, const std::string& malloc_path) {
    const shared_memory place{sizeof(rusage)};
    auto* const used = static_cast<rusage*>(place.get());
    const bool ended = in_copy([&] {
        if (runs_to_its_end(program, malloc_path)) ::getrusage(RUSAGE_CHILDREN, used);
    });
    if (!ended || used->ru_maxrss == 0) {
        throw std::runtime_error{program[0] + " does not run to its end"};
    }
    return *used;
}

/// What a contender does: user time in milliseconds, and further the peak in MiB.
struct run_of {
    const program* which;
    std::string malloc_path;  // empty: that of the C library
    std::string peak_case;
    void operator()(lab::sample& s) const {
        const temporary_file text{which->words.back()};
        std::vector<std::string> words = which->words;
        words.back() = text.name();
        const rusage used = used_by(words, malloc_path);
        s.value(static_cast<double>(used.ru_utime.tv_sec) * 1e3 +
                static_cast<double>(used.ru_utime.tv_usec) / 1e3);
        s.also(peak_case, static_cast<double>(used.ru_maxrss) / 1024);
    }
};

}  // namespace lab::whole_programs

#endif
