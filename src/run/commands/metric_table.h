// The text of hone help metrics: for each task, the metrics by which models are compared.
#pragma once

#include <string>

namespace hone {

std::string metric_table();

}  // namespace hone
