// hone help models: the model types of the shelf with their heads, tasks and files.
#pragma once

#include <string>

namespace hone {

// For a terminal, or the page docs/models.md.
std::string model_table(bool markdown);

}  // namespace hone
