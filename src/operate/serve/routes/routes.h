// All APIs of this folder, sorted by the names of their files.
#pragma once

#include <vector>

#include "operate/serve/route.h"

namespace hone {

std::vector<Api> all_serve_api();

}  // namespace hone
