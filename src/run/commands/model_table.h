// The text of hone help models: the supported model types with their heads, tasks and file formats.
#pragma once

#include <string>

namespace hone {

// If `markdown` is true, returns the page docs/models.md, else the text for a terminal.
std::string model_table(bool markdown);

}  // namespace hone
