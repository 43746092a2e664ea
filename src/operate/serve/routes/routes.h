// Every API of the shelf, by name of file.
#pragma once

#include <vector>

#include "operate/serve/route.h"

namespace hone {

std::vector<Route> all_serve_route();

}  // namespace hone
