// The text of hone help metrics: the metrics of each task, by which models are compared.
#pragma once

#include <string>

namespace hone {

std::string metric_table();

}  // namespace hone
