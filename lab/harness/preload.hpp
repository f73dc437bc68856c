// lab/harness/preload.hpp - is the malloc of this process the preloaded one?
//
// The dynamic loader only warns about a library that it cannot preload: the process goes on with
// the malloc of the C library, and its figures would stand under the other's name.
//
// The worker asks before it measures, the command before it offers a row, and the probe
// lab/peers/preload_probe.cpp when the lab is configured: the same function.
#pragma once

#include <string>

#if !defined(_WIN32)
#    include <dlfcn.h>
#    include <sys/stat.h>
#endif

namespace lab {

namespace detail {
inline std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }
}  // namespace detail

#if defined(_WIN32)

// A process there cannot be given another malloc from outside: its own is the only one.
[[nodiscard]] inline std::string preload_obstacle(const std::string&, const char*) { return {}; }

#else

namespace detail {

/// The file that defines what `address` points to; empty when no file does.
inline std::string file_of(const void* address) {
    Dl_info info{};
    return address != nullptr && ::dladdr(address, &info) != 0 && info.dli_fname != nullptr
               ? info.dli_fname
               : "";
}
inline bool same_file(const std::string& a, const std::string& b) {
    struct stat x{};
    struct stat y{};
    return ::stat(a.c_str(), &x) == 0 && ::stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

}  // namespace detail

/// `path`: the library that was preloaded, empty for the C library's own malloc. `symbol`: a
/// function that only this library defines.
/// Returns: "" when malloc and `symbol` of this process come from `path`, otherwise one sentence
/// that names the library.
[[nodiscard]] inline std::string preload_obstacle(const std::string& path, const char* symbol) {
    using detail::file_of, detail::name_in, detail::same_file;
    const std::string malloc_file = file_of(::dlsym(RTLD_DEFAULT, "malloc"));
    if (path.empty()) {
        const std::string c_library = file_of(::dlsym(RTLD_DEFAULT, "fopen"));
        if (same_file(malloc_file, c_library)) return {};
        return "malloc is not the C library's: " + name_in(malloc_file) + " defines it";
    }
    if (!same_file(malloc_file, path)) {
        return name_in(path) + " was preloaded and is not there: malloc is that of " +
               name_in(malloc_file);
    }
    if (!same_file(file_of(::dlsym(RTLD_DEFAULT, symbol)), path)) {
        return name_in(path) + " is another library: it does not define " + symbol;
    }
    return {};
}

#endif

/// Starts this program once more with `path` preloaded and asks the same there.
/// Returns: as preload_obstacle(); also when that process crashes or does not answer.
[[nodiscard]] std::string try_preload(const std::string& path, const std::string& symbol);

/// The other end: `cairn --lab-preloaded PATH SYMBOL`.
int preloaded_main(int argc, char** argv);

}  // namespace lab
