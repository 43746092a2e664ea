// The number of a model's parameters as text.
#pragma once

#include "learn/models/family.h"

namespace hone {

// "134.5 million parameters". Numbers below 0.1 million have four digits after the point: "0.0123 million parameters".
inline std::string parameters_text(const ModelConfig& config) {
  const double millions = static_cast<double>(parameter_count(config)) / 1e6;
  return fmt::format("{:.{}f} million parameters", millions, millions < 0.1 ? 4 : 1);
}

}  // namespace hone
