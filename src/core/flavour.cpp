// The other half of cairn/core/flavour.hpp: what a program of this flavour refers to.
#include <cairn/core/flavour.hpp>

const char CAIRN_DETAIL_FLAVOUR_MARK = 0;
