// Every API of the shelf, by name of file.
#pragma once

#include <vector>

#include "operate/serve/route.h"

namespace hone {

std::vector<Api> all_serve_api();

}  // namespace hone
