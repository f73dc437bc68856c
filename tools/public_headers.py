"""Which headers users include: LAYER/NOUN.hpp. An adapter needs the header of another library and compiles only
where that is installed, so whatever compiles all headers leaves the adapters out."""
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent
of_a_library = re.compile(r"^#include <(?!cairn/)[^>]*\.h(?:pp)?>", re.M)


def is_adapter(path):
    """Is the file include/cairn/adapt/NOUN.hpp, and does it include another library's header?"""
    return path.parent.name == "adapt" and of_a_library.search(path.read_text()) is not None


def public_headers():
    """Their names, as they are included, in order; without the adapters."""
    return sorted(path.relative_to(root / "include").as_posix() for path in root.glob("include/cairn/*/*.hpp")
                  if not is_adapter(path))
